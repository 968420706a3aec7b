# The walkthrough's whole programs, with <<< >>> and main, compiled for the CPU; nvcc compiles them
# unchanged.
WHOLE_PROGRAMS := $(BUILD)/examples/vector_add $(BUILD)/examples/standalone
$(BUILD)/examples/%: examples/%.cu src/lesson/on_cpu.h $(BUILD)/src/lesson/on_cpu.o $(INSTRUMENT)
	$(call say,g++,$<)
	mkdir -p $(@D)
	sed -E 's/(\w+)<<<([^>]*)>>>\(/launch(\1, \2, 0, /' $< > $@.cpp
	$(CXX) $(AS_CPU) -O2 -include src/lesson/on_cpu.h -fopenmp $@.cpp -x none $(filter %.o %.a,$^) -o $@

$(BUILD)/lesson/update: $(BUILD)/src/lesson/update.o $(BUILD)/src/lesson/lesson.o
	mkdir -p $(@D)
	$(CXX) $^ -o $@
walkthrough: $(PROGRAM) $(BUILD)/lesson/update $(BUILD)/try/eight $(WHOLE_PROGRAMS) ## update the output that walkthrough.md quotes
	$(BUILD)/lesson/update ./$(PROGRAM) $(BUILD)
.PHONY: walkthrough

$(BUILD)/tests: $(BUILD)/src/lesson/lesson.o
test-parts: $(BUILD)/try/eight $(WHOLE_PROGRAMS)
