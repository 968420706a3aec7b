TESTS := $(call OBJECTS,tests.cpp src/testing/browser.cpp src/testing/pattern.cpp $(filter %_tests.cpp,$(EVERY_FILE)) $(ANSWER))
PROGRAMS += $(BUILD)/tests
$(BUILD)/tests: $(TESTS) $(WITHOUT_MAIN) $(COPIES) $(FOR_ALL)
test: ## build and run the tests (TEST_FLAGS=... for doctest)
test-all: ## run the tests, with every stage on every random shape (slower)
test test-all: deps
	+$(MAKE) --no-print-directory $(PROGRAM) $(BUILD)/tests test-parts
	GEMM_STEPS=./$(PROGRAM) $(if $(filter test-all,$@),GEMM_STEPS_TEST_ALL=1) \
		src/testing/run.sh $(BUILD)/tests $(TEST_FLAGS)

# Tests may also include doctest, where make deps unpacked it, and the toolkit's headers: the tests
# of model/ compare it with cuda_occupancy.h.
WITH_DOCTEST := $(BUILD)/src/testing/standard_with_doctest.h
OF_TESTS := -O0 -isystem build/deps/usr/include $(addprefix -isystem ,$(wildcard $(CUDA)/include))
%_tests.o %/testing/browser.o $(BUILD)/tests.o $(WITH_DOCTEST).gch: private CXXFLAGS += $(OF_TESTS)
%_tests.o %/testing/browser.o: private HEADERS = $(WITH_DOCTEST)
$(BUILD)/tests.o: private HEADERS :=
$(filter $(BUILD)/%_tests.o %/testing/browser.o,$(TESTS)): | $(WITH_DOCTEST).gch
%/testing/pattern.o: private CXXFLAGS += -O2
%/testing/pattern.o: private HEADERS :=

# Hardening changes jumps between stacks, what touches a stack, and copies of memory: the rooms that run
# kernels, the kernels of their tests, and answers. All other files are those of the plain build.
NOT_HARDENED := $(subst $(eval ) ,$(comma),$(patsubst %,*/%/*,announce bench book cli cluster cuda experiments flags host lab lesson model page pictures profile report \
	rewrite step testing text try) tests.cpp */grade/answer_tests.cpp */grade/class_tests.cpp)
test-hardened: ## run the tests of what runs kernels with the hardening flags that distributions use
	+$(MAKE) --no-print-directory NVCC= $(PROGRAM) $(BUILD)/tests
	+GEMM_STEPS_TEST_BUT='$(NOT_HARDENED)' $(MAKE) --no-print-directory test BUILD=build/hardened HARDENED=build NVCC= \
		EXTRA_CXXFLAGS="-D_FORTIFY_SOURCE=3 -fcf-protection -fstack-clash-protection"

# The parsers are compiled with sanitizers; the other code that they need is not.
FUZZED := $(filter-out %_tests.cpp,$(wildcard src/text/*.cpp src/flags/*.cpp)) src/model/stage.cpp \
	src/lab/npy.cpp src/profile/ncu.cpp src/show/step/navigation.cpp $(ANSWER) \
	src/testing/fuzz_main.cpp $(filter-out src/simulator/rewrite/rewriter.cpp %_tests.cpp,$(wildcard src/simulator/rewrite/*.cpp src/simulator/machine/ptx/*.cpp)) \
	$(if $(findstring fuzz,$(MAKECMDGOALS)),$(shell grep -l testing/fuzz.h src/*/*_tests.cpp src/*/*/*_tests.cpp src/*/*/*/*_tests.cpp))
SANITIZED := -g -fsanitize=address,undefined -fno-sanitize-recover=all
$(BUILD)/fuzz/%.o: %.cpp $(BUILD)/host.flags
	$(call say,g++,$< (sanitized))
	mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) $(subst -O0,,$(OF_TESTS)) $(SANITIZED) $(DEPENDENCIES) -c $< -o $(NEW) $(KEEP)
PROGRAMS += $(BUILD)/fuzz/parsers
$(BUILD)/fuzz/parsers: $(FUZZED:%.cpp=$(BUILD)/fuzz/%.o) $(THE_GPU) $(FOR_ALL)
$(BUILD)/fuzz/parsers: private LIBRARIES += $(SANITIZED)
fuzz: $(BUILD)/fuzz/parsers ## try every parser with random inputs, under sanitizers (INPUTS=1000000)
	GEMM_STEPS_FUZZ=$(or $(INPUTS),100000) $< -tc='any*,whatever*'

# A difference is read before it is committed. A file that nothing writes any more is removed.
goldens: $(PROGRAM) $(BUILD)/tests test-parts ## write the outputs that tests compare as text (src/testing/golden/)
	rm -rf src/testing/golden && mkdir src/testing/golden
	GEMM_STEPS_WRITES_GOLDENS=1 GEMM_STEPS=./$(PROGRAM) COLUMNS=100 $(BUILD)/tests -tc='*golden file*'

deps: ## install missing packages, or name them
	src/testing/deps.sh doctest

format: ## format every C++ and CUDA file as .clang-format says
	git ls-files -z '*.h' '*.cpp' '*.cu' | xargs -0 clang-format -i
check-format: ## check that every C++ and CUDA file is formatted (clang-format 14)
	src/testing/check_format.sh

# Finds a name with two meanings in two rooms: the compiler reads all rooms as one source, where a second
# definition is an error. (The standard headers are precompiled; main is renamed, and asm is what it was.)
ODR_FILES = $(SOURCES) $(FOR_USERS) $(filter-out %_tests.cpp,$(wildcard src/try/*.cpp)) $(ANSWER) \
	$(addprefix src/school/grade/,case.cpp complaint.cpp verdict.cpp inspect.cpp grade.cpp) $(firstword $(wildcard exercises/*/exercise.cpp))
SIMULATOR_FIRST = $(filter src/simulator/%,$(ODR_FILES)) $(filter-out src/simulator/%,$(ODR_FILES))
check-odr: | $(BUILD)/src/standard.h.gch ## check that every name means the same thing everywhere
	printf '%s\n' $(SIMULATOR_FIRST) | awk '{ print "#undef main\n#undef asm\n#define main main_" NR "\n#include \"" $$0 "\"" }' | \
		$(CXX) $(CXXFLAGS) $(MPI_FLAGS) -DSOURCE_FOLDER='""' -w -include $(BUILD)/src/standard.h -x c++ -fsyntax-only -
.PHONY: test test-all test-parts test-hardened fuzz goldens deps format check-format check-odr
