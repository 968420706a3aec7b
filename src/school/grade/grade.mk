# A student's answer is compiled by grade.sh each time; all else of the grader is linked beforehand.
EXERCISES := $(patsubst exercises/%/exercise.cpp,%,$(wildcard exercises/[0-9]*/exercise.cpp))
GRADED := $(BUILD)/grade
$(GRADED)/grader.o: $(call OBJECTS,$(addprefix src/school/grade/,case.cpp complaint.cpp verdict.cpp \
		answer.cpp kernel_rules.cpp inspect.cpp grade.cpp) $(filter-out src/cli/% src/cluster/% src/lab/experiments/% src/lab/profile/%,$(SOURCES) $(FOR_USERS))) \
		$(HARNESS) $(THE_GPU) $(BUILD)/link.flags
	mkdir -p $(@D)
	ld -r $(filter %.o,$^) -o $(NEW) && mv -f $(NEW) $@
$(GRADED)/assemble: $(call OBJECTS,src/school/grade/assemble.cpp $(ANSWER) $(filter src/text/%,$(SOURCES)))
$(GRADED)/similar: $(call OBJECTS,src/school/grade/similar.cpp)
$(GRADED)/assemble $(GRADED)/similar:
	mkdir -p $(@D)
	$(CXX) $^ -o $(NEW) && mv -f $(NEW) $@
# What a variable holds before it is set must not be 0 by luck (g++ 12 and later).
NOT_ZERO := -ftrivial-auto-var-init=pattern
IF_KNOWN = $(shell $(CXX) $(1) -x c++ -fsyntax-only - < /dev/null > /dev/null 2>&1 && echo $(1))
# The headers that every answer includes, compiled beforehand.
GRADE_AS_CPU = $(call IF_KNOWN,$(NOT_ZERO)) $(subst src/simulator/cuda/cpu.h,$(GRADED)/cpu.h,$(filter-out -Werror,$(AS_CPU))) \
	-Wno-unused-parameter -Wno-unused-variable -Wno-unused-but-set-variable
grade.flags = $(CXX) $(GRADE_AS_CPU) $(TRACED)
$(GRADED)/cpu.h.gch: $(wildcard src/simulator/cuda/*.h) $(BUILD)/grade.flags | $(ANNOUNCER)
	$(call say,g++,src/simulator/cuda/cpu.h)
	mkdir -p $(@D)
	echo '#include "simulator/cuda/cpu.h"' > $(NEW) && mv -f $(NEW) $(GRADED)/cpu.h
	$(CXX) -x c++-header $(filter-out -x c++ -include %/cpu.h,$(GRADE_AS_CPU)) $(TRACED) $(GRADED)/cpu.h -o $(NEW) && mv -f $(NEW) $@
$(GRADED)/environment: $(BUILD)/grade.flags
	mkdir -p $(@D)
	printf '%s\n' 'CXX="$(CXX)"' 'AS_CPU="$(GRADE_AS_CPU) $(TRACED)"' 'COUNTED="$(COUNTED)"' \
		'LIBRARIES="-fopenmp $(LIBRARIES)"' 'EXERCISE_OBJECTS="$(or $(HARDENED),$(BUILD))/exercises"' > $(NEW) && mv -f $(NEW) $@
GRADE_PARTS := $(ANNOUNCER) $(addprefix $(GRADED)/,grader.o assemble cpu.h.gch environment) \
	$(call OBJECTS,$(EXERCISES:%=exercises/%/exercise.cpp))
grader: $(GRADE_PARTS) $(GRADED)/similar $(BUILD)/src/school/grade/ladder.o $(BUILD)/src/school/grade/index_mutants.o $(BUILD)/gemm_steps_traced.o
test-parts: grader

# What the scripts read of what was asked for, beside what make hands them by itself.
GRADE = BUILD='$(BUILD)' RECORD=answers/grades.csv
# A verdict is an exit code, but not an error of make: "make: *** Error 1" after it would look like a
# crash. With -q, make exits with 1 and prints nothing if something is out of date. These goals are
# made that way. A line with a + runs all the same: it builds what is needed, by a make without -q,
# and grades. If the answer does not pass, the line after it counts as out of date. (In another
# make's recipe it runs, and fails.)
JUDGED := grade $(if $(EX),show step debug)
FLAG_LETTERS = $(firstword -$(MAKEFLAGS))
ifeq ($(MAKELEVEL)$(findstring n,$(FLAG_LETTERS)),0)
ifneq ($(filter $(JUDGED),$(MAKECMDGOALS)),)
ifeq ($(filter-out $(JUDGED),$(MAKECMDGOALS)),)
MAKEFLAGS += -q
endif
endif
endif
ASKED_Q = $(findstring q,$(FLAG_LETTERS))
VERDICT = $(GRADED)/verdict.$(MAKE_PID).$*
grade: ## grade your answer to an exercise (EX=n; EX= grades all that you have begun)
$(JUDGED): %: %-judged
	$(eval CODE := $(or $(shell cat $(VERDICT) 2> /dev/null; rm -f $(VERDICT)),1))$(if $(filter-out 0,$(CODE)),exit $(CODE))
$(JUDGED:=-judged): %-judged:
	$(if $(ASKED_Q),+MAKEFLAGS="$${MAKEFLAGS/q/}") $(MAKE) --no-print-directory grade-parts
	$(if $(ASKED_Q),+)$(GRADE) $(if $(filter-out grade,$*),INSPECT=$* INSPECT_FLAGS="$$TRY_FLAGS $(FLAGS)") \
		src/school/grade/grade.sh "$$EX" "$$FILE"; echo $$? > $(VERDICT)
grade-parts: $(GRADE_PARTS)
grade-class: $(GRADE_PARTS) $(GRADED)/similar ## grade the folders of a class (DIR=d; exercises/TEACHING.md)
	BUILD='$(BUILD)' src/school/grade/grade_class.sh
check-exercises: grader ## whether solutions pass, and wrong answers fail with their hints (EX=n)
	GEMM_STEPS_TEST_ALL=1 src/school/grade/check.sh $(BUILD) $$EX

TIMED := $(if $(EX),$(filter $(EX) $(EX)-% 0$(EX)-%,$(EXERCISES)))
$(GRADED)/time: $(BUILD)/src/school/grade/time.o $(GPU_PARTS) $(INSTRUMENT) $(GRADED)/assemble FORCE
	$(GRADED)/assemble exercises/$(TIMED)/kernel.cu "$${FILE:-answers/$(TIMED).cu}" > $@.cu
	$(NVCC) $(TRY_NVCCFLAGS) -Xptxas -v -c $@.cu -o $@.kernel.o 2> $@.log || { cat $@.log >&2; exit 1; }
	sed -n 's/.*: Used \([0-9]* registers\).*/\1 per thread, as nvcc compiles it/p' $@.log
	$(CXX) -fopenmp $(filter %.o %.a,$^) $@.kernel.o $(LIBRARIES) -o $(NEW) && mv -f $(NEW) $@
time: $(if $(and $(HAS_GPU),$(TIMED)),$(GRADED)/time) ## time an answer's kernel on the GPU, at 4096^3 (EX=15)
	$(if $(TIMED),,echo "which exercise? make time EX=15" >&2; exit 2;) \
		$(if $(HAS_GPU),$<,echo "the time needs nvcc and a GPU" >&2; exit 2)
.PHONY: grader grade grade-parts $(JUDGED:=-judged) grade-class check-exercises time
