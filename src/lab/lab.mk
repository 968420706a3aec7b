record: $(PROGRAM) ## record the tables of results/ for this machine's GPU
	src/lab/record.sh ./$(PROGRAM)

$(BUILD)/bench_tracer: $(BUILD)/src/lab/bench_tracer.o $(WITHOUT_MAIN) $(COPIES) $(INSTRUMENT)
	$(call say,link,$@)
	$(CXX) -fopenmp $^ $(LIBRARIES) -o $@
bench-tracer: $(BUILD)/bench_tracer ## measure the cost of tracing
	$(BUILD)/bench_tracer
.PHONY: record bench-tracer
