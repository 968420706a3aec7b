# CUDA on a CPU, traced, without the lesson: a library for programs of others.
SIMULATOR := $(call OF,model text $(addprefix simulator/,machine host trace)) $(FOR_USERS)
$(BUILD)/simulator.a: $(call OBJECTS,$(SIMULATOR))
	ar rcs $(NEW) $^ && mv -f $(NEW) $@
simulator: $(BUILD)/simulator.a ## build the simulator alone, as a library (src/simulator/README.md)

# README.md's example: a traced kernel, a main program, and the library.
$(BUILD)/sample_kernel.o: $(BUILD)/traced/src/simulator/sample_kernel.o
	src/simulator/trace/keep_symbols.sh $< $@ _Z16launch_transposePKfPfi $(COUNTED)
$(BUILD)/sample: $(BUILD)/src/simulator/sample.o $(BUILD)/sample_kernel.o $(BUILD)/simulator.a
	$(CXX) -fopenmp $^ -ldl -o $(NEW) && mv -f $(NEW) $@
test-parts: $(BUILD)/sample
.PHONY: simulator
