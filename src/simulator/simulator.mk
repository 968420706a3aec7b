# The CPU's copies of CUDA source: traced as written, with a call at every access and basic block,
# and plain. (With DWARF 5, binutils 2.40 mistakes a file's first header for the file itself.)
AS_CPU := -x c++ -std=c++20 -gdwarf-4 $(GARBAGE) $(INCLUDES) -Isrc/simulator/cuda/headers -I$(BUILD)/headers \
	-include src/simulator/cuda/cpu.h -fno-gnu-unique -fno-extern-tls-init -fno-strict-aliasing \
	-Wno-unknown-pragmas $(WARNINGS) $(EXTRA_CXXFLAGS)
TRACED := -O0 -fsanitize=thread,bounds-strict --param=tsan-distinguish-volatile=1 \
	-fsanitize-coverage=trace-pc -fdata-sections -U_FORTIFY_SOURCE -wrapper $(ANNOUNCER) \
	$(if $(filter 1,$(COMPILER)),-mno-red-zone)
COUNTED := $(foreach name,memcpy memmove memset,--redefine-sym $(name)=simt_$(name))
cpu.flags = $(CXX) $(AS_CPU) $(TRACED)
# Each copy exports only one table; otherwise the linker would silently merge the copies, function by
# function.
$(BUILD)/traced/%.o: %.cu $(BUILD)/cpu.flags $(ANNOUNCES) | $(ANNOUNCER) $(BUILD)/headers.made
	$(call say,g++,$< (traced))
	mkdir -p $(@D)
	$(CXX) $(AS_CPU) $(TRACED) $(DEPENDENCIES) -c $< -o $(NEW) $(KEEP)
$(BUILD)/plain/%.o: %.cu $(BUILD)/cpu.flags | $(BUILD)/headers.made
	$(call say,g++,$<)
	mkdir -p $(@D)
	$(CXX) $(AS_CPU) -Og -g0 $(DEPENDENCIES) -c $< -o $(NEW) $(KEEP)
$(BUILD)/gemm_steps_%.o: $(BUILD)/%/gemm_steps.o $(KEEP_SYMBOLS)
	$(KEEP_SYMBOLS) $< $@ stage_table_$* --redefine-sym stage_table=stage_table_$* $(COUNTED)
$(BUILD)/gemm_steps_main.o: $(BUILD)/plain/gemm_steps.o $(KEEP_SYMBOLS)
	$(KEEP_SYMBOLS) $< $@ main

# The simulator without the lesson: a library for programs of others.
SIMULATOR := $(call OF,model text $(addprefix simulator/,machine host trace)) $(FOR_USERS)
ARCHIVES += $(BUILD)/simulator.a
$(BUILD)/simulator.a: $(call OBJECTS,$(SIMULATOR))
simulator: $(BUILD)/simulator.a ## build the simulator alone, as a library (src/simulator/README.md)

# README.md's example: a traced kernel, a main program, and the library.
$(BUILD)/sample_kernel.o: $(BUILD)/traced/src/simulator/sample_kernel.o
	src/simulator/trace/keep_symbols.sh $< $@ _Z16launch_transposePKfPfi $(COUNTED)
PROGRAMS += $(BUILD)/sample
$(BUILD)/sample: $(BUILD)/src/simulator/sample.o $(BUILD)/sample_kernel.o $(BUILD)/simulator.a
$(BUILD)/sample: private LIBRARIES := -fopenmp -ldl
test-parts: $(BUILD)/sample
.PHONY: simulator
