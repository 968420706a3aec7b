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
# Ours is found by -iquote alone: with -I a folder of ours named cuda would hide the toolkit's.
INCLUDES := -iquote . -iquote src
CXXFLAGS := -std=c++20 -O2 -g $(WARNINGS) -fopenmp $(INCLUDES) $(EXTRA_CXXFLAGS)
# Tests look at the toolkit's headers, too: model/ is compared with cuda_occupancy.h.
OF_TESTS = $(if $(filter %_tests.o,$@),$(addprefix -isystem ,$(wildcard $(CUDA)/include)))
DEPENDENCIES = -MMD -MP -MF $@.d

HOST_ROOMS := model text machine trace lab flags report pictures step experiments profile cli
OBJECTS_OF = $(patsubst %.cpp,$(BUILD)/%.o,$(patsubst src/%,%,$(1)))
HOST := $(call OBJECTS_OF,cpu_reference.cpp \
	$(filter-out %_tests.cpp src/gpu/absent.cpp src/lab/bench_tracer.cpp, \
	$(wildcard $(foreach room,$(HOST_ROOMS),src/$(room)/*.cpp src/$(room)/*/*.cpp))))
HOST += $(BUILD)/experiments_traced.o $(BUILD)/experiments_plain.o
TESTS := $(call OBJECTS_OF,tests.cpp $(wildcard src/*/*_tests.cpp))
WHOLE_PROGRAMS := $(BUILD)/examples/vector_add $(BUILD)/examples/standalone

ifneq ($(NVCC),)
CUDA := $(patsubst %/bin/nvcc,%,$(realpath $(shell command -v $(NVCC))))
MAIN := $(BUILD)/gemm_steps_gpu.o $(BUILD)/gpu/gpu.o
TEST_MAIN := $(BUILD)/gemm_steps_gpu_without_main.o $(BUILD)/gpu/gpu.o
LIBRARIES := -L$(CUDA)/lib64 -Wl,-rpath,$(CUDA)/lib64 -lcublas -lcudart_static -ldl -lrt -lpthread
NVCC_INCLUDES := -Xcompiler=-iquote,.,-iquote,src
NVCCFLAGS := -std=c++20 -O3 $(NVCC_INCLUDES) -lineinfo $(GENCODE) --threads 0 -ccbin $(CXX) \
	-Xcompiler=-Wall,-Wextra,-fopenmp$(if $(filter 1,$(WERROR)),$(comma)-Werror)
else
MAIN := $(BUILD)/gemm_steps_main.o $(BUILD)/gpu/absent.o
TEST_MAIN := $(BUILD)/gpu/absent.o
endif

$(PROGRAM): $(MAIN) $(BUILD)/gemm_steps_traced.o $(BUILD)/gemm_steps_plain.o $(HOST)
	$(CXX) -fopenmp $^ $(LIBRARIES) -o $@

$(BUILD)/tests: $(TESTS) $(TEST_MAIN) $(BUILD)/gemm_steps_traced.o $(BUILD)/gemm_steps_plain.o \
		$(BUILD)/idioms_traced.o $(HOST)
	$(CXX) -fopenmp $^ $(LIBRARIES) -o $@
$(BUILD)/tests: | $(patsubst examples/%.cu,$(BUILD)/try/%,$(filter-out $(WHOLE_PROGRAMS:$(BUILD)/%=%.cu) examples/eight.cu,$(wildcard examples/*.cu))) \
	$(BUILD)/try/tiled.debug
$(BUILD)/tests: $(BUILD)/lesson/lesson.o | $(BUILD)/try/eight $(WHOLE_PROGRAMS) grader

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
$(BUILD)/%.o: src/%.cpp $(CONFIGURATION)
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) $(OF_TESTS) $(DEPENDENCIES) -c $< -o $@

# The kernels' text travels in the program, for --explain.
$(BUILD)/trace/source_lines.o: gemm_steps.cu
$(BUILD)/report/recorded_speeds.o: $(wildcard results/h200-*.txt)

# One source, two machines. The GPU's copy of gemm_steps.cu, with what the experiments add to it:
$(BUILD)/%.o: src/%.cu $(CONFIGURATION)
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) $(DEPENDENCIES) -c $< -o $@
$(BUILD)/gemm_steps_gpu.o: src/experiments/kernels.cu $(CONFIGURATION)
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) $(DEPENDENCIES) -c $< -o $@
$(BUILD)/gemm_steps_gpu_without_main.o: $(BUILD)/gemm_steps_gpu.o
	objcopy --localize-symbol=main $< $@

# The CPU's copies: traced as written, with a call at every access and basic block, and plain.
# (In DWARF 5 binutils 2.40 takes the first header of a file for the file itself.)
AS_CPU := -x c++ -std=c++20 -gdwarf-4 $(INCLUDES) -Isrc/cuda/headers -include src/cuda/cpu.h -fno-gnu-unique \
	-fno-extern-tls-init -fno-strict-aliasing -Wno-unknown-pragmas $(WARNINGS) $(EXTRA_CXXFLAGS)
TRACED := -O0 -fsanitize=thread,bounds-strict -fsanitize-coverage=trace-pc -U_FORTIFY_SOURCE
$(BUILD)/traced/%.o: %.cu $(CONFIGURATION)
	@mkdir -p $(@D)
	$(CXX) $(AS_CPU) $(TRACED) $(DEPENDENCIES) -c $< -o $@
$(BUILD)/traced/%.o: src/%.cu $(CONFIGURATION)
	@mkdir -p $(@D)
	$(CXX) $(AS_CPU) $(TRACED) $(DEPENDENCIES) -c $< -o $@
$(BUILD)/plain/%.o: %.cu $(CONFIGURATION)
	@mkdir -p $(@D)
	$(CXX) $(AS_CPU) -O2 $(DEPENDENCIES) -c $< -o $@
$(BUILD)/plain/%.o: src/%.cu $(CONFIGURATION)
	@mkdir -p $(@D)
	$(CXX) $(AS_CPU) -O2 $(DEPENDENCIES) -c $< -o $@

# Two copies of one file in one program would be merged, function by function, without a word. So
# each shows the symbols $(1) alone, after the renamings $(2), and all else of it becomes local.
define alone
src/trace/keep_symbols.sh $< $@ "$(1)" $(2)
endef
COUNTED := --redefine-sym memcpy=simt_memcpy --redefine-sym memset=simt_memset
$(BUILD)/gemm_steps_traced.o: $(BUILD)/traced/gemm_steps.o
	$(call alone,stage_table_traced,--redefine-sym stage_table=stage_table_traced $(COUNTED))
$(BUILD)/gemm_steps_plain.o: $(BUILD)/plain/gemm_steps.o
	$(call alone,stage_table_plain,--redefine-sym stage_table=stage_table_plain)
$(BUILD)/experiments_traced.o: $(BUILD)/traced/experiments/kernels.o
	$(call alone,experiment_table_traced,--redefine-sym experiment_table=experiment_table_traced $(COUNTED))
$(BUILD)/experiments_plain.o: $(BUILD)/plain/experiments/kernels.o
	$(call alone,experiment_table_plain,--redefine-sym experiment_table=experiment_table_plain)
$(BUILD)/gemm_steps_main.o: $(BUILD)/plain/gemm_steps.o
	$(call alone,main)
$(BUILD)/idioms_traced.o: $(BUILD)/traced/trace/idioms.o
	$(call alone,_ZN5trace6idiomsE _ZN5trace11divergencesE _ZN5trace9exchangesE _ZN5trace6faultsE,$(COUNTED))

# make try KERNEL=file.cu: the same for anybody's file, whose sgemm is renamed in each copy. Its
# warnings are its author's business.
try_name = $(basename $(notdir $(1)))
TRY_COMPILER_FLAGS = $(filter -I% -D%,$(TRY_FLAGS))
TRY_AS_CPU = $(filter-out $(WARNINGS),$(AS_CPU)) -include src/cuda/headers/cuda_runtime.h -w \
	-U_FORTIFY_SOURCE -fno-builtin-printf $(TRY_COMPILER_FLAGS)
# One architecture after the other (--threads 1), so that ptxas speaks of one kernel at a time.
TRY_NVCCFLAGS = $(patsubst 0,1,$(filter-out -Xcompiler=%,$(NVCCFLAGS))) -w -Xptxas -v
C_LIBRARY := --redefine-sym printf=try_printf --redefine-sym __assert_fail=try_assert_fail \
	--redefine-sym malloc=try_malloc --redefine-sym _Znwm=try_new --redefine-sym _Znam=try_new_array \
	--redefine-sym rand=try_rand
SGEMM = _Z$(1)iiifPKfS0_fPf
SGEMM_COPY = $(call SGEMM,$(if $(filter traced,$(1)),12sgemm_traced,11sgemm_plain))
HARNESS := $(call OBJECTS_OF,$(filter-out %_tests.cpp,$(wildcard src/try/*.cpp src/guard/*.cpp))) \
	$(filter-out $(BUILD)/cli/walk.o $(BUILD)/experiments/experiment_command.o $(BUILD)/experiments_%.o,$(HOST)) $(filter $(BUILD)/gpu/%.o,$(MAIN))
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
	@$$(NVCC) $$(TRY_NVCCFLAGS) -include src/cuda/launch.h $$(TRY_COMPILER_FLAGS) -c $$< -o $$@ 2> $$@.log || \
		{ cat $$@.log >&2; exit 1; }
	@c++filt -p < $$@.log | awk -f src/model/ptxas_registers.awk > \
		$(BUILD)/try/$(call try_name,$(1)).registers
	@objcopy --redefine-sym $(call SGEMM,5sgemm)=$(call SGEMM,9sgemm_gpu) --localize-symbol=main $$@
$(BUILD)/try/$(call try_name,$(1)): $(BUILD)/try/$(call try_name,$(1)).traced.o \
		$(BUILD)/try/$(call try_name,$(1)).plain.o \
		$(if $(2),$(if $(NVCC),$(BUILD)/try/$(call try_name,$(1)).gpu.o)) $$(HARNESS)
	@$$(CXX) -fopenmp $$^ $$(LIBRARIES) -o $$@
$(if $(NVCC),,	@rm -f $$@.registers)
$(BUILD)/try/$(call try_name,$(1)).debug: $(BUILD)/try/$(call try_name,$(1)).traced.o \
		$(BUILD)/try/debug/main.o $$(filter-out $(BUILD)/try/try.o,$$(HARNESS))
	@$$(CXX) -fopenmp $$^ $$(LIBRARIES) -o $$@
endef
SAMPLES := $(filter-out $(KERNEL),$(filter-out $(WHOLE_PROGRAMS:$(BUILD)/%=%.cu) examples/eight.cu,$(wildcard examples/*.cu)) examples/eight.cu)
$(foreach file,$(SAMPLES),$(eval $(call TRY_RULES,$(file))))
$(if $(KERNEL),$(eval $(call TRY_RULES,$(KERNEL),FORCE)))
$(if $(KERNEL),$(eval .SILENT:))
try: $(if $(KERNEL),$(BUILD)/try/$(call try_name,$(KERNEL)))
	@$(if $(KERNEL),$(BUILD)/try/$(call try_name,$(KERNEL)) $(filter-out $(TRY_COMPILER_FLAGS),$(TRY_FLAGS)), \
		echo "which kernel? make try KERNEL=path/to/file.cu" >&2; exit 2)

# Somebody's own kernel under gdb: make debug KERNEL=my.cu BLOCK=1,0 THREAD=3,2
BLOCK ?= 0,0
THREAD ?= 0,0
debug: $(if $(EX),,$(if $(KERNEL),$(BUILD)/try/$(call try_name,$(KERNEL)).debug))
	@$(if $(EX),$(LOOK_AT_ANSWER),$(if $(KERNEL),src/try/debug/debug.sh $(BUILD)/try/$(call try_name,$(KERNEL)).debug '$(BLOCK)' '$(THREAD)' \
		$(filter-out $(TRY_COMPILER_FLAGS),$(TRY_FLAGS)), \
		echo "which kernel? make debug KERNEL=path/to/file.cu, or EX=n for your answer" >&2; exit 2))

# Through the recorded work of a block, step by step: make step STAGE=3 or make step KERNEL=my.cu
STEPPED = $(if $(KERNEL),$(BUILD)/try/$(call try_name,$(KERNEL)),./$(PROGRAM)) --step \
	$(if $(KERNEL),,$(if $(filter command line environment,$(origin STAGE)),--stage $(STAGE))) \
	$(filter-out $(TRY_COMPILER_FLAGS),$(TRY_FLAGS)) $(FLAGS)
step: $(if $(EX),,$(if $(KERNEL),$(BUILD)/try/$(call try_name,$(KERNEL)),$(PROGRAM)))
	@$(if $(EX),$(LOOK_AT_ANSWER),$(STEPPED))

# make grade EX=3: a student's answer to an exercise, whose kernel alone is compiled each time. The
# rest of the grader is linked beforehand, without what a debugger would need, to be quick.
EXERCISES := $(patsubst exercises/%/exercise.cpp,%,$(wildcard exercises/[0-9]*/exercise.cpp))
GRADER := $(patsubst %.cpp,$(BUILD)/%.o,$(addprefix grade/,case.cpp verdict.cpp region.cpp inspect.cpp \
	grade.cpp))
$(BUILD)/exercises/grader.o: $(GRADER) $(filter-out $(BUILD)/try/try.o,$(HARNESS))
	ld -r --strip-debug $^ -o $@
$(BUILD)/exercises/grader_for_gdb.o: $(GRADER) $(filter-out $(BUILD)/try/try.o,$(HARNESS))
	ld -r $^ -o $@
$(BUILD)/exercises/%.o: exercises/%/exercise.cpp $(CONFIGURATION)
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) $(DEPENDENCIES) -c $< -o $@
$(BUILD)/exercises/assemble: $(BUILD)/grade/assemble.o $(BUILD)/grade/region.o
	@mkdir -p $(@D)
	$(CXX) $^ -o $@
GRADE_AS_CPU = $(subst src/cuda/cpu.h,$(BUILD)/exercises/cpu.h,$(filter-out -Werror,$(AS_CPU))) \
	-fstack-usage -Wno-unused-parameter -Wno-unused-variable -Wno-unused-but-set-variable
$(BUILD)/exercises/cpu.h.gch: $(wildcard src/cuda/*.h src/machine/*.h) $(CONFIGURATION)
	@mkdir -p $(@D)
	echo '#include "cuda/cpu.h"' > $(BUILD)/exercises/cpu.h
	$(CXX) -x c++-header $(filter-out -x c++ -include %/cpu.h,$(GRADE_AS_CPU)) $(TRACED) $(BUILD)/exercises/cpu.h -o $@
$(BUILD)/exercises/environment: $(CONFIGURATION)
	@mkdir -p $(@D)
	printf '%s\n' 'CXX="$(CXX)"' 'AS_CPU="$(GRADE_AS_CPU) $(TRACED)"' 'COUNTED="$(COUNTED)"' \
		'LIBRARIES="-fopenmp $(LIBRARIES)"' > $@
GRADE_PARTS := $(addprefix $(BUILD)/exercises/,grader.o assemble cpu.h.gch environment \
	$(EXERCISES:%=%.o))
$(BUILD)/exercises/similar: $(BUILD)/grade/similar.o
	@mkdir -p $(@D)
	$(CXX) $^ -o $@
grader: $(GRADE_PARTS) $(BUILD)/exercises/similar $(BUILD)/grade/ladder.o $(BUILD)/gemm_steps_traced.o
grade: $(GRADE_PARTS)
	@BUILD='$(BUILD)' SEED='$(SEED)' HINT='$(HINT)' STUDENT='$(STUDENT)' LIMIT='$(LIMIT)' \
		RECORD=answers/grades.csv src/grade/grade.sh '$(EX)' '$(FILE)'
LOOK_AT_ANSWER = BUILD='$(BUILD)' SEED='$(SEED)' STUDENT='$(STUDENT)' LIMIT='$(LIMIT)' \
	RECORD=answers/grades.csv LOOK_FLAGS='$(TRY_FLAGS) $(FLAGS)' PAGE='$(PAGE)' BLOCK='$(BLOCK)' \
	THREAD='$(THREAD)' LOOK=$@ src/grade/grade.sh '$(EX)' '$(FILE)'
# A class: make grade-class DIR=submissions (exercises/TEACHING.md). What is set on the command line
# is in the environment of the script, which checks it.
JOBS ?= $(shell nproc)
grade-class: $(GRADE_PARTS) $(BUILD)/exercises/similar
	@BUILD='$(BUILD)' JOBS='$(JOBS)' src/grade/grade_class.sh
ifneq ($(EX),)
step debug: $(GRADE_PARTS)
debug: $(BUILD)/exercises/grader_for_gdb.o
endif
check-exercises: grader
	src/grade/check.sh $(BUILD) $(EX)

# make time EX=15: an answer's kernel on the GPU.
TIMED := $(if $(EX),$(filter $(EX) $(EX)-% 0$(EX)-%,$(EXERCISES)))
$(BUILD)/exercises/time: $(patsubst %,$(BUILD)/%.o,grade/time gpu/gpu model/gpus) \
		$(BUILD)/exercises/assemble FORCE
	@$(BUILD)/exercises/assemble exercises/$(TIMED)/kernel.cu $(or $(FILE),answers/$(TIMED).cu) > $@.cu
	@$(NVCC) $(TRY_NVCCFLAGS) -c $@.cu -o $@.kernel.o 2> $@.log || { cat $@.log >&2; exit 1; }
	@sed -n 's/.*: Used \([0-9]* registers\).*/\1 a thread, as nvcc compiles it/p' $@.log
	@$(CXX) -fopenmp $(filter %.o,$^) $@.kernel.o $(LIBRARIES) -o $@
time: $(if $(and $(NVCC),$(TIMED)),$(BUILD)/exercises/time)
	@$(if $(TIMED),,echo "which exercise? make time EX=15" >&2; exit 2;) \
		$(if $(NVCC),$<,echo "the time needs nvcc and a GPU" >&2; exit 2)

# The same file in pictures, in the terminal and as a page.
PAGE ?= $(BUILD)/show.html
show: $(if $(EX),$(GRADE_PARTS),$(if $(KERNEL),$(BUILD)/try/$(call try_name,$(KERNEL))))
	@$(if $(EX),$(LOOK_AT_ANSWER),$(if $(KERNEL),$(BUILD)/try/$(call try_name,$(KERNEL)) --size 64 --show $(PAGE) $(filter-out $(TRY_COMPILER_FLAGS),$(TRY_FLAGS)), \
		echo "which kernel? make show KERNEL=path/to/file.cu, or EX=n for your answer" >&2; exit 2))

# The walkthrough's whole programs, <<< >>> and main and all, for the CPU; nvcc takes them as they are.
$(WHOLE_PROGRAMS): $(BUILD)/examples/%: examples/%.cu src/lesson/on_cpu.h \
		$(BUILD)/lesson/on_cpu.o $(filter $(BUILD)/model/%.o $(BUILD)/machine/%.o $(BUILD)/trace/%.o,$(HOST))
	@mkdir -p $(@D)
	sed -E 's/(\w+)<<<([^>]*)>>>\(/launch(\1, \2, 0, /' $< > $@.cpp
	$(CXX) $(AS_CPU) -O2 -include src/lesson/on_cpu.h -fopenmp $@.cpp -x none $(filter %.o,$^) -o $@

# Writes what the walkthrough's commands print today into walkthrough.md.
$(BUILD)/lesson/update: $(BUILD)/lesson/update.o $(BUILD)/lesson/lesson.o
	$(CXX) $^ -o $@
walkthrough: $(PROGRAM) $(BUILD)/lesson/update $(BUILD)/try/eight $(WHOLE_PROGRAMS)
	$(BUILD)/lesson/update ./$(PROGRAM) $(BUILD)

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

# The lesson's pictures, drawn again from a trace; a test compares them with what is there.
figures: $(PROGRAM)
	./$(PROGRAM) --figures figures

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
		src/model/print_sass.sh $(or $(NVCC),nvcc) $(ARCH)

# Rewrites the recorded registers per kernel and architecture, and where cuobjdump or nvdisasm is
# there the instruction mix of their main loops; needs nvcc.
registers:
	src/model/record_kernels.sh $(or $(NVCC),nvcc)

# Whether this nvcc makes of the kernels what is recorded. Another version may well differ.
check-registers:
	@mkdir -p $(BUILD) && cp src/model/compiled_kernels.inc $(BUILD)/compiled_kernels.inc
	src/model/record_kernels.sh $(or $(NVCC),nvcc) $(BUILD)/compiled_kernels.inc
	diff -I '^//' src/model/compiled_kernels.inc $(BUILD)/compiled_kernels.inc

# What ncu counts on the GPU beside what the tracer counts, and how busy it sees each unit beside the
# ceilings: make profile STAGE=5 SIZE=1000, or STAGE=all M=251 N=509 K=127; make ceilings SIZE=4096
STAGE ?= all
SIZE ?=
M ?=
N ?=
K ?=
PROBLEM = --stage $(if $(filter all,$(STAGE)),1-,$(STAGE)) $(if $(VARIANT),--variant $(VARIANT)) \
	$(if $(or $(SIZE),$(M)$(N)$(K)),,--size $(1)) $(if $(SIZE),--size $(SIZE)) \
	$(if $(M),--m $(M)) $(if $(N),--n $(N)) $(if $(K),--k $(K))
profile: $(PROGRAM)
	@src/profile/profile.sh counts ./$(PROGRAM) $(call PROBLEM,256) $(FLAGS)
ceilings: $(PROGRAM)
	@src/profile/profile.sh units ./$(PROGRAM) $(call PROBLEM,4096) $(FLAGS)
coarsening-loads: $(PROGRAM)
	@src/profile/coarsening_loads.sh ./$(PROGRAM)

# The tables of results/, as the program writes them on this machine's GPU.
record: $(PROGRAM)
	@src/lab/record.sh ./$(PROGRAM)

$(BUILD)/bench_tracer: $(BUILD)/lab/bench_tracer.o $(TEST_MAIN) $(BUILD)/gemm_steps_traced.o \
		$(BUILD)/gemm_steps_plain.o $(HOST)
	$(CXX) -fopenmp $^ $(LIBRARIES) -o $@
bench-tracer: $(BUILD)/bench_tracer
	$(BUILD)/bench_tracer

# The hazards that a missing or misplaced barrier, wait or check makes: all must be found.
mutants: $(PROGRAM)
	src/trace/mutants.sh $(BUILD) "$(CXX) $(AS_CPU) $(TRACED)" "$(CXX) -fopenmp $(MAIN) \
		$(BUILD)/gemm_steps_plain.o $(HOST) $(LIBRARIES)"

clean:
	rm -rf build gemm_steps

help:
	@echo "make                  build ./gemm_steps"
	@echo "make run              build and walk the ladder (FLAGS=... for the program)"
	@echo "make try KERNEL=f.cu  trace, check and time somebody's own sgemm (TRY_FLAGS=--help)"
	@echo "make show KERNEL=f.cu draw what its warps ask for, also as a page (PAGE=file.html)"
	@echo "make figures          draw the lesson's pictures again, into figures/"
	@echo "make step STAGE=n     through a block's work, step by step; KERNEL=f.cu: of your own file"
	@echo "make debug KERNEL=f.cu  gdb, stopped in one thread: BLOCK=1,0 THREAD=3,2"
	@echo "make show EX=n        the same of your answer to an exercise; so do make step and make debug"
	@echo "make grade EX=n       grade your answer to an exercise (exercises/README.md; EX= grades all)"
	@echo "make time EX=15       time your answer on the GPU, at 4096^3"
	@echo "make grade-class DIR=d  grade the folders of a class (exercises/TEACHING.md)"
	@echo "make test             build and run the tests (TEST_FLAGS=... for doctest)"
	@echo "make test-all         every stage on every random shape: takes longer"
	@echo "make test-hardened    the tests with the compiler's hardening on"
	@echo "make deps             install what is missing, or say what is"
	@echo "make mutants          kernels with one mistake each: the tracer must name them all"
	@echo "make walkthrough      the outputs that walkthrough.md quotes, as they are today"
	@echo "make bench-tracer     what tracing costs"
	@echo "make sass STAGE=n     registers and instructions of a stage's kernels (nvcc, cuobjdump)"
	@echo "make registers        record registers and main loops of every kernel again (nvcc)"
	@echo "make check-registers  compare the recorded ones with what this nvcc makes"
	@echo "make profile STAGE=n  ncu's counts beside the traced ones (GPU; SIZE=, or M= N= K=)"
	@echo "make ceilings         how busy ncu sees each unit, beside the ceilings (GPU)"
	@echo "make coarsening-loads ncu's loads of stage 4's sweep, beside published ones (GPU)"
	@echo "make record           the tables of results/ for this GPU"
	@echo "make clean            remove what was built"
	@echo
	@echo "NVCC=path, or NVCC= to build without CUDA; ARCHS=\"86 90a\" to choose architectures;"
	@echo "WERROR=1 to make warnings errors. Now: NVCC=$(NVCC), ARCHS=\"$(ARCHS)\"."

.PHONY: FORCE figures try show step debug time grade grade-class grader check-exercises run test \
	test-all test-hardened deps sass registers check-registers profile ceilings coarsening-loads record \
	mutants bench-tracer walkthrough clean help
.DELETE_ON_ERROR:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
