format: ## lay out every C++ and CUDA file as .clang-format says
	git ls-files -z '*.h' '*.cpp' '*.cu' | xargs -0 clang-format -i
check-format: ## whether every C++ and CUDA file is laid out as .clang-format says (clang-format 14)
	src/testing/check_format.sh

# Two rooms that give one name two meanings: the compiler sees it when it links all of them at once.
check-odr: ## whether a name means the same thing everywhere (link-time analysis)
	src/testing/check_odr.sh $(BUILD) '$(CXX) $(CXXFLAGS) -DSOURCE_FOLDER=""' $(SOURCES) $(wildcard src/try/*.cpp) \
		$(addprefix src/grade/,case.cpp complaint.cpp verdict.cpp region.cpp kernel_rules.cpp tokens.cpp lines.cpp \
			answers.cpp inspect.cpp grade.cpp) \
		$(firstword $(wildcard exercises/*/exercise.cpp))
.PHONY: format check-format check-odr
