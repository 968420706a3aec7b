# The kernels of changes.txt. Compilations of kernels.cu find them by -iquote $(BUILD).
CHANGED_KERNELS := $(BUILD)/changed_kernels.cuh
$(CHANGED_KERNELS): src/lab/experiments/changed_kernels.sh src/lab/experiments/changes.txt src/text/edits.awk src/text/declarations.awk gemm_steps.cu
	mkdir -p $(@D)
	$< > $(NEW) && mv -f $(NEW) $@
$(BUILD)/traced/src/lab/experiments/kernels.o $(BUILD)/plain/src/lab/experiments/kernels.o: $(CHANGED_KERNELS)

$(BUILD)/experiments_%.o: $(BUILD)/%/src/lab/experiments/kernels.o
	src/simulator/trace/keep_symbols.sh $< $@ experiment_table_$* \
		--redefine-sym experiment_table=experiment_table_$* $(COUNTED)
