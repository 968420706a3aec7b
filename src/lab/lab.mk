# The program contains the kernels' source text, for --explain.
$(BUILD)/src/lab/lesson_source.o: gemm_steps.cu

record: $(PROGRAM) $(BUILD)/bench_speeds $(if $(HAS_GPU),$(BUILD)/latency) ## record the tables of results/ for this machine's GPU
	src/lab/record.sh ./$(PROGRAM) $(BUILD)/bench_speeds $(BUILD)/latency

PROGRAMS += $(BUILD)/latency

# The cycles that the model of waiting (model/ceiling.h) takes from a GPU.
$(BUILD)/latency: $(BUILD)/gpu/src/lab/latency.o $(GPU_PARTS) $(INSTRUMENT)
latency: $(if $(HAS_GPU),$(BUILD)/latency) ## measure the cycles of a load, an FFMA and a barrier (GPU)
	$(or $(filter $(BUILD)/latency,$^),echo "make latency: build this program with nvcc on a machine with a GPU" >&2; exit 2)
.PHONY: record latency
