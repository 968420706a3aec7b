$(BUILD)/src/pictures/recorded_speeds.o: $(wildcard results/h200-*.txt)

figures: $(PROGRAM) ## draw the lesson's pictures again, into figures/
	./$(PROGRAM) --figures figures
.PHONY: figures
