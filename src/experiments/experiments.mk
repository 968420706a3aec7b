$(BUILD)/experiments_%.o: $(BUILD)/%/src/experiments/kernels.o
	src/trace/keep_symbols.sh $< $@ experiment_table_$* \
		--redefine-sym experiment_table=experiment_table_$* $(COUNTED)
