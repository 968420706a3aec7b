# A user's CUDA file: preprocessed, rewritten as C++ (src/rewrite), and compiled twice. The host's
# code runs in the plain copy, and so do the blocks that are not traced. The copies share the device
# variables: keep_symbols.sh keeps one name for both. A file with an sgemm has its own name for each
# copy's. Warnings are not shown. Here the file is always called yours, because make does not support
# names with spaces; samples keep their names.
YOURS := $(if $(KERNEL),$(BUILD)/try/yours)
export KERNEL
TRY_COMPILER_FLAGS = $(filter -I% -D%,$(TRY_FLAGS))
TRY_PROGRAM_FLAGS = $(filter-out $(TRY_COMPILER_FLAGS),$(TRY_FLAGS))
TRY_AS_CPU = $(filter-out $(WARNINGS) -include src/cuda/cpu.h,$(AS_CPU)) -iquote src/try/headers \
	-w -U_FORTIFY_SOURCE -fno-builtin-printf $(TRY_COMPILER_FLAGS)
TRY_NVCCFLAGS = $(filter-out -Xcompiler=-W%,$(NVCCFLAGS)) -Xcompiler=-iquote,src/try/headers -w \
	-include src/cuda/launch.h $(TRY_COMPILER_FLAGS)
# Without a GPU, too: for the GPU that the flags name, and for the present one.
TRY_CUBIN_FLAGS = -std=c++20 -O3 $(NVCC_INCLUDES) -ccbin $(CXX) -Xcompiler=-iquote,src/try/headers -x cu -w \
	-lineinfo -Xptxas -v -include src/cuda/launch.h $(TRY_COMPILER_FLAGS)
try.flags = $(CXX) $(TRY_AS_CPU) $(TRIED_TRACED) $(TRIED_PLAIN)
C_LIBRARY := $(foreach name,printf malloc calloc realloc aligned_alloc posix_memalign free rand \
		exit,--redefine-sym $(name)=try_$(name)) \
	$(addprefix --redefine-sym ,__assert_fail=try_assert_fail _Znwm=try_new _Znam=try_new_array \
		_ZdlPv=try_delete _ZdlPvm=try_delete_sized _ZdaPv=try_delete_array \
		_ZdaPvm=try_delete_array_sized)
REWRITE_TRIED = src/try/rewrite.sh $(REWRITER) $@ $(CXX) $(TRY_AS_CPU) -include src/try/prefix.h $(DEPENDENCIES) -MT $@
# Kernels are told apart by their addresses, and the copies, too (machine/symbols.h).
# A kernel's first call must return to it. (Without an order of functions, a cold part's table of exceptions
# would be wrong in GCC 12.)
# A store beyond the end of a local array is noticed (__stack_chk_fail in trace/hooks.cpp).
TRIED_TRACED := $(TRACED) -fstack-protector-all
TRIED_PLAIN := -O2 -fno-ipa-icf -fno-reorder-functions -fno-reorder-blocks-and-partition \
	-fno-optimize-sibling-calls

# The instrument's own folder, so that a failure is reported by a line of the user's file.
$(BUILD)/src/try/guarded_kernel.o: private CXXFLAGS += -DSOURCE_FOLDER='"$(CURDIR)/src"'

$(BUILD)/try/%.ii: examples/%.cu $(BUILD)/try.flags $(REWRITER)
	KERNEL=$< $(REWRITE_TRIED)
$(BUILD)/try/yours.ii: $(REWRITER) FORCE
	$(REWRITE_TRIED)
$(BUILD)/try/%.raw_traced.o $(BUILD)/try/%.raw_plain.o: $(BUILD)/try/%.ii $(ANNOUNCER)
	$(call say,g++,$*)
	KERNEL="$${KERNEL:-$*}" src/try/compile.sh $(basename $<).raw_traced.o $(basename $<).raw_plain.o $< \
		'$(TRIED_TRACED)' '$(TRIED_PLAIN)' $(CXX) $(TRY_AS_CPU)
$(BUILD)/try/%.traced.o: $(BUILD)/try/%.raw_traced.o src/try/copy.sh
	src/try/copy.sh traced $< $@ $(C_LIBRARY) $(COUNTED)
$(BUILD)/try/%.plain.o: $(BUILD)/try/%.raw_plain.o src/try/copy.sh
	src/try/copy.sh plain $< $@ $(C_LIBRARY)
$(BUILD)/try/yours.gpu.o: $(BUILD)/try/timed_launches.o FORCE
	mkdir -p $(@D)
	CXX='$(CXX)' src/try/for_gpu.sh $(@:.gpu.o=) $< $(NVCC) $(TRY_NVCCFLAGS)
$(BUILD)/try/timed_launches.o: src/profile/timed_launches.cu $(BUILD)/gpu.flags
	$(call say,nvcc,$<)
	mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) $(DEPENDENCIES) -c $< -o $@

TRY_PARTS = $(call OBJECTS,$(RUNNERS)) $(HARNESS) $(THE_GPU) $(INSTRUMENT)
$(BUILD)/try/%: $(BUILD)/try/%.traced.o $(BUILD)/try/%.plain.o $(TRY_PARTS)
	$(CXX) -fopenmp $^ $(LIBRARIES) -o $@
$(BUILD)/try/yours: $(BUILD)/try/yours.traced.o $(BUILD)/try/yours.plain.o \
		$(if $(HAS_GPU),$(BUILD)/try/yours.gpu.o) $(TRY_PARTS) | $(BUILD)/try/yours.compiled
	$(if $(HAS_GPU),,rm -f $@.on_gpu)
	$(CXX) -fopenmp $^ $(LIBRARIES) -o $@
$(BUILD)/try/architecture: $(call OBJECTS,$(addprefix src/try/,architecture.cpp compiled_code.cpp options.cpp main_call.cpp) \
		src/gpu/absent.cpp) $(INSTRUMENT)
	$(CXX) -fopenmp $^ -ldl -o $@
ifeq ($(NVCC),)
$(BUILD)/try/yours.compiled: FORCE
	mkdir -p $(@D)
	rm -f $(@D)/yours.registers $(@D)/yours.sm_*.sass $(@D)/yours.why_not_compiled
else
$(BUILD)/try/yours.compiled: $(BUILD)/try/architecture FORCE
	src/try/compiled.sh $(basename $@) "$$($< $(TRY_PROGRAM_FLAGS)) $(PRESENT)" $(NVCC) $(TRY_CUBIN_FLAGS)
endif
# Here the traced copy has the main.
$(BUILD)/try/%.debug.o: $(BUILD)/try/%.raw_traced.o src/try/copy.sh
	src/try/copy.sh debug $< $@ $(C_LIBRARY) $(COUNTED)
$(BUILD)/try/%.debug: $(BUILD)/try/%.debug.o $(BUILD)/src/try/debug/main.o $(HARNESS) \
		$(THE_GPU) $(INSTRUMENT)
	$(CXX) -fopenmp $^ $(LIBRARIES) -o $@

WHICH = echo "which kernel? make $@ KERNEL=path/to/file.cu$(1)" >&2; exit 2
try: $(YOURS) ## run your own CUDA file and trace its kernels (KERNEL=f.cu, TRY_FLAGS=--help)
	$(if $(KERNEL),$< $(TRIED) $(TRIED_ARGS),$(WHICH))

TRIED = --file "$$KERNEL" $(TRY_PROGRAM_FLAGS)
TRIED_ARGS = $(if $(TRY_ARGS),-- $(TRY_ARGS))
PAGE ?= $(BUILD)/show.html
BLOCK ?= 0,0
THREAD ?= 0,0
ifeq ($(EX),)
show: $(YOURS) ## draw the requests of a kernel's warps, also as a page (KERNEL=f.cu or EX=n, PAGE=file.html)
	$(if $(KERNEL),$< --size 64 --show $(PAGE) $(TRIED) $(TRIED_ARGS),$(call WHICH,$(comma) or EX=n for your answer))
step: $(or $(YOURS),$(PROGRAM)) ## go through a block's work step by step (STAGE=n, KERNEL=f.cu or EX=n)
	./$< --step $(if $(KERNEL),--file "$$KERNEL",$(if $(STAGE),--stage $(STAGE))) $(TRY_PROGRAM_FLAGS) $(FLAGS) $(TRIED_ARGS)
debug: $(YOURS:=.debug) ## start gdb, stopped in one thread (KERNEL=f.cu or EX=n, BLOCK=1,0 THREAD=3,2)
	$(if $(KERNEL),src/try/debug/debug.sh $< '$(BLOCK)' '$(THREAD)' $(TRIED) $(TRIED_ARGS), \
		$(call WHICH,$(comma) or EX=n for your answer))
endif
.PHONY: try show step debug

SAMPLES := $(filter-out $(notdir $(WHOLE_PROGRAMS)),$(basename $(notdir $(wildcard examples/*.cu))))
test-parts: $(BUILD)/try/architecture $(REWRITER) $(addprefix $(BUILD)/try/,$(SAMPLES) tiled.debug)
