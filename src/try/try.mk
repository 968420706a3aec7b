# A user's CUDA file, compiled like gemm_steps.cu, with its own name for each copy's sgemm. Its
# warnings are not shown. Here the file is always called yours, because make does not support names
# with spaces; samples keep their names.
YOURS := $(if $(KERNEL),$(BUILD)/try/yours)
export KERNEL
TRY_COMPILER_FLAGS = $(filter -I% -D%,$(TRY_FLAGS))
TRY_PROGRAM_FLAGS = $(filter-out $(TRY_COMPILER_FLAGS),$(TRY_FLAGS))
TRY_AS_CPU = $(filter-out $(WARNINGS),$(AS_CPU)) -iquote src/try/headers -include src/cuda/headers/cuda_runtime.h \
	-w -U_FORTIFY_SOURCE -fno-builtin-printf $(TRY_COMPILER_FLAGS)
# One architecture after the other (--threads 1), so that ptxas reports one kernel at a time.
TRY_NVCCFLAGS = $(patsubst 0,1,$(filter-out -Xcompiler=-W%,$(NVCCFLAGS))) \
	-Xcompiler=-iquote,src/try/headers -x cu -w -Xptxas -v
try.flags = $(CXX) $(TRY_AS_CPU)
C_LIBRARY := $(foreach name,printf malloc rand,--redefine-sym $(name)=try_$(name)) \
	--redefine-sym __assert_fail=try_assert_fail --redefine-sym _Znwm=try_new \
	--redefine-sym _Znam=try_new_array
COMPILE_TRIED = src/try/compile.sh $@ $(CXX) $(TRY_AS_CPU) $(DEPENDENCIES)
SGEMM = _Z$(1)iiifPKfS0_fPf

# The instrument's own folder, so that a failure is reported by a line of the user's file.
$(BUILD)/src/try/guarded_kernel.o: private CXXFLAGS += -DSOURCE_FOLDER='"$(CURDIR)/src"'

$(BUILD)/try/%.raw_traced.o: examples/%.cu $(BUILD)/try.flags $(ANNOUNCER)
	$(call say,g++,$< (traced))
	KERNEL=$< $(COMPILE_TRIED) $(TRACED)
$(BUILD)/try/%.raw_plain.o: examples/%.cu $(BUILD)/try.flags
	$(call say,g++,$<)
	KERNEL=$< $(COMPILE_TRIED) -O1
$(BUILD)/try/yours.raw_traced.o: $(ANNOUNCER) FORCE
	$(COMPILE_TRIED) $(TRACED)
$(BUILD)/try/yours.raw_plain.o: $(BUILD)/try/yours.raw_traced.o
	$(COMPILE_TRIED) -O2
$(BUILD)/try/%.traced.o: $(BUILD)/try/%.raw_traced.o
	src/trace/keep_symbols.sh $< $@ $(call SGEMM,12sgemm_traced) $(C_LIBRARY) $(COUNTED) \
		--redefine-sym $(call SGEMM,5sgemm)=$(call SGEMM,12sgemm_traced)
$(BUILD)/try/%.plain.o: $(BUILD)/try/%.raw_plain.o
	src/trace/keep_symbols.sh $< $@ $(call SGEMM,11sgemm_plain) $(C_LIBRARY) \
		--redefine-sym $(call SGEMM,5sgemm)=$(call SGEMM,11sgemm_plain)
$(BUILD)/try/yours.gpu.o: FORCE
	mkdir -p $(@D)
	$(NVCC) $(TRY_NVCCFLAGS) -include src/cuda/launch.h $(TRY_COMPILER_FLAGS) -c "$$KERNEL" -o $@ 2> $@.log || \
		{ cat $@.log >&2; exit 1; }
	c++filt -p < $@.log | awk -f src/model/ptxas_registers.awk > $(BUILD)/try/yours.registers
	objcopy --redefine-sym $(call SGEMM,5sgemm)=$(call SGEMM,9sgemm_gpu) --localize-symbol=main $@

TRY_PARTS = $(call OBJECTS,$(CALL_SGEMM)) $(HARNESS) $(filter %/gpu.o %/absent.o,$(MAIN)) $(INSTRUMENT)
$(BUILD)/try/%: $(BUILD)/try/%.traced.o $(BUILD)/try/%.plain.o $(TRY_PARTS)
	$(CXX) -fopenmp $^ $(LIBRARIES) -o $@
$(BUILD)/try/yours: $(BUILD)/try/yours.traced.o $(BUILD)/try/yours.plain.o \
		$(if $(HAS_GPU),$(BUILD)/try/yours.gpu.o) $(TRY_PARTS)
	$(if $(HAS_GPU),,rm -f $@.registers)
	$(CXX) -fopenmp $^ $(LIBRARIES) -o $@
$(BUILD)/try/%.debug: $(BUILD)/try/%.traced.o $(BUILD)/src/try/debug/main.o $(HARNESS) \
		$(filter %/gpu.o %/absent.o,$(MAIN)) $(INSTRUMENT)
	$(CXX) -fopenmp $^ $(LIBRARIES) -o $@

WHICH = echo "which kernel? make $@ KERNEL=path/to/file.cu$(1)" >&2; exit 2
try: $(YOURS) ## trace, check and time your own sgemm (KERNEL=f.cu, TRY_FLAGS=--help)
	$(if $(KERNEL),$< $(TRY_PROGRAM_FLAGS),$(WHICH))

PAGE ?= $(BUILD)/show.html
BLOCK ?= 0,0
THREAD ?= 0,0
ifeq ($(EX),)
show: $(YOURS) ## draw the requests of a kernel's warps, also as a page (KERNEL=f.cu or EX=n, PAGE=file.html)
	$(if $(KERNEL),$< --size 64 --show $(PAGE) $(TRY_PROGRAM_FLAGS),$(call WHICH,$(comma) or EX=n for your answer))
step: $(or $(YOURS),$(PROGRAM)) ## go through a block's work step by step (STAGE=n, KERNEL=f.cu or EX=n)
	./$< --step $(if $(and $(STAGE),$(if $(KERNEL),,1)),--stage $(STAGE)) $(TRY_PROGRAM_FLAGS) $(FLAGS)
debug: $(YOURS:=.debug) ## start gdb, stopped in one thread (KERNEL=f.cu or EX=n, BLOCK=1,0 THREAD=3,2)
	$(if $(KERNEL),src/try/debug/debug.sh $< '$(BLOCK)' '$(THREAD)' $(TRY_PROGRAM_FLAGS), \
		$(call WHICH,$(comma) or EX=n for your answer))
endif
.PHONY: try show step debug

SAMPLES := $(filter-out $(notdir $(WHOLE_PROGRAMS)),$(basename $(notdir $(wildcard examples/*.cu))))
test-parts: $(addprefix $(BUILD)/try/,$(SAMPLES) tiled.debug)
