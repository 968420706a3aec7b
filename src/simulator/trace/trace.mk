KEEP_SYMBOLS := src/simulator/trace/keep_symbols.sh
# Kernels that only tests run, traced. Each file exports its variables in namespace trace, as g++ names them.
HAZARD_KERNELS := $(patsubst src/simulator/trace/%.cu,%,$(wildcard src/simulator/trace/hazard_kernels_*.cu))
KEPT_OF_TESTS := '_ZN5trace*E'
KERNELS_OF_TESTS := $(patsubst %,$(BUILD)/%_traced.o,idioms vocabulary hopper_checks hopper_mutants $(HAZARD_KERNELS))
$(KERNELS_OF_TESTS): $(BUILD)/%_traced.o: $(BUILD)/traced/src/simulator/trace/%.o $(KEEP_SYMBOLS)
	$(KEEP_SYMBOLS) $< $@ $(KEPT_OF_TESTS) $(COUNTED)
# One source for two machines. make hopper-checks runs it on the GPU.
$(BUILD)/hopper_checks_plain.o: $(BUILD)/plain/src/simulator/trace/hopper_checks.o $(KEEP_SYMBOLS)
	$(KEEP_SYMBOLS) $< $@ _ZN5trace19plain_hopper_checksE \
		--redefine-sym _ZN5trace13hopper_checksE=_ZN5trace19plain_hopper_checksE
$(BUILD)/tests: $(KERNELS_OF_TESTS) $(addprefix $(BUILD)/,hopper_checks_plain.o ptx_checks_traced.o)

$(BUILD)/gpu/src/simulator/trace/hopper_checks.o: private NVCCFLAGS += -DHOPPER_MAIN
PROGRAMS += $(BUILD)/hopper_checks
$(BUILD)/hopper_checks: $(BUILD)/gpu/src/simulator/trace/hopper_checks.o $(INSTRUMENT)
hopper-checks: $(if $(HAS_GPU),$(BUILD)/hopper_checks) ## check what the instructions of sm_90a do with data (GPU)
	$(or $(filter $(BUILD)/hopper_checks,$^),echo "make hopper-checks: build this program with nvcc on a machine with an sm_90a GPU" >&2; exit 2)

mutants: $(PROGRAM) ## plant one mistake at a time in the kernels: the tracer must report each
	src/simulator/trace/mutants.sh $(BUILD) "$(CXX) $(AS_CPU) $(TRACED)" "$(CXX) $(MAIN) \
		$(filter-out %/gemm_steps_traced.o,$(COPIES)) $(INSTRUMENT) $(LIBRARIES)"
.PHONY: mutants hopper-checks

# Inline PTX goes through the rewriter, as in a user's file. (With PTX_MAIN defined, nvcc makes a
# program for the GPU of it.)
$(BUILD)/ptx_checks.ii: src/simulator/trace/ptx_checks.cu $(BUILD)/cpu.flags $(REWRITES) | $(REWRITER) $(BUILD)/headers.made
	$(CXX) $(AS_CPU) -DSIMT_REWRITTEN $(DEPENDENCIES) -E $< -o $(NEW).plain
	$(REWRITER) < $(NEW).plain > $(NEW) $(KEEP) && rm $(NEW).plain
$(BUILD)/ptx_checks_raw.o: $(BUILD)/ptx_checks.ii $(ANNOUNCES) | $(ANNOUNCER)
	$(call say,g++,src/simulator/trace/ptx_checks.cu (traced))
	$(CXX) $(filter-out -x c++ -include src/simulator/cuda/cpu.h,$(AS_CPU)) $(TRACED) -x c++-cpp-output -c $< -o $(NEW) && mv -f $(NEW) $@
$(BUILD)/ptx_checks_traced.o: $(BUILD)/ptx_checks_raw.o $(KEEP_SYMBOLS)
	$(KEEP_SYMBOLS) $< $@ $(KEPT_OF_TESTS) $(COUNTED)
