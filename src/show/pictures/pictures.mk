# The recorded runs that are embedded in the program.
$(BUILD)/recorded_files.inc: $(RESULTS) $(wildcard $(RESULTS)/*.txt $(RESULTS)/*.json)
	mkdir -p $(@D)
	src/show/pictures/recorded_files.sh $(RESULTS) > $(NEW) && mv $(NEW) $@
$(BUILD)/src/show/pictures/recorded_gpus.o: $(BUILD)/recorded_files.inc $(wildcard $(RESULTS)/*.txt $(RESULTS)/*.json)
check-odr: $(BUILD)/recorded_files.inc

figures: $(PROGRAM) ## draw the lesson's pictures again, into figures/
	./$(PROGRAM) --figures figures
.PHONY: figures
