# A user's file goes through this program between the preprocessor and the compiler.
REWRITER := $(BUILD)/rewrite/rewriter
$(REWRITER): $(call OBJECTS,$(filter-out %_tests.cpp,$(wildcard src/simulator/rewrite/*.cpp)))
	mkdir -p $(@D)
	$(CXX) $^ -o $(NEW) && mv -f $(NEW) $@
