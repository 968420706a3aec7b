# The kernels of changes.txt. A compilation of kernels.cu finds them by -iquote $(BUILD).
CHANGED_KERNELS := $(BUILD)/changed_kernels.cuh
$(CHANGED_KERNELS): src/experiments/changed_kernels.awk src/experiments/changes.txt gemm_steps.cu
	mkdir -p $(@D)
	awk -f $^ > $@.new
	mv $@.new $@
$(BUILD)/traced/src/experiments/kernels.o $(BUILD)/plain/src/experiments/kernels.o: $(CHANGED_KERNELS)

$(BUILD)/experiments_%.o: $(BUILD)/%/src/experiments/kernels.o
	src/trace/keep_symbols.sh $< $@ experiment_table_$* \
		--redefine-sym experiment_table=experiment_table_$* $(COUNTED)
