# The walkthrough's whole programs, with <<< >>> and main, compiled for the CPU; nvcc compiles them
# unchanged.
WHOLE_PROGRAMS := $(BUILD)/examples/vector_add $(BUILD)/examples/standalone
$(BUILD)/examples/%: examples/%.cu $(BUILD)/src/school/lesson/on_cpu.o $(INSTRUMENT) $(BUILD)/link.flags
	$(call say,g++,$<)
	mkdir -p $(@D)
	sed -E 's/(\w+)<<<([^>]*)>>>\(/launch(\1, \2, 0, /' $< > $@.cpp
	$(CXX) $(AS_CPU) -O2 -Dmain=cuda_main -include src/simulator/cuda/launch.h $(DEPENDENCIES) $@.cpp -x none $(filter %.o %.a,$^) $(LIBRARIES) -o $(NEW) $(KEEP)

LESSON := $(call OBJECTS,src/school/lesson/lesson.cpp)
PROGRAMS += $(BUILD)/lesson/update
$(BUILD)/lesson/update: $(BUILD)/src/school/lesson/update.o $(LESSON) $(INSTRUMENT)
walkthrough: $(PROGRAM) $(BUILD)/lesson/update $(addprefix $(BUILD)/try/,eight race wrong_at_the_edge) $(WHOLE_PROGRAMS) ## update the output and the numbers that the texts quote
	COLUMNS=100 $(BUILD)/lesson/update ./$(PROGRAM) $(BUILD)
slides: ## write the sessions of exercises/TEACHING.md as one HTML file, without answers (ANSWERS=1: with them)
	mkdir -p $(BUILD)
	src/school/lesson/slides.sh $(BUILD)/slides$(if $(filter 1,$(ANSWERS)),-answers).html "$$ANSWERS"
.PHONY: walkthrough slides

$(BUILD)/tests: $(LESSON)
test-parts: $(if $(HARDENED),,$(BUILD)/try/eight $(WHOLE_PROGRAMS))
