# grade.sh compiles a student's answer each time; the rest of the grader is linked in advance, and what only
# show, step and debug need apart from it. With one section of each kind, linking it to the answer takes two
# thirds of the time. (That dissolves the groups, so variables that an exercise defines, too, become weak.)
EXERCISES := $(patsubst exercises/%/exercise.cpp,%,$(wildcard exercises/[0-9]*/exercise.cpp))
GRADED := $(BUILD)/grade
OF_GRADER := $(call OBJECTS,$(addprefix src/school/grade/,case.cpp complaint.cpp verdict.cpp grade.cpp) $(ANSWER) \
	cpu_reference.cpp src/lab/gpu/sensors.cpp src/try/guarded_kernel.cpp src/show/pictures/block_requests.cpp src/show/pictures/recorded_gpus.cpp \
	$(call OF,model text $(addprefix simulator/,machine host trace) lab show/report) $(filter src/simulator/guard/%,$(FOR_USERS))) $(THE_GPU)
$(GRADED)/grader.o: $(OF_GRADER)
$(GRADED)/inspect.o: $(filter-out $(OF_GRADER),$(call OBJECTS,src/school/grade/inspect.cpp src/try/show.cpp \
	$(filter-out src/cli/% src/cluster/% src/experiments/% src/profile/%,$(SOURCES))))
$(GRADED)/grader.o $(GRADED)/inspect.o: $(BUILD)/link.flags
	mkdir -p $(@D)
	echo 'SECTIONS { $(foreach all,.text .rodata .data.rel.ro .data .bss .gcc_except_table,$(all) : { *($(all) $(all).*) }) }' > $(NEW).script
	ld -r -x --force-group-allocation -T $(NEW).script $(filter %.o,$^) -o $(NEW)
	readelf -sW $(NEW) | awk '$$5 == "UNIQUE" { print $$8 }' > $(NEW).script
	objcopy --weaken-symbols=$(NEW).script $(NEW) && mv -f $(NEW) $@ && rm $(NEW).script
$(GRADED)/assemble: $(call OBJECTS,src/school/grade/assemble.cpp $(ANSWER) $(filter src/text/%,$(SOURCES)))
$(GRADED)/similar: $(call OBJECTS,src/school/grade/similar.cpp $(ANSWER) $(filter src/text/%,$(SOURCES)))
TOOLS += $(GRADED)/assemble $(GRADED)/similar
# An uninitialized variable must not be 0 by luck (g++ 12 and later).
NOT_ZERO := $(if $(filter-out 11,$(COMPILER)),-ftrivial-auto-var-init=pattern)
# The headers that every answer includes, precompiled. A thread has at most 512 KB of local memory.
GRADE_AS_CPU = $(NOT_ZERO) $(subst src/simulator/cuda/cpu.h,$(GRADED)/cpu.h,$(filter-out -Werror,$(AS_CPU))) \
	-Wno-unused-parameter -Wno-unused-variable -Wno-unused-but-set-variable \
	-Werror=frame-larger-than=524288
grade.flags = $(CXX) $(GRADE_AS_CPU) $(TRACED)
$(GRADED)/cpu.h.gch: $(BUILD)/grade.flags | $(ANNOUNCER)
	$(call say,g++,src/simulator/cuda/cpu.h)
	mkdir -p $(@D)
	echo '#include "simulator/cuda/launch.h"' > $(NEW) && mv -f $(NEW) $(GRADED)/cpu.h
	$(CXX) -x c++-header $(filter-out -x c++ -include %/cpu.h,$(GRADE_AS_CPU)) $(TRACED) $(DEPENDENCIES) $(GRADED)/cpu.h -o $(NEW) $(KEEP)
$(GRADED)/environment: $(BUILD)/grade.flags $(BUILD)/link.flags
	mkdir -p $(@D)
	printf '%s\n' 'CXX="$(CXX)"' 'AS_CPU="$(GRADE_AS_CPU) $(TRACED)"' 'COUNTED="$(COUNTED)"' \
		'LIBRARIES="$(LIBRARIES)"' 'EXERCISE_OBJECTS="$(or $(HARDENED),$(BUILD))/exercises"' > $(NEW) && mv -f $(NEW) $@
GRADE_PARTS := $(ANNOUNCER) $(addprefix $(GRADED)/,grader.o assemble cpu.h.gch environment)
ALL_GRADE_PARTS := $(GRADE_PARTS) $(GRADED)/inspect.o $(GRADED)/similar $(call OBJECTS,$(EXERCISES:%=exercises/%/exercise.cpp))
grader: $(ALL_GRADE_PARTS) $(BUILD)/src/school/grade/ladder.o $(BUILD)/src/school/grade/index_mutants.o $(firstword $(OWN_COPIES))
test-parts: grader

# The user's settings that the scripts read, in addition to those that make exports itself.
GRADE = BUILD='$(BUILD)' RECORD=answers/grades.csv
grade: ## grade your answer to an exercise (EX=n; EX= grades all that you have begun)
# make calls an answer that does not pass an error of its own. To a student that would look like a crash.
NOT_PASSED := (Not passed yet. make calls that an error:)
# To begin an exercise, nothing is built; to grade one, only this exercise.
ASKED_FOR := $(if $(EX),$(filter $(EX) $(EX)-% 0$(EX)-% %-$(EX),$(EXERCISES)),$(EXERCISES))
ANSWERED := $(foreach one,$(ASKED_FOR),$(if $(FILE)$(wildcard answers/$(one).*),$(one)))
grade $(if $(EX),show step debug): $(if $(ANSWERED),$(GRADE_PARTS) $(if $(filter grade,$(MAKECMDGOALS)),,$(GRADED)/inspect.o) $(call OBJECTS,$(ANSWERED:%=exercises/%/exercise.cpp)))
	$(GRADE) $(if $(filter-out grade,$@),INSPECT=$@ INSPECT_FLAGS="$$TRY_FLAGS $(FLAGS)") src/school/grade/grade.sh "$$EX" "$$FILE" || \
		{ code=$$?; [[ $$code != [1456] ]] || echo '$(NOT_PASSED)' >&2; exit $$code; }
grade-class: $(ALL_GRADE_PARTS) ## grade the folders of a class (DIR=d; exercises/TEACHING.md)
	BUILD='$(BUILD)' src/school/grade/grade_class.sh
check-exercises: grader ## whether solutions pass, and wrong answers fail with their hints (EX=n)
	src/school/grade/check.sh $(BUILD) $$EX

TIMED := $(if $(EX),$(ASKED_FOR))
$(GRADED)/time: $(BUILD)/src/school/grade/time.o $(GPU_PARTS) $(INSTRUMENT) $(GRADED)/assemble FORCE
	$(GRADED)/assemble exercises/$(TIMED)/kernel.cu "$${FILE:-answers/$(TIMED).cu}" > $@.cu
	$(NVCC) $(TRY_NVCCFLAGS) -Xptxas -v -c $@.cu -o $@.kernel.o 2> $@.log || { cat $@.log >&2; exit 1; }
	sed -n 's/.*: Used \([0-9]* registers\).*/\1 per thread, as nvcc compiles it/p' $@.log
	$(CXX) $(filter %.o %.a,$^) $@.kernel.o $(LIBRARIES) -o $(NEW) && mv -f $(NEW) $@
time: $(if $(and $(HAS_GPU),$(TIMED)),$(GRADED)/time) ## time an answer's kernel on the GPU, at 4096^3 (EX=15)
	$(if $(TIMED),,echo "which exercise? make time EX=15" >&2; exit 2;) \
		$(if $(HAS_GPU),$<,echo "the time needs nvcc and a GPU" >&2; exit 2)
.PHONY: grader grade grade-class check-exercises time
