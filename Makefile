# make run    build, then run all stages: on the GPU if there is one, else traced on the CPU
# make test   build and run the tests; neither needs a GPU
# make help   everything else
#
# Each room of src/ has its own fragment (src/try/try.mk); src/README.md is the map.
.DEFAULT_GOAL = $(PROGRAM)
SHELL := /bin/bash

# Variables for users: make ARCHS="86 90a" NVCC=/opt/cuda/bin/nvcc; NVCC= builds without CUDA, V=1
# shows the commands, WERROR=1 makes warnings errors.
ifeq ($(origin NVCC),undefined)
NVCC := $(firstword $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc))
endif
CXX := $(if $(filter default,$(origin CXX)),g++,$(CXX))
BUILD ?= build
PROGRAM := $(if $(filter build,$(BUILD)),gemm_steps,$(BUILD)/gemm_steps)
EXTRA_CXXFLAGS ?=
# These are read only from make's command line: OUT or K in the environment may mean something else.
ASKED := ANSWERS ANSWER_S ARCH BLOCK BOOK COMPILE_GB COMPILE_S DIR EX FILE FLAGS HINT INPUTS JOBS K KERNEL LIMIT M MEMORY_GB MORE MUTANTS N OUT \
	PAGE SEED SIMILAR SIZE STAGE STUDENT TEST_FLAGS THREAD TRY_ARGS TRY_FLAGS V VARIANT WERROR
$(foreach name,$(ASKED),$(if $(filter environment%,$(origin $(name))),$(eval $(name) :=)))

# Recipes receive users' names as environment variables ("$$KERNEL"), never as text of make or of a
# shell, because a name may have any characters.
NAMED := ANSWERS BLOCK BOOK CSV DIR EX FILE KERNEL MORE OUT PAGE PLOT STUDENT THREAD TRY_ARGS TRY_FLAGS
$(foreach name,$(NAMED),$(eval override $(name) := $$(value $(name))))
export $(NAMED)

ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif
# Prints one short line per file, or with V=1 the commands, or with -s nothing.
ifeq ($(V),)
.SILENT:
endif
say = $(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),,$(info $(shell printf '%-9s %s' '$(1)' '$(2)')))

# The GPU part is built if there is a GPU, for that GPU. Otherwise it is built if ARCHS names
# architectures, or by `make gpu` for those of common classroom GPUs (oldest first; Hopper's own
# instructions need the suffix a; the newest is also kept as PTX).
PRESENT := $(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | \
	grep -E '^[0-9]+\.[0-9]+$$' | tr -d . | sort -nu | sed 's/^90$$/90a/')
ARCHS ?= $(or $(PRESENT),75 80 86 90a)
HAS_GPU := $(and $(NVCC),$(or $(PRESENT),$(filter command,$(origin ARCHS)),$(filter gpu,$(MAKECMDGOALS))))

# Our headers are found only by -iquote: with -I, our folder cuda would hide the toolkit's.
INCLUDES := -iquote . -iquote src -iquote $(BUILD)
WARNINGS := -Wall -Wextra -Wshadow $(if $(filter 1,$(WERROR)),-Werror)
# -Og compiles in half of -O1's time.
CXXFLAGS := -std=c++20 -Og $(WARNINGS) -fopenmp $(INCLUDES) $(EXTRA_CXXFLAGS)
# The CPU's copies of CUDA source: traced as written, with a call at every access and basic block,
# and plain. (With DWARF 5, binutils 2.40 mistakes a file's first header for the file itself.)
AS_CPU := -x c++ -std=c++20 -gdwarf-4 $(INCLUDES) -Isrc/simulator/cuda/headers -I$(BUILD)/headers \
	-include src/simulator/cuda/cpu.h -fno-gnu-unique -fno-extern-tls-init -fno-strict-aliasing \
	-Wno-unknown-pragmas $(WARNINGS) $(EXTRA_CXXFLAGS)
TRACED := -O0 -fsanitize=thread,bounds-strict --param=tsan-distinguish-volatile=1 \
	-fsanitize-coverage=trace-pc -fdata-sections -U_FORTIFY_SOURCE
COUNTED := $(foreach name,memcpy memmove memset,--redefine-sym $(name)=simt_$(name))
# Several makes may run in one checkout: each writes to files of its own, and renames them.
MAKE_PID := $(shell mkdir -p '$(BUILD)' 2> /dev/null && [ -w '$(BUILD)' ] && echo $$PPID)
ifeq ($(MAKE_PID)$(filter help clean,$(MAKECMDGOALS)),)
$(error $(BUILD): cannot be written; make BUILD=folder builds elsewhere)
endif
NEW = $@.new$(MAKE_PID)
DEPENDENCIES = -MMD -MP -MT $@ -MF $@.d.new$(MAKE_PID)
KEEP = && mv -f $@.d.new$(MAKE_PID) $@.d && mv -f $(NEW) $@

# HARDENED=build recompiles the files that hardening changes, and takes the others from that folder.
HARDENED ?=
ANEW := $(if $(HARDENED),src/simulator/machine/% src/simulator/trace/% src/simulator/guard/% src/try/% src/school/grade/%,%)
OBJECTS = $(foreach file,$(1),$(if $(filter $(ANEW),$(file)),$(BUILD),$(HARDENED))/$(file:.cpp=.o))
# Code that users' programs and the tests need, but the main program does not.
FOR_USERS := $(filter-out %_tests.cpp %/wrapper.cpp %/rewriter.cpp,$(wildcard $(addsuffix /*.cpp,$(addprefix src/simulator/, \
	guard announce rewrite machine/ptx)) src/simulator/host/blas*.cpp)) src/simulator/host/random.cpp
FOR_ALL = $(BUILD)/users.a $(INSTRUMENT)
# The files of these rooms, without tests and main programs.
OF = $(filter-out %_tests.cpp %/bench_tracer.cpp %/bench_cpu.cpp %/alone.cpp %/mpi.cpp %/no_gpus.cpp $(FOR_USERS), \
	$(wildcard $(addprefix src/,$(1:%=%/*.cpp))))
# The ladder and --explain, and the other parts of the main program.
OF_LADDER := cpu_reference.cpp src/lab/gpu/sensors.cpp src/cli/walk.cpp src/show/pictures/recorded_gpus.cpp \
	$(call OF,model text $(addprefix simulator/,machine host trace) lab lab/profile flags show/report show/report/explain)
SOURCES := $(OF_LADDER) $(filter-out $(OF_LADDER),src/cli/others.cpp $(call OF,$(addprefix show/,pictures step page) lab/experiments cluster))
INSTRUMENT := $(BUILD)/instrument.a
# The files that read a student's file.
ANSWER := src/school/grade/answer.cpp src/school/grade/kernel_rules.cpp
# make bench, without its main.
BENCHED := $(filter-out %_tests.cpp src/lab/bench/bench.cpp,$(wildcard src/lab/bench/*.cpp))
TESTS := $(call OBJECTS,tests.cpp src/testing/browser.cpp src/testing/pattern.cpp $(wildcard $(addsuffix *_tests.cpp,src/*/ src/*/*/ src/*/*/*/)) $(ANSWER) $(BENCHED))
# The files around a user's kernel.
RUNNERS := src/try/try.cpp src/try/launches.cpp
HARNESS := $(call OBJECTS,$(filter-out %_tests.cpp src/try/architecture.cpp $(RUNNERS),$(wildcard src/try/*.cpp)))
COPIES := $(BUILD)/gemm_steps_traced.o $(BUILD)/gemm_steps_plain.o \
	$(BUILD)/experiments_traced.o $(BUILD)/experiments_plain.o

# What is recorded, and embedded in the program (RESULTS=folder tries others). The folder changes when
# a file is added or removed.
RESULTS := results
include src/lab/gpu/gpu.mk src/cluster/cluster.mk

$(PROGRAM): $(MAIN) $(COPIES) $(INSTRUMENT) $(BUILD)/link.flags Makefile src/lab/gpu/gpu.mk
	$(call say,link,$@)
	$(CXX) -fopenmp $(filter %.o %.a,$^) $(LIBRARIES) -o $(NEW) && mv -f $(NEW) $@

# The ladder alone, which is built in half the time.
$(BUILD)/ladder: $(filter-out $(SEVERAL_GPUS),$(MAIN)) $(filter $(BUILD)/gemm_steps_%,$(COPIES)) $(BUILD)/src/cli/only_ladder.o $(BUILD)/ladder.a $(BUILD)/link.flags
	$(call say,link,$@)
	$(CXX) -fopenmp $(filter %.o %.a,$^) $(LIBRARIES) -o $(NEW) && mv -f $(NEW) $@

$(BUILD)/tests: $(TESTS) $(WITHOUT_MAIN) $(COPIES) $(BUILD)/idioms_traced.o $(BUILD)/vocabulary_traced.o $(FOR_ALL) $(BUILD)/link.flags
	$(call say,link,$@)
	$(CXX) -fopenmp $(filter %_traced.o,$^) $(filter-out %_traced.o,$(filter %.o,$^)) $(FOR_ALL) $(LIBRARIES) -o $(NEW) && mv -f $(NEW) $@

$(INSTRUMENT): $(call OBJECTS,$(SOURCES))
$(BUILD)/ladder.a: $(call OBJECTS,$(OF_LADDER))
$(BUILD)/users.a: $(call OBJECTS,$(FOR_USERS))
$(FOR_ALL) $(BUILD)/ladder.a: $(BUILD)/link.flags Makefile
	ar rcs $(NEW) $(filter %.o,$^) && mv -f $(NEW) $@

# Files that were compiled with other flags are recompiled.
host.flags = $(CXX) $(CXXFLAGS)
cpu.flags = $(CXX) $(AS_CPU) $(TRACED)
# Answers and users' programs are linked each time; gold, where it is, takes a fifth of the time.
LIBRARIES += $(if $(shell command -v ld.gold),-fuse-ld=gold)
link.flags = $(MAIN) $(LIBRARIES)
FORCE:

# HEADERS are precompiled, once for all files with the same optimization.
HEADERS = $(BUILD)/src/standard.h
$(BUILD)/%.o: %.cpp $(BUILD)/host.flags | $(BUILD)/src/standard.h.gch
	$(call say,g++,$<)
	mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) $(addprefix -include ,$(HEADERS)) $(DEPENDENCIES) -c $< -o $(NEW) $(KEEP)
$(BUILD)/%.h.gch: %.h $(BUILD)/host.flags
	$(call say,g++,$<)
	mkdir -p $(@D) && echo '#include "$<"' > $(NEW) && mv -f $(NEW) $(BUILD)/$<
	$(CXX) $(CXXFLAGS) -x c++-header $(BUILD)/$< -o $(NEW) && mv -f $(NEW) $@
# Files whose code runs long, as a profile shows, are optimized more, and have a precompiled header of
# their own. gdb reads an argument of simt::run_grid (src/try/debug/debug.sh).
HOT := $(call OBJECTS,$(filter cpu_reference.cpp $(addprefix src/,simulator/machine/% $(addprefix simulator/trace/,block_counts.cpp \
	hazard_watch.cpp hooks.cpp launch_watch.cpp recorder.cpp thread_order.cpp warp_log.cpp warp_tracer.cpp watch.cpp) \
	$(addprefix model/,counts.cpp tensor_core.cpp warp_access.cpp) lab/measure.cpp lab/problem.cpp),$(SOURCES) $(FOR_USERS)))
HOT_STANDARD := $(BUILD)/src/standard_hot.h
$(HOT) $(HOT_STANDARD).gch: private CXXFLAGS += -O1
$(HOT): private HEADERS = $(HOT_STANDARD)
$(HOT): | $(HOT_STANDARD).gch
$(call OBJECTS,src/simulator/machine/grid.cpp): private CXXFLAGS += -g
$(call OBJECTS,cpu_reference.cpp src/model/tensor_core.cpp): private CXXFLAGS += -O2
$(call OBJECTS,cpu_reference.cpp src/model/tensor_core.cpp src/simulator/machine/grid.cpp): private HEADERS :=
$(HOT_STANDARD).gch: src/standard.h $(BUILD)/host.flags
	$(call say,g++,$< (for code that runs long))
	mkdir -p $(@D) && echo '#include "$<"' > $(NEW) && mv -f $(NEW) $(HOT_STANDARD)
	$(CXX) $(CXXFLAGS) -x c++-header $(HOT_STANDARD) -o $(NEW) && mv -f $(NEW) $@

# One source, two machines. Each copy exports only one table; otherwise the linker would silently
# merge the copies, function by function.
$(BUILD)/traced/%.o: %.cu $(BUILD)/cpu.flags $(BUILD)/announce/wrapper | $(BUILD)/headers.made
	$(call say,g++,$< (traced))
	mkdir -p $(@D)
	$(CXX) $(AS_CPU) $(TRACED) $(DEPENDENCIES) -c $< -o $(NEW) $(KEEP)
$(BUILD)/plain/%.o: %.cu $(BUILD)/cpu.flags | $(BUILD)/headers.made
	$(call say,g++,$<)
	mkdir -p $(@D)
	$(CXX) $(AS_CPU) -Og -g0 $(DEPENDENCIES) -c $< -o $(NEW) $(KEEP)
$(BUILD)/gemm_steps_%.o: $(BUILD)/%/gemm_steps.o
	src/simulator/trace/keep_symbols.sh $< $@ stage_table_$* --redefine-sym stage_table=stage_table_$* $(COUNTED)
$(BUILD)/gemm_steps_main.o: $(BUILD)/plain/gemm_steps.o
	src/simulator/trace/keep_symbols.sh $< $@ main

# README's two commands first install what they need.
run: ## build, then run all stages (FLAGS=... for the program)
	+$(MAKE) --no-print-directory deps
ifeq ($(FLAGS)$(wildcard $(PROGRAM)),)
	+$(MAKE) --no-print-directory $(BUILD)/ladder
	+(exec -a ./$(PROGRAM) $(BUILD)/ladder); verdict=$$?; \
		printf '\nNow the rest of ./$(PROGRAM) is built: its pictures, pages, experiments and several GPUs.\n'; \
		$(MAKE) --no-print-directory $(PROGRAM) && exit $$verdict
else
	+$(MAKE) --no-print-directory $(PROGRAM)
	./$(PROGRAM) $(FLAGS)
endif

test: ## build and run the tests (TEST_FLAGS=... for doctest)
test-all: ## run the tests, with every stage on every random shape (slower)
test test-all:
	+$(MAKE) --no-print-directory deps
	+$(MAKE) --no-print-directory $(PROGRAM) $(BUILD)/tests test-parts
	GEMM_STEPS=./$(PROGRAM) $(if $(filter test-all,$@),GEMM_STEPS_TEST_ALL=1) \
		src/testing/run.sh $(BUILD)/tests $(TEST_FLAGS)

clean: ## remove everything that was built
	rm -rf build gemm_steps

help: ## print this list
	awk -F ':.*## ' ' \
		BEGIN { split("Read|Do the exercises, and try your own kernels|Teach|Maintain", title, "|"); \
			split("run profile ceilings caches bench plot help|grade try show step debug time|grade-class slides book", names, "|"); \
			for (g in names) { n = split(names[g], name, " "); while (n) group[name[n--]] = g } } \
		/^[a-z-]+:.*## / { g = $$1 in group ? group[$$1] : 4; text[g] = text[g] sprintf("  make %-16s %s\n", $$1, $$2) } \
		END { for (g = 1; g <= 4; ++g) printf "%s\n%s\n", title[g], text[g] }' $(MAKEFILE_LIST)
	echo 'NVCC=path, or NVCC= to build without CUDA; ARCHS="86 90a" to choose architectures; V=1 to show'
	echo 'commands; WERROR=1 to make warnings errors. Now: NVCC=$(NVCC), ARCHS="$(ARCHS)".'

# Each room after those that it uses.
include $(filter-out src/lab/gpu/gpu.mk src/cluster/cluster.mk,$(foreach wing,simulator lab show school,$(wildcard src/$(wing)/*/*.mk)) \
	$(wildcard src/*/*.mk))
# The contents of .flags files are compared here, so that a file is recompiled, also in `make -n`,
# only if its flags have changed.
changed = $(subst x$(strip $(file < $(BUILD)/$1.flags)),,x$(strip $($1.flags)))
$(foreach kind,host cpu link gpu try grade,$(eval $(BUILD)/$(kind).flags: $(if $(call changed,$(kind)),FORCE)))
$(BUILD)/%.flags:
	mkdir -p $(@D)
	echo '$($*.flags)' > $(NEW) && mv -f $(NEW) $@
.PHONY: FORCE run test test-all test-parts clean help
.DELETE_ON_ERROR:
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' ! -name 'yours.*' 2>/dev/null)
