# The program contains the kernels' source text, for --explain.
$(BUILD)/src/lab/lesson_source.o: gemm_steps.cu

record: $(PROGRAM) $(BUILD)/bench_cpu $(if $(HAS_GPU),$(BUILD)/latency) ## record the tables of results/ for this machine's GPU
	src/lab/record.sh ./$(PROGRAM) $(BUILD)/bench_cpu $(BUILD)/latency

$(BUILD)/bench_tracer: $(BUILD)/src/lab/bench_tracer.o $(WITHOUT_MAIN) $(COPIES) $(INSTRUMENT)
	$(call say,link,$@)
	$(CXX) -fopenmp $^ $(LIBRARIES) -o $(NEW) && mv -f $(NEW) $@
bench-tracer: $(BUILD)/bench_tracer ## measure the cost of tracing
	$(BUILD)/bench_tracer

# Compiled for this CPU's vector instructions, to show what it can do.
$(BUILD)/bench_cpu: src/lab/bench_cpu.cpp $(THE_GPU) $(INSTRUMENT)
	$(call say,g++,$<)
	$(CXX) $(CXXFLAGS) -O3 -march=native $^ $(LIBRARIES) -o $(NEW) && mv -f $(NEW) $@
bench-cpu: $(BUILD)/bench_cpu ## measure the steps from the serial loop to openmp_gemm
	$(BUILD)/bench_cpu

# The cycles that the model of waiting (model/ceiling.h) takes from a GPU.
$(BUILD)/src/lab/latency.o: src/lab/latency.cu $(BUILD)/gpu.flags
	$(call say,nvcc,$< ($(ARCHS)))
	mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) $(DEPENDENCIES) -c $< -o $(NEW) $(KEEP)
$(BUILD)/latency: $(BUILD)/src/lab/latency.o $(GPU_PARTS) $(INSTRUMENT)
	$(call say,link,$@)
	$(CXX) -fopenmp $^ $(LIBRARIES) -o $(NEW) && mv -f $(NEW) $@
latency: $(if $(HAS_GPU),$(BUILD)/latency) ## measure the cycles of a load, an FFMA and a barrier (GPU)
	$(or $(filter $(BUILD)/latency,$^),echo "make latency: build this program with nvcc on a machine with a GPU" >&2; exit 2)
.PHONY: record bench-tracer bench-cpu latency
