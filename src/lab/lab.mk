record: $(PROGRAM) ## the tables of results/ for this machine's GPU
	src/lab/record.sh ./$(PROGRAM)

$(BUILD)/bench_tracer: $(BUILD)/src/lab/bench_tracer.o $(WITHOUT_MAIN) $(COPIES) $(INSTRUMENT)
	$(call say,link,$@)
	$(CXX) -fopenmp $^ $(LIBRARIES) -o $@
bench-tracer: $(BUILD)/bench_tracer ## what tracing costs
	$(BUILD)/bench_tracer

# With the CPU's own vectors: what this CPU can do.
$(BUILD)/bench_cpu: src/lab/bench_cpu.cpp $(INSTRUMENT)
	$(call say,g++,$<)
	$(CXX) $(CXXFLAGS) -O3 -march=native $^ -o $@
bench-cpu: $(BUILD)/bench_cpu ## what lies between the serial loop and openmp_gemm
	$(BUILD)/bench_cpu
.PHONY: record bench-tracer bench-cpu
