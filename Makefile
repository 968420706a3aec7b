# make run    build, then walk the ladder: on the GPU where there is one, traced on the CPU where not
# make test   build and run the tests; neither needs a GPU
# make help   the rest

.DEFAULT_GOAL = $(PROGRAM)
SHELL := /bin/bash
comma := ,

# What a user may set: make ARCHS="86 90a" NVCC=/opt/cuda/bin/nvcc; NVCC= builds without CUDA.
NVCC ?= $(firstword $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc))
CXX := $(if $(filter default,$(origin CXX)),g++,$(CXX))
BUILD ?= build
PROGRAM := $(if $(filter build,$(BUILD)),gemm_steps,$(BUILD)/gemm_steps)
WERROR ?= 0
EXTRA_CXXFLAGS ?=

# The architectures to compile for, oldest first: the GPU's own, or without one those of the usual
# classrooms. Hopper's own instructions need the suffix a. The newest is also kept as PTX.
ARCHS ?= $(or $(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | \
	grep -E '^[0-9]+\.[0-9]+$$' | tr -d . | sort -nu | sed 's/^90$$/90a/'),75 80 86 90a)
NEWEST := $(patsubst %a,%,$(lastword $(ARCHS)))
GENCODE := $(foreach a,$(ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) \
	-gencode arch=compute_$(NEWEST),code=compute_$(NEWEST)

ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif

WARNINGS := -Wall -Wextra -Wshadow $(if $(filter 1,$(WERROR)),-Werror)
CXXFLAGS := -std=c++20 -O2 -g $(WARNINGS) -fopenmp -I. $(EXTRA_CXXFLAGS)
# Tests look at the toolkit's headers, too: model/ is compared with cuda_occupancy.h.
OF_TESTS = $(if $(filter %_tests.o,$@),$(addprefix -isystem ,$(wildcard $(CUDA)/include)))
DEPENDENCIES = -MMD -MP -MF $@.d

HOST := $(patsubst %.cpp,$(BUILD)/%.o,cpu_reference.cpp \
	$(filter-out %_tests.cpp simt/gpu_absent.cpp,$(wildcard model/*.cpp simt/*.cpp report/*.cpp cli/*.cpp)))
TESTS := $(patsubst %.cpp,$(BUILD)/%.o,tests.cpp $(wildcard */*_tests.cpp))

ifneq ($(NVCC),)
CUDA := $(patsubst %/bin/nvcc,%,$(realpath $(shell command -v $(NVCC))))
MAIN := $(BUILD)/gemm_steps_gpu.o $(BUILD)/simt/gpu.o
TEST_MAIN := $(BUILD)/gemm_steps_gpu_without_main.o $(BUILD)/simt/gpu.o
LIBRARIES := -L$(CUDA)/lib64 -Wl,-rpath,$(CUDA)/lib64 -lcublas -lcudart_static -ldl -lrt -lpthread
NVCCFLAGS := -std=c++20 -O3 -I. -lineinfo $(GENCODE) --threads 0 -ccbin $(CXX) \
	-Xcompiler=-Wall,-Wextra,-fopenmp$(if $(filter 1,$(WERROR)),$(comma)-Werror)
else
MAIN := $(BUILD)/gemm_steps_main.o $(BUILD)/simt/gpu_absent.o
TEST_MAIN := $(BUILD)/simt/gpu_absent.o
endif

$(PROGRAM): $(MAIN) $(BUILD)/gemm_steps_traced.o $(BUILD)/gemm_steps_plain.o $(HOST)
	$(CXX) -fopenmp $^ $(LIBRARIES) -o $@

$(BUILD)/tests: $(TESTS) $(TEST_MAIN) $(BUILD)/gemm_steps_traced.o $(BUILD)/gemm_steps_plain.o \
		$(BUILD)/idioms_traced.o $(HOST)
	$(CXX) -fopenmp $^ $(LIBRARIES) -o $@
$(BUILD)/tests: | $(patsubst try/samples/%.cu,$(BUILD)/try/%,$(wildcard try/samples/*.cu))

# All is compiled again when the Makefile or what was set on its command line changes.
CONFIGURATION := $(BUILD)/configuration
$(CONFIGURATION): Makefile FORCE
	@mkdir -p $(@D)
	@echo '$(CXX) $(CXXFLAGS) $(NVCC) $(NVCCFLAGS)' > $@.now
	@if cmp -s $@.now $@ && [ ! Makefile -nt $@ ]; then rm $@.now; else mv $@.now $@; fi
FORCE:

$(BUILD)/%.o: %.cpp $(CONFIGURATION)
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) $(OF_TESTS) $(DEPENDENCIES) -c $< -o $@

# The kernels' text travels in the program, for --explain.
$(BUILD)/simt/source_lines.o: gemm_steps.cu

# One source, two machines. The GPU's copy of gemm_steps.cu:
$(BUILD)/%.o: %.cu $(CONFIGURATION)
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) $(DEPENDENCIES) -c $< -o $@
$(BUILD)/gemm_steps_gpu.o: gemm_steps.cu $(CONFIGURATION)
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) $(DEPENDENCIES) -c $< -o $@
$(BUILD)/gemm_steps_gpu_without_main.o: $(BUILD)/gemm_steps_gpu.o
	objcopy --localize-symbol=main $< $@

# The CPU's copies: traced as written, with a call at every access and basic block, and plain.
# (In DWARF 5 binutils 2.40 takes the first header of a file for the file itself.)
AS_CPU := -x c++ -std=c++20 -gdwarf-4 -I. -Isimt/cuda -include simt/cpu.h -fno-gnu-unique \
	-fno-extern-tls-init -fno-strict-aliasing -Wno-unknown-pragmas $(WARNINGS) $(EXTRA_CXXFLAGS)
TRACED := -O0 -fsanitize=thread,bounds-strict -fsanitize-coverage=trace-pc -U_FORTIFY_SOURCE
$(BUILD)/traced/%.o: %.cu $(CONFIGURATION)
	@mkdir -p $(@D)
	$(CXX) $(AS_CPU) $(TRACED) $(DEPENDENCIES) -c $< -o $@
$(BUILD)/plain/%.o: %.cu $(CONFIGURATION)
	@mkdir -p $(@D)
	$(CXX) $(AS_CPU) -O2 $(DEPENDENCIES) -c $< -o $@

# Two copies of one file in one program would be merged, function by function, without a word. So
# each shows the symbols $(1) alone, after the renamings $(2), and all else of it becomes local.
# Dynamic shared memory, whatever a kernel calls it, is the buffer of simt/grid.cpp.
BUILT_INS := threadIdx|blockIdx|blockDim|gridDim
DYNAMIC_SHARED = $$(readelf -sW $< | awk '$$4 == "TLS" && $$7 == "UND" && $$8 !~ /^($(BUILT_INS))$$/ \
	{ print $$8 }' | sort -u)
define alone
ld -r --force-group-allocation $< -o $@.merged
objcopy $(2) $@.merged $@.renamed
for name in $(DYNAMIC_SHARED); do objcopy --redefine-sym $$name=simt_dynamic_shared $@.renamed || exit 1; done
objcopy $(addprefix --keep-global-symbol=,$(1)) $@.renamed $@
rm -f $@.merged $@.renamed
endef
COUNTED := --redefine-sym memcpy=simt_memcpy --redefine-sym memset=simt_memset
$(BUILD)/gemm_steps_traced.o: $(BUILD)/traced/gemm_steps.o
	$(call alone,stage_table_traced,--redefine-sym stage_table=stage_table_traced $(COUNTED))
$(BUILD)/gemm_steps_plain.o: $(BUILD)/plain/gemm_steps.o
	$(call alone,stage_table_plain,--redefine-sym stage_table=stage_table_plain)
$(BUILD)/gemm_steps_main.o: $(BUILD)/plain/gemm_steps.o
	$(call alone,main)
$(BUILD)/idioms_traced.o: $(BUILD)/traced/simt/idioms.o
	$(call alone,idioms divergences exchanges faults,$(COUNTED))

# make try KERNEL=file.cu: the same for anybody's file, whose sgemm is renamed in each copy. Its
# warnings are its author's business.
try_name = $(basename $(notdir $(1)))
TRY_COMPILER_FLAGS = $(filter -I% -D%,$(TRY_FLAGS))
TRY_AS_CPU = $(filter-out $(WARNINGS),$(AS_CPU)) -w -U_FORTIFY_SOURCE -fno-builtin-printf \
	$(TRY_COMPILER_FLAGS)
C_LIBRARY := --redefine-sym printf=try_printf --redefine-sym __assert_fail=try_assert_fail \
	--redefine-sym malloc=try_malloc --redefine-sym _Znwm=try_new --redefine-sym _Znam=try_new_array
SGEMM = _Z$(1)iiifPKfS0_fPf
SGEMM_COPY = $(call SGEMM,$(if $(filter traced,$(1)),12sgemm_traced,11sgemm_plain))
HARNESS := $(patsubst %.cpp,$(BUILD)/%.o,$(filter-out %_tests.cpp,$(wildcard try/*.cpp))) \
	$(filter-out $(BUILD)/cli/walk.o,$(HOST)) $(filter $(BUILD)/simt/gpu%.o,$(MAIN))
# $(1): the file, $(2): FORCE to compile it always, because flags may have changed, and for the GPU
define TRY_RULES
$(BUILD)/try/$(call try_name,$(1)).raw_traced.o $(BUILD)/try/$(call try_name,$(1)).raw_plain.o: \
		$(BUILD)/try/$(call try_name,$(1)).raw_%.o: $(1) $$(CONFIGURATION) $(2)
	@mkdir -p $$(@D)
	@$$(CXX) $$(TRY_AS_CPU) $$(if $$(filter traced,$$*),$$(TRACED),-O2) $$(DEPENDENCIES) -c $$< -o $$@ || \
		{ grep -n '<<<' $$< | sed 's|^\([0-9]*\):.*|$$<:\1: write launch(kernel, grid, block, shared_bytes, arguments...) in place of <<< >>>|' >&2; exit 1; }
	@readelf -sW $$@ | grep -qw '$(call SGEMM,5sgemm)' || { echo "$$<: defines no" \
		"void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C)" >&2; exit 1; }
$(BUILD)/try/$(call try_name,$(1)).raw_plain.o: | $(BUILD)/try/$(call try_name,$(1)).raw_traced.o
$(BUILD)/try/$(call try_name,$(1)).traced.o $(BUILD)/try/$(call try_name,$(1)).plain.o: \
		$(BUILD)/try/$(call try_name,$(1)).%.o: $(BUILD)/try/$(call try_name,$(1)).raw_%.o
	$$(call alone,$$(call SGEMM_COPY,$$*),$$(C_LIBRARY) $$(if $$(filter traced,$$*),$$(COUNTED)) \
		--redefine-sym $$(call SGEMM,5sgemm)=$$(call SGEMM_COPY,$$*))
$(BUILD)/try/$(call try_name,$(1)).gpu.o: $(1) $$(CONFIGURATION) $(2)
	@mkdir -p $$(@D)
	@$$(NVCC) $$(filter-out -Xcompiler=%,$$(NVCCFLAGS)) -w -include simt/launch.h $$(TRY_COMPILER_FLAGS) -c $$< -o $$@
	@objcopy --redefine-sym $(call SGEMM,5sgemm)=$(call SGEMM,9sgemm_gpu) --localize-symbol=main $$@
$(BUILD)/try/$(call try_name,$(1)): $(BUILD)/try/$(call try_name,$(1)).traced.o \
		$(BUILD)/try/$(call try_name,$(1)).plain.o \
		$(if $(2),$(if $(NVCC),$(BUILD)/try/$(call try_name,$(1)).gpu.o)) $$(HARNESS)
	@$$(CXX) -fopenmp $$^ $$(LIBRARIES) -o $$@
endef
SAMPLES := $(filter-out $(KERNEL),$(wildcard try/samples/*.cu))
$(foreach file,$(SAMPLES),$(eval $(call TRY_RULES,$(file))))
$(if $(KERNEL),$(eval $(call TRY_RULES,$(KERNEL),FORCE)))
$(if $(KERNEL),$(eval .SILENT:))
try: $(if $(KERNEL),$(BUILD)/try/$(call try_name,$(KERNEL)))
	@$(if $(KERNEL),$(BUILD)/try/$(call try_name,$(KERNEL)) $(filter-out $(TRY_COMPILER_FLAGS),$(TRY_FLAGS)), \
		echo "which kernel? make try KERNEL=path/to/file.cu" >&2; exit 2)

# Both of README's commands first see to what they need.
run:
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory $(PROGRAM)
	./$(PROGRAM) $(FLAGS)

test test-all:
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory $(PROGRAM) $(BUILD)/tests
	GEMM_STEPS=./$(PROGRAM) $(if $(filter test-all,$@),GEMM_STEPS_TEST_ALL=1) $(BUILD)/tests $(TEST_FLAGS)

# Everything again as distributions harden it: fibers and hooks must survive that.
test-hardened:
	@$(MAKE) --no-print-directory test BUILD=build/hardened NVCC= \
		EXTRA_CXXFLAGS="-D_FORTIFY_SOURCE=3 -fcf-protection -fstack-clash-protection"

DEBIAN_PACKAGES = $(shell \
	command -v $(CXX) >/dev/null || echo g++; \
	command -v make >/dev/null || echo make; \
	[ -e /usr/include/doctest/doctest.h ] || echo doctest-dev)
deps:
	@missing="$(DEBIAN_PACKAGES)"; [ -z "$$missing" ] || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -q && apt-get install -y -q $$missing; \
	elif command -v apt-get >/dev/null && sudo -n true 2>/dev/null; then \
		sudo apt-get update -q && sudo apt-get install -y -q $$missing; \
	else echo "Please install: $$missing (Debian's and Ubuntu's names)" >&2; exit 2; fi

# The instructions that nvcc makes of a stage's kernels: make sass STAGE=5 VARIANT=64x64x8 ARCH=80
ARCH ?= $(firstword $(ARCHS))
VARIANT ?=
sass: $(PROGRAM)
	@./$(PROGRAM) --list --format json | awk -v stages=$(STAGE) -v variant=$(VARIANT) ' \
		BEGIN { split(stages "-" stages, of, "-") } \
		{ key = $$1; value = $$0; sub(/^[^:]*: "?/, "", value); sub(/"?,?$$/, "", value) } \
		key == "\"number\":" { wanted = value + 0 >= of[1] + 0 && value + 0 <= of[2] + 0 } \
		key == "\"variant\":" { named = value == variant } \
		key == "\"default\":" { chosen = variant == "" ? value == "true" : named } \
		key ~ /^"kernel(_any)?":$$/ && wanted && chosen { print value }' | \
		model/print_sass.sh $(or $(NVCC),nvcc) $(ARCH)

# Rewrites the recorded registers per kernel and architecture, and where cuobjdump or nvdisasm is
# there the instruction mix of their main loops; needs nvcc.
registers:
	model/record_registers.sh $(or $(NVCC),nvcc)

# Whether this nvcc makes of the kernels what is recorded. Another version may well differ.
check-registers:
	model/record_registers.sh $(or $(NVCC),nvcc) $(BUILD)/registers.inc $(BUILD)/mix.inc
	diff -I '^//' model/registers.inc $(BUILD)/registers.inc
	[ ! -e $(BUILD)/mix.inc ] || diff -I '^//' model/mix.inc $(BUILD)/mix.inc

# What ncu counts on the GPU beside what the tracer counts: make profile STAGE=5
STAGE ?= 1-9
profile: $(PROGRAM)
	@nvidia-smi --query-gpu=name,driver_version --format=csv,noheader; ncu --version | tail -n 1; date -u
	ncu --csv --page raw --clock-control none --metrics $$(./$(PROGRAM) --ncu-metrics) \
		./$(PROGRAM) --device gpu --stage $(STAGE) --size 256 --reps 1 > $(BUILD)/ncu.csv
	./$(PROGRAM) --device cpu --stage $(STAGE) --size 256 --trace all --ncu $(BUILD)/ncu.csv

# The tables of results/, as the program writes them on this machine's GPU.
RECORD = results/$(shell nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1 | \
	sed 's/NVIDIA //' | tr 'A-Z ' 'a-z-')
record: $(PROGRAM)
	@mkdir -p results
	for size in 1024 4096 8192; do \
		./$(PROGRAM) --device gpu --size $$size --no-color > $(RECORD)-$$size.tmp && \
		mv $(RECORD)-$$size.tmp $(RECORD)-$$size.txt || exit 1; \
	done
	$(MAKE) --no-print-directory --silent profile > $(RECORD)-ncu-256.tmp
	mv $(RECORD)-ncu-256.tmp $(RECORD)-ncu-256.txt

$(BUILD)/bench_tracer: $(BUILD)/simt/bench/tracer.o $(TEST_MAIN) $(BUILD)/gemm_steps_traced.o \
		$(BUILD)/gemm_steps_plain.o $(HOST)
	$(CXX) -fopenmp $^ $(LIBRARIES) -o $@
bench-tracer: $(BUILD)/bench_tracer
	$(BUILD)/bench_tracer

# The hazards that a missing or misplaced barrier, wait or check makes: all must be found.
mutants: $(PROGRAM)
	simt/mutants.sh $(BUILD) "$(CXX) $(AS_CPU) $(TRACED)" "$(CXX) -fopenmp $(MAIN) \
		$(BUILD)/gemm_steps_plain.o $(HOST) $(LIBRARIES)"

clean:
	rm -rf build gemm_steps

help:
	@echo "make                  build ./gemm_steps"
	@echo "make run              build and walk the ladder (FLAGS=... for the program)"
	@echo "make try KERNEL=f.cu  trace, check and time somebody's own sgemm (TRY_FLAGS=--help)"
	@echo "make test             build and run the tests (TEST_FLAGS=... for doctest)"
	@echo "make test-all         every stage on every random shape: takes longer"
	@echo "make test-hardened    the tests with the compiler's hardening on"
	@echo "make deps             install what is missing, or say what is"
	@echo "make mutants          kernels with one mistake each: the tracer must name them all"
	@echo "make bench-tracer     what tracing costs"
	@echo "make sass STAGE=n     registers and instructions of a stage's kernels (nvcc, cuobjdump)"
	@echo "make registers        record registers and main loops of every kernel again (nvcc)"
	@echo "make check-registers  compare the recorded ones with what this nvcc makes"
	@echo "make profile STAGE=n  ncu's counts beside the traced ones (GPU)"
	@echo "make record           the tables of results/ for this GPU"
	@echo "make clean            remove what was built"
	@echo
	@echo "NVCC=path, or NVCC= to build without CUDA; ARCHS=\"86 90a\" to choose architectures;"
	@echo "WERROR=1 to make warnings errors. Now: NVCC=$(NVCC), ARCHS=\"$(ARCHS)\"."

.PHONY: FORCE try run test test-all test-hardened deps sass registers check-registers profile \
	record mutants bench-tracer clean help
.DELETE_ON_ERROR:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
