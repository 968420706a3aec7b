# What kernels.cu includes; compilations find it by -iquote $(BUILD).
CHANGED_KERNELS := $(BUILD)/changed_kernels.cuh
$(CHANGED_KERNELS): src/experiments/changed_kernels.sh src/experiments/changes.txt src/text/edits.awk src/text/declarations.awk gemm_steps.cu
	mkdir -p $(@D)
	$< $@ > $(NEW) && mv -f $(NEW) $@
$(foreach copy,traced plain gpu,$(BUILD)/$(copy)/src/experiments/kernels.o): $(CHANGED_KERNELS)

$(BUILD)/experiments_%.o: $(BUILD)/%/src/experiments/kernels.o $(KEEP_SYMBOLS)
	$(KEEP_SYMBOLS) $< $@ experiment_table_$* \
		--redefine-sym stage_table=stage_table_$* --redefine-sym experiment_table=experiment_table_$* $(COUNTED)
