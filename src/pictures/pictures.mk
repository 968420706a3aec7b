#The recorded runs that travel in the program.Found anew by each make, so that a file which was
#added or removed counts(RESULTS = folder tries others).
RESULTS := results
$(BUILD)/recorded_files.inc: FORCE
	mkdir -p $(@D)
	src/pictures/recorded_files.sh $(RESULTS) > $(NEW)
	cmp -s $(NEW) $@ && rm $(NEW) || mv $(NEW) $@
$(BUILD)/src/pictures/recorded_gpus.o: $(BUILD)/recorded_files.inc $(wildcard $(RESULTS)/*.txt $(RESULTS)/*.json)
check-odr: $(BUILD)/recorded_files.inc

figures: $(PROGRAM) ## draw the lesson's pictures again, into figures/
	./$(PROGRAM) --figures figures
.PHONY: figures
