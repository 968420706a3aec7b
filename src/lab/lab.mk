record: $(PROGRAM) $(BUILD)/bench_cpu ## record the tables of results/ for this machine's GPU
	src/lab/record.sh ./$(PROGRAM) $(BUILD)/bench_cpu

$(BUILD)/bench_tracer: $(BUILD)/src/lab/bench_tracer.o $(WITHOUT_MAIN) $(COPIES) $(INSTRUMENT)
	$(call say,link,$@)
	$(CXX) -fopenmp $^ $(LIBRARIES) -o $@
bench-tracer: $(BUILD)/bench_tracer ## measure the cost of tracing
	$(BUILD)/bench_tracer

# Compiled for this CPU's vector instructions, to show what it can do.
$(BUILD)/bench_cpu: src/lab/bench_cpu.cpp $(INSTRUMENT)
	$(call say,g++,$<)
	$(CXX) $(CXXFLAGS) -O3 -march=native $^ -o $@
bench-cpu: $(BUILD)/bench_cpu ## measure the steps from the serial loop to openmp_gemm
	$(BUILD)/bench_cpu
.PHONY: record bench-tracer bench-cpu
