# make run    build, then run all stages: on the GPU if there is one, else traced on the CPU
# make test   build and run the tests; neither needs a GPU
# make help   everything else
#
# Each room of src/ has its own fragment (src/try/try.mk); src/README.md is the map.
.DEFAULT_GOAL = $(PROGRAM)
SHELL := /bin/bash

# Variables for users; make help has the others.
CXX := $(if $(filter default,$(origin CXX)),g++,$(CXX))
BUILD ?= build
PROGRAM := $(if $(filter build,$(BUILD)),gemm_steps,$(BUILD)/gemm_steps)
EXTRA_CXXFLAGS ?=
# These are read only from make's command line: OUT or K in the environment may mean something else.
ASKED := ANSWERS ANSWER_S ARCH BLOCK BOOK COMPILE_GB COMPILE_S DIR EX FILE FLAGS HINT INPUTS JOBS K KERNEL LIMIT M MEMORY_GB MORE MUTANTS N OUT \
	PAGE SEED SIMILAR SIZE STAGE STUDENT TEST_FLAGS THREAD TRY_ARGS TRY_FLAGS V VARIANT WERROR
$(foreach name,$(ASKED),$(if $(filter environment%,$(origin $(name))),$(eval $(name) :=)))
# Recipes receive users' names, which may have any characters, as environment variables ("$$KERNEL").
NAMED := ANSWERS BLOCK BOOK CSV DIR EX FILE KERNEL MORE OUT PAGE PLOT STUDENT THREAD TRY_ARGS TRY_FLAGS
$(foreach name,$(NAMED),$(eval override $(name) := $$(value $(name))))
export $(NAMED)

$(if $(filter 0,$(MAKELEVEL)),$(eval MAKEFLAGS += -j$(shell nproc)))
# Prints one short line per file, or with V=1 the commands, or with -s nothing.
$(if $(V),,$(eval .SILENT:))
options := $(firstword -$(MAKEFLAGS))
say = $(if $(V)$(findstring s,$(options)),,$(info $(shell printf '%-9s %s' '$(1)' '$(2)')))

# Several makes may run in one checkout: each writes to files of its own, and renames them.
MAKE_PID := $(shell { [ -d '$(BUILD)' ] || mkdir -p '$(BUILD)' 2> /dev/null; } && [ -w '$(BUILD)' ] && echo $$PPID)
NEW = $@.new$(MAKE_PID)
DEPENDENCIES = -MMD -MP -MT $@ -MF $@.d.new$(MAKE_PID)
KEEP = && mv -f $@.d.new$(MAKE_PID) $@.d && mv -f $(NEW) $@
# "gcc", its version, and 1 on x86-64. With -n or -q, nothing is installed.
ifeq ($(filter help clean format check-format slides plot,$(MAKECMDGOALS)),)
$(if $(MAKE_PID),,$(error $(BUILD): cannot be written; make BUILD=folder builds elsewhere))
COMPILER := $(shell src/testing/deps.sh compiler '$(CXX)' $(findstring n,$(options))$(findstring q,$(options)))
$(if $(filter gcc,$(COMPILER)),,$(error $(COMPILER)))
endif
# A program of that name or path, or nothing.
found = $(firstword $(if $(findstring /,$1),$(wildcard $1),$(wildcard $(addsuffix /$1,$(subst :, ,$(PATH))))))
# Our headers are found only by -iquote: with -I, our folder cuda would hide the toolkit's.
INCLUDES := -iquote . -iquote src -iquote $(BUILD)
WARNINGS := -Wall -Wextra -Wshadow $(if $(filter 1,$(WERROR)),-Werror)
# -Og compiles in half of -O1's time. g++ collects its garbage only from 1 GB on: 7 % less time.
GARBAGE := --param=ggc-min-heapsize=1000000
CXXFLAGS := -std=c++20 -Og $(GARBAGE) $(WARNINGS) -fopenmp $(INCLUDES) $(EXTRA_CXXFLAGS)

# HARDENED=build recompiles the files that hardening changes, and takes the others, and all tests, from that folder.
ANEW := $(if $(HARDENED),$(filter-out %_tests.cpp,$(wildcard $(patsubst %,src/%/*.cpp,$(addprefix simulator/,machine machine/ptx trace guard) try school/grade))),%)
# The files of a room in JOINED are compiled together, which takes two thirds of the time, as all.o, as hot.o if
# their code runs long, or as users.o if only users' programs and tests need them; a wing's tests as all_tests.o. APART: files with flags of their own.
JOINED := $(addprefix src/,$(addsuffix /,text model flags cluster try school/grade school/lesson $(addprefix simulator/,trace host guard rewrite machine machine/ptx) \
	lab profile experiments $(addprefix show/,report report/explain step pictures page)))
MAINS := %_tests.cpp %/alone.cpp %/mpi.cpp src/cluster/no_gpus.cpp %/update.cpp %/on_cpu.cpp
APART = $(MAINS) $(ANSWER) %/lesson_source.cpp %/recorded.cpp %/before_main.cpp %/tensor_core.cpp %/rewriter.cpp %/waiting.cpp %/guarded_kernel.cpp \
	src/try/show.cpp %/inspect.cpp %/assemble.cpp %/similar.cpp %/ladder.cpp %/index_mutants.cpp %/time.cpp %/recorded_gpus.cpp %/block_requests.cpp src/simulator/machine/device_%
# Code that runs long, as a profile shows, is optimized more.
HOT_FILES := cpu_reference.cpp $(addprefix src/,simulator/announce/pass.cpp simulator/machine/% $(addprefix simulator/trace/,hazard_watch.cpp \
	hooks.cpp launch_watch.cpp thread_order.cpp warp_log.cpp warp_tracer.cpp watch.cpp) $(addprefix model/,tensor_core.cpp warp_access.cpp) \
	lab/measure.cpp lab/problem.cpp)
unit = $(if $(filter %_tests.cpp,$1),src/$(word 2,$(subst /, ,$1))/all_tests,$(if $(filter $(JOINED),$(dir $1)),$(if $(filter $(APART),$1),$(1:.cpp=),$(dir $1)$(if $(filter $(HOT_FILES),$1),hot,$(if $(filter $(FOR_USERS),$1),users,all))),$(1:.cpp=)))
OBJECTS = $(sort $(foreach file,$1,$(if $(filter $(ANEW),$(file)),$(BUILD),$(HARDENED))/$(call unit,$(file)).o))
EVERY_FILE := $(wildcard $(addsuffix .cpp,$(addprefix src/,*/* */*/* */*/*/*)))
# Code that users' programs and the tests need, but the main program does not. CALLED, which has PTX, cuBLAS and cuRAND, serves only some of them.
FOR_USERS := $(filter-out %_tests.cpp %/wrapper.cpp %/rewriter.cpp,$(wildcard $(addsuffix /*.cpp,$(addprefix src/simulator/, \
	guard announce rewrite machine/ptx)) src/simulator/host/blas*.cpp)) src/simulator/host/random.cpp
CALLED := $(filter $(addprefix src/simulator/,machine/% host/%),$(FOR_USERS))
FOR_ALL = $(BUILD)/called.a $(BUILD)/users.a $(INSTRUMENT)
# The files of these rooms, without tests and main programs.
OF = $(filter-out $(MAINS) $(FOR_USERS),$(wildcard $(addprefix src/,$(1:%=%/*.cpp))))
# What the table needs, and the other parts of the main program.
OF_LADDER := cpu_reference.cpp src/lab/gpu/sensors.cpp src/cli/walk.cpp src/show/pictures/recorded_gpus.cpp \
	$(call OF,model text $(addprefix simulator/,machine host trace) lab flags show/report)
SOURCES := $(OF_LADDER) $(filter-out $(OF_LADDER),src/cli/others.cpp $(call OF,$(addprefix show/,report/explain pictures step page) profile experiments cluster))
INSTRUMENT := $(BUILD)/instrument.a
# The files that read a student's file.
ANSWER := src/school/grade/answer.cpp src/school/grade/kernel_rules.cpp
OWN_COPIES := $(addprefix $(or $(HARDENED),$(BUILD))/,gemm_steps_traced.o gemm_steps_plain.o)
COPIES := $(OWN_COPIES) $(subst gemm_steps,experiments,$(OWN_COPIES))
# What is recorded, and embedded in the program. RESULTS=folder tries others.
RESULTS := results
include src/lab/gpu/gpu.mk src/cluster/cluster.mk
# Answers and users' programs are linked each time; gold, where it is, takes a fifth of the time.
FAST := $(if $(call found,ld.gold),-fuse-ld=gold)
LIBRARIES += -fopenmp $(FAST)
# To these and to TOOLS, which need no libraries, a room adds its own, and says what they are made of.
PROGRAMS := $(PROGRAM) $(BUILD)/ladder
ARCHIVES := $(INSTRUMENT) $(addprefix $(BUILD)/,ladder.a users.a called.a)
$(PROGRAM): $(MAIN) $(OF_EXPERIMENTS) $(COPIES) $(INSTRUMENT)
$(BUILD)/ladder: $(FIRST_MAIN) $(OWN_COPIES) $(BUILD)/src/cli/only_ladder.o $(BUILD)/ladder.a
$(INSTRUMENT): $(call OBJECTS,$(SOURCES))
$(BUILD)/ladder.a: $(filter %/hot.o,$(call OBJECTS,$(OF_LADDER))) $(call OBJECTS,$(OF_LADDER))  # what takes long begins first
$(BUILD)/users.a: $(call OBJECTS,$(filter-out $(CALLED),$(FOR_USERS)))
$(BUILD)/called.a: $(call OBJECTS,$(CALLED))

# HEADERS are precompiled, once for all files with the same optimization.
HEADERS = $(BUILD)/src/standard.h
$(BUILD)/%.o: %.cpp $(BUILD)/host.flags | $(BUILD)/src/standard.h.gch
	$(call say,g++,$<)
	mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) $(addprefix -include ,$(HEADERS)) $(DEPENDENCIES) -c $< -o $(NEW) $(KEEP)
JOINT := $(filter $(ANEW),$(foreach file,$(EVERY_FILE),$(if $(filter %/all %/hot %/users %/all_tests,$(call unit,$(file))),$(file))))
# A unit is compiled anew when a file joins or leaves it: its list of files is compared, too (see below). g++ -MP leaves out the first.
$(foreach file,$(JOINT),$(eval $(call unit,$(file)).flags += $(file))$(eval $(call OBJECTS,$(file)): $(file) $(BUILD)/$(call unit,$(file)).flags))
$(call OBJECTS,$(JOINT)): $(BUILD)/host.flags | $(BUILD)/src/standard.h.gch
	$(call say,g++,$(subst users,*,$(subst hot,*,$(subst all,*,$(@:$(BUILD)/%.o=%.cpp)))))
	mkdir -p $(@D)
	printf '#include "%s"\n' $($(@:$(BUILD)/%.o=%).flags) | $(CXX) $(CXXFLAGS) $(addprefix -include ,$(HEADERS)) $(DEPENDENCIES) -x c++ -c - -o $(NEW) && echo '$(firstword $($(@:$(BUILD)/%.o=%).flags)):' >> $@.d.new$(MAKE_PID) $(KEEP)
$(BUILD)/%.h.gch: $(BUILD)/host.flags
	$(call say,g++,$*.h)
	mkdir -p $(@D) && echo '#include "$(*:_hot=).h"' > $(NEW) && mv -f $(NEW) $(@:.gch=)
	$(CXX) $(CXXFLAGS) $(DEPENDENCIES) -x c++-header $(@:.gch=) -o $(NEW) $(KEEP)
# They have a precompiled header of their own.
HOT := $(call OBJECTS,$(filter $(HOT_FILES),$(SOURCES) $(FOR_USERS)))
HOT_STANDARD := $(BUILD)/src/standard_hot.h
$(HOT) $(HOT_STANDARD).gch: private CXXFLAGS += -O1
$(HOT): private HEADERS = $(HOT_STANDARD)
$(HOT): | $(HOT_STANDARD).gch
$(BUILD)/cpu_reference.o $(BUILD)/src/model/tensor_core.o: private CXXFLAGS += -O2
$(BUILD)/cpu_reference.o $(BUILD)/src/model/tensor_core.o: private HEADERS :=

run: $(if $(FLAGS)$(wildcard $(PROGRAM)),$(PROGRAM),$(BUILD)/ladder) ## build, then run all stages (FLAGS=... for the program)
ifneq ($(FLAGS)$(wildcard $(PROGRAM)),)
	./$(PROGRAM) $(FLAGS)
else
	(exec -a ./$(PROGRAM) $<); verdict=$$?; \
		printf '\nNow the rest of ./$(PROGRAM) is built: its pictures, pages, experiments and several GPUs.\n'; \
		$(MAKE) --no-print-directory $(PROGRAM) && exit $$verdict
endif
clean: ## remove everything that was built
	rm -rf build gemm_steps
help: ## print this list
	awk -v nvcc='$(NVCC)' -v archs='$(ARCHS)' -f src/testing/help.awk $(MAKEFILE_LIST)

# Each room after those that it uses.
include $(filter-out src/lab/gpu/gpu.mk src/cluster/cluster.mk,$(foreach wing,simulator lab show school,$(wildcard src/$(wing)/*/*.mk)) \
	$(sort $(wildcard src/*/*.mk)))

# A program, of the objects and archives that it depends on. What is traced comes first (trace/hooks.h).
define LINK
$(call say,link,$@)
mkdir -p $(@D)
$(CXX) $(filter %traced.o,$^) $(filter-out %traced.o,$(filter %.o,$^)) $(filter %.a,$^) $(LIBRARIES) -o $(NEW) && mv -f $(NEW) $@
endef
$(TOOLS): private LIBRARIES := $(FAST)
$(PROGRAMS) $(TOOLS): $(BUILD)/link.flags Makefile src/lab/gpu/gpu.mk
	$(LINK)
$(ARCHIVES): $(BUILD)/link.flags Makefile
	ar rcs $(NEW) $(filter %.o,$^) && mv -f $(NEW) $@
# Files that were compiled with other flags are recompiled, and what is linked of other files is
# linked anew. The contents of .flags files are compared here, so that this is so also in `make -n`.
host.flags = $(CXX) $(CXXFLAGS)
link.flags = $(MAIN) $(LIBRARIES) $(EVERY_FILE)
changed = $(subst x$(strip $(file < $(BUILD)/$1.flags)),,x$(strip $($1.flags)))
$(foreach kind,host cpu link gpu try tried grade $(sort $(foreach file,$(JOINT),$(call unit,$(file)))),$(eval $(BUILD)/$(kind).flags: $(if $(call changed,$(kind)),FORCE)))
$(BUILD)/%.flags:
	mkdir -p $(@D)
	echo '$($*.flags)' > $(NEW) && mv -f $(NEW) $@
.PHONY: FORCE run clean help
.DELETE_ON_ERROR .PRECIOUS: $(addprefix $(BUILD)/,%.o $(addsuffix %.o,traced/ plain/ gpu/ fuzz/) $(addprefix try/%.,traced.o plain.o debug.traced.o) %.h.gch %.flags)  # not .SECONDARY: then a deleted header would rebuild nothing
-include $(shell exec find $(BUILD) -name '*.d' ! -name 'yours.*' 2>/dev/null)
