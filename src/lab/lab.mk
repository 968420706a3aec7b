# The program contains the kernels' source text, for --explain.
$(BUILD)/src/lab/lesson_source.o: gemm_steps.cu

record: $(PROGRAM) $(BUILD)/bench_cpu $(if $(HAS_GPU),$(BUILD)/latency) ## record the tables of results/ for this machine's GPU
	src/lab/record.sh ./$(PROGRAM) $(BUILD)/bench_cpu $(BUILD)/latency

PROGRAMS += $(addprefix $(BUILD)/,bench_cpu latency)

# Compiled for this CPU's vector instructions, to show what it can do.
$(BUILD)/bench_cpu: $(BUILD)/src/lab/bench_cpu.o $(THE_GPU) $(INSTRUMENT)
$(BUILD)/src/lab/bench_cpu.o: private CXXFLAGS += -O3 -march=native
$(BUILD)/src/lab/bench_cpu.o: private HEADERS :=
bench-cpu: $(BUILD)/bench_cpu ## measure the steps from the serial loop to openmp_gemm
	$(BUILD)/bench_cpu

# The cycles that the model of waiting (model/ceiling.h) takes from a GPU.
$(BUILD)/latency: $(BUILD)/gpu/src/lab/latency.o $(GPU_PARTS) $(INSTRUMENT)
latency: $(if $(HAS_GPU),$(BUILD)/latency) ## measure the cycles of a load, an FFMA and a barrier (GPU)
	$(or $(filter $(BUILD)/latency,$^),echo "make latency: build this program with nvcc on a machine with a GPU" >&2; exit 2)
.PHONY: record bench-cpu latency
