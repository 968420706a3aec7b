# A user's CUDA file: preprocessed, rewritten as C++ (src/simulator/rewrite), and compiled twice. The host's
# code runs in the plain copy, and so do the blocks that are not traced. The copies share the device
# variables: try.sh keeps one name for both. A file with an sgemm has its own name for each
# copy's. Warnings are not shown.
TRY_AS_CPU = $(filter-out $(WARNINGS) -include src/simulator/cuda/cpu.h,$(AS_CPU)) \
	-idirafter src/simulator/cuda/stand_ins -idirafter $(BUILD)/try/toolkit -w -U_FORTIFY_SOURCE -fno-builtin-printf
TRY_NVCCFLAGS = $(filter-out -Xcompiler=-W%,$(NVCCFLAGS)) -w \
	-include src/simulator/cuda/launch.h
# Without a GPU, too: for the GPU that the flags name, and for the present one.
TRY_CUBIN_FLAGS = -std=c++20 -O3 $(NVCC_INCLUDES) -ccbin $(CXX) -x cu -w \
	-lineinfo -Xptxas -v
try.flags = $(CXX) $(TRY_AS_CPU) $(TRIED_traced) $(TRIED_plain)
C_LIBRARY := $(foreach name,printf malloc calloc realloc aligned_alloc posix_memalign free rand \
		exit,--redefine-sym $(name)=try_$(name)) \
	$(addprefix --redefine-sym ,__assert_fail=try_assert_fail _Znwm=try_new _Znam=try_new_array \
		_ZdlPv=try_delete _ZdlPvm=try_delete_sized _ZdaPv=try_delete_array \
		_ZdaPvm=try_delete_array_sized)
# Kernels, and their copies, are distinguished by their addresses (machine/memory.h).
# A kernel's first call must return to it. (Without an order of functions, a cold part's table of exceptions
# would be wrong in GCC 12.)
# A store beyond the end of a local array is noticed (__stack_chk_fail in trace/hooks.cpp).
TRIED_traced := $(TRACED) -fstack-protector-all
TRIED_plain := -O2 -fno-ipa-icf -fno-reorder-functions -fno-reorder-blocks-and-partition \
	-fno-optimize-sibling-calls

# The instrument's own folder, so that a failure is reported by a line of the user's file.
$(BUILD)/src/try/guarded_kernel.o: private CXXFLAGS += -DSOURCE_FOLDER='"$(CURDIR)/src"'

# How src/try/try.sh, which reads this file, compiles and links.
tried.flags = $(foreach name,CXX TRY_AS_CPU TRIED_traced TRIED_plain REWRITER C_LIBRARY COUNTED LIBRARIES TRY_PARTS \
	TIMED_LAUNCHES HAS_GPU NVCC TRY_NVCCFLAGS TRY_CUBIN_FLAGS,$(name)="$($(name))")
# prefix.h, precompiled for each copy: its text goes neither through the rewriter nor the compiler again.
TRIED_HEADERS := $(BUILD)/try/traced.h.gch $(BUILD)/try/plain.h.gch
$(TRIED_HEADERS): $(BUILD)/try/%.h.gch: $(BUILD)/try.flags | $(BUILD)/headers.made $(ANNOUNCER)
	$(call say,g++,src/simulator/rewrite/prefix.h ($*))
	mkdir -p $(@D) && echo '#include "src/simulator/rewrite/prefix.h"' > $(NEW) && mv -f $(NEW) $(basename $@)
	$(CXX) $(TRY_AS_CPU) $(TRIED_$*) $(DEPENDENCIES) -x c++-header -c $(basename $@) -o $(NEW) $(KEEP)
# CUB, and what it includes, of the toolkit whose nvcc is here. (Since CUDA 13 they have a folder of their
# own.) Thrust's algorithms are not among them. And cuRAND's generators for kernels.
TOOLKIT := $(CUDA:%=%/include)
CUB := $(patsubst %/cub,%,$(firstword $(wildcard $(addprefix $(TOOLKIT),/cccl/cub /cub))))
$(BUILD)/try/toolkit: $(BUILD)/tried.flags
	mkdir -p $@/thrust && rm -f $@/[cn]* $@/thrust/*
	$(if $(CUB),ln -sfn $(addprefix $(CUB)/,cub cuda nv) $(wildcard $(TOOLKIT)/curand_*.h) $@ && \
		ln -sfn $(addprefix $(CUB)/thrust/,detail iterator system type_traits version.h) $@/thrust)
	touch $@
COMPILES_TRIED := $(TRIED_HEADERS) $(REWRITES) $(ANNOUNCES) src/try/try.sh src/try/limited.sh $(KEEP_SYMBOLS) $(BUILD)/try/toolkit
TRIES_WITH := $(BUILD)/tried.flags $(REWRITER) $(ANNOUNCER)
# What users read is in examples/, and what only tests run in src/try/samples/.
define COMPILE_SAMPLES
$(BUILD)/try/%.traced.o $(BUILD)/try/%.plain.o: $1/%.cu $(COMPILES_TRIED) | $(TRIES_WITH)
	$$(call say,g++,$$<)
	BUILD=$(BUILD) COMPILE_S=600 KERNEL=$$< MORE= src/try/try.sh compile $(BUILD)/try/$$*
endef
$(foreach folder,examples src/try/samples,$(eval $(call COMPILE_SAMPLES,$(folder))))
$(BUILD)/try/%.debug.traced.o: examples/%.cu $(COMPILES_TRIED) | $(TRIES_WITH)
	$(call say,g++,$<)
	BUILD=$(BUILD) COMPILE_S=600 COPY=debug KERNEL=$< MORE= src/try/try.sh compile $(BUILD)/try/$*.debug
TIMED_LAUNCHES := $(BUILD)/gpu/src/profile/timed_launches.o

TRY_PARTS = $(call OBJECTS,$(filter-out %_tests.cpp,$(wildcard src/try/*.cpp))) $(THE_GPU) $(BUILD)/users.a $(INSTRUMENT)
$(BUILD)/try/%: $(BUILD)/try/%.traced.o $(BUILD)/try/%.plain.o $(BUILD)/called.a $(TRY_PARTS) $(BUILD)/link.flags
	$(LINK)
$(BUILD)/try/%.debug: $(BUILD)/try/%.debug.traced.o $(BUILD)/called.a $(TRY_PARTS) $(BUILD)/link.flags
	$(LINK)
# It says for which architecture nvcc compiles.
PROGRAMS += $(BUILD)/try/without_kernel
$(BUILD)/try/without_kernel: $(TRY_PARTS)

# The user's file is compiled by try.sh, because make has no syntax for every name of a file.
TRIES := $(if $(KERNEL),$(COMPILES_TRIED) $(TRIES_WITH) $(TRY_PARTS) $(wildcard $(BUILD)/called.a) $(if $(NVCC),$(BUILD)/try/without_kernel) $(if $(HAS_GPU),$(TIMED_LAUNCHES)))
YOURS = BUILD='$(BUILD)' PRESENT='$(PRESENT)' src/try/try.sh $@
try: $(TRIES) ## run your own CUDA file and trace its kernels (KERNEL=f.cu, TRY_FLAGS=--help)
	$(YOURS)
ifeq ($(EX),)
OR_ANSWER := ', or EX=n for your answer'
show: $(or $(TRIES),$(if $(STAGE),$(PROGRAM))) ## draw the requests of a kernel's warps, also as a page (STAGE=n, KERNEL=f.cu or EX=n, PAGE=f.html)
	$(if $(KERNEL)$(if $(STAGE),,-),$(YOURS) $(OR_ANSWER),./$(PROGRAM) --stage $(STAGE) --section kernel $(FLAGS) && ./$(PROGRAM) --stage $(STAGE) --page "$${PAGE:-$(BUILD)/show.html}" $(FLAGS))
step: $(or $(TRIES),$(PROGRAM)) ## go through a block's work step by step (STAGE=n, KERNEL=f.cu or EX=n)
	$(if $(KERNEL),$(YOURS),./$(PROGRAM) --step $(if $(STAGE),--stage $(STAGE)) $(FLAGS))
debug: $(TRIES) ## start gdb, stopped in one thread (KERNEL=f.cu or EX=n, BLOCK=1,0 THREAD=3,2)
	$(YOURS) $(OR_ANSWER)
endif
ifneq ($(KERNEL),)
profile: $(if $(HAS_GPU),$(TRIES))
	$(if $(HAS_GPU),$(YOURS),echo "make profile needs nvcc and a GPU" >&2; exit 2)
endif
.PHONY: try show step debug

SAMPLES := $(filter-out eight $(notdir $(WHOLE_PROGRAMS)) $(if $(CUB),,cub),\
	$(basename $(notdir $(wildcard examples/*.cu src/try/samples/*.cu))))
test-parts: $(if $(HARDENED),,$(BUILD)/try/without_kernel $(REWRITER) $(addprefix $(BUILD)/try/,$(SAMPLES) tiled.debug))
