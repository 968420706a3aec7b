$(BUILD)/idioms_traced.o: $(BUILD)/traced/src/simulator/trace/idioms.o
	src/simulator/trace/keep_symbols.sh $< $@ "$(addprefix _ZN5trace,6idiomsE 11divergencesE 9exchangesE 6localsE 11unannouncedE 6faultsE)" \
		$(COUNTED)

$(BUILD)/vocabulary_traced.o: $(BUILD)/traced/src/simulator/trace/vocabulary.o
	src/simulator/trace/keep_symbols.sh $< $@ "$(addprefix _ZN5trace,10vocabularyE 13narrow_idiomsE 15matrix_requestsE)" $(COUNTED)

HAZARD_KERNELS := $(patsubst src/simulator/trace/%.cu,$(BUILD)/%_traced.o,$(wildcard src/simulator/trace/hazard_kernels_*.cu))
$(HAZARD_KERNELS): $(BUILD)/%_traced.o: $(BUILD)/traced/src/simulator/trace/%.o
	src/simulator/trace/keep_symbols.sh $< $@ "$(addprefix _ZN5trace,24hazards_in_shared_memoryE \
		16hazards_of_warpsE 20hazards_of_pipelinesE 24hazards_in_global_memoryE 16hazards_of_orderE 9run_untilEPFvvEb)" $(COUNTED)
$(BUILD)/tests: $(HAZARD_KERNELS)

# One source for two machines. make hopper-checks runs it on the GPU.
$(BUILD)/hopper_checks_traced.o: $(BUILD)/traced/src/simulator/trace/hopper_checks.o
	src/simulator/trace/keep_symbols.sh $< $@ _ZN5trace13hopper_checksE $(COUNTED)
$(BUILD)/hopper_checks_plain.o: $(BUILD)/plain/src/simulator/trace/hopper_checks.o
	src/simulator/trace/keep_symbols.sh $< $@ _ZN5trace19plain_hopper_checksE \
		--redefine-sym _ZN5trace13hopper_checksE=_ZN5trace19plain_hopper_checksE
$(BUILD)/hopper_mutants_traced.o: $(BUILD)/traced/src/simulator/trace/hopper_mutants.o
	src/simulator/trace/keep_symbols.sh $< $@ \
		"_ZN5trace14hopper_mutantsE _ZN5trace14hopper_misusesE" $(COUNTED)
$(BUILD)/tests: $(addprefix $(BUILD)/hopper_,checks_traced.o checks_plain.o mutants_traced.o)

$(BUILD)/src/simulator/trace/hopper_checks.o: src/simulator/trace/hopper_checks.cu $(BUILD)/gpu.flags
	$(call say,nvcc,$< ($(ARCHS)))
	mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -DHOPPER_MAIN $(DEPENDENCIES) -c $< -o $(NEW) $(KEEP)
$(BUILD)/hopper_checks: $(BUILD)/src/simulator/trace/hopper_checks.o $(INSTRUMENT)
	$(call say,link,$@)
	$(CXX) -fopenmp $^ $(LIBRARIES) -o $(NEW) && mv -f $(NEW) $@
hopper-checks: $(if $(HAS_GPU),$(BUILD)/hopper_checks) ## check what the instructions of sm_90a do with data (GPU)
	$(or $(filter $(BUILD)/hopper_checks,$^),echo "make hopper-checks: build this program with nvcc on a machine with an sm_90a GPU" >&2; exit 2)

mutants: $(PROGRAM) ## plant one mistake at a time in the kernels: the tracer must report each
	src/simulator/trace/mutants.sh $(BUILD) "$(CXX) $(AS_CPU) $(TRACED)" "$(CXX) -fopenmp $(MAIN) \
		$(filter-out %/gemm_steps_traced.o,$(COPIES)) $(INSTRUMENT) $(LIBRARIES)"
.PHONY: mutants hopper-checks

# Inline PTX goes through the rewriter, as in a user's file. (With PTX_MAIN defined, nvcc makes a
# program for the GPU of it.)
$(BUILD)/ptx_checks.ii: src/simulator/trace/ptx_checks.cu $(BUILD)/cpu.flags $(REWRITER)
	$(CXX) $(AS_CPU) -DSIMT_REWRITTEN $(DEPENDENCIES) -E $< -o $(NEW).plain
	$(REWRITER) < $(NEW).plain > $(NEW) $(KEEP) && rm $(NEW).plain
$(BUILD)/ptx_checks_raw.o: $(BUILD)/ptx_checks.ii $(BUILD)/announce/wrapper
	$(call say,g++,src/simulator/trace/ptx_checks.cu (traced))
	$(CXX) $(filter-out -x c++ -include src/simulator/cuda/cpu.h,$(AS_CPU)) $(TRACED) -x c++-cpp-output -c $< -o $(NEW) && mv -f $(NEW) $@
$(BUILD)/ptx_checks_traced.o: $(BUILD)/ptx_checks_raw.o
	src/simulator/trace/keep_symbols.sh $< $@ \
		"$(addprefix _ZN5trace,10ptx_checksE 9ptx_twinsE 11ptx_misusesE)" $(COUNTED)
$(BUILD)/tests: $(BUILD)/ptx_checks_traced.o
