# The speeds of the recorded runs that are compiled into the program.
RECORDED_RUNS := $(wildcard $(RESULTS)/*-*.json)
$(BUILD)/recorded_runs.inc: src/show/pictures/recorded_runs.awk $(RESULTS) $(RECORDED_RUNS)
	mkdir -p $(@D)
	awk -f $< $(RECORDED_RUNS) /dev/null > $(NEW) && mv $(NEW) $@
$(BUILD)/src/show/pictures/recorded_gpus.o: $(BUILD)/recorded_runs.inc
check-odr: $(BUILD)/recorded_runs.inc

figures: $(PROGRAM) ## draw the lesson's pictures again, into figures/
	./$(PROGRAM) --figures figures
.PHONY: figures
