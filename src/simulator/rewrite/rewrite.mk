# A user's file goes through this program between the preprocessor and the compiler.
REWRITER := $(BUILD)/rewrite/rewriter
TOOLS += $(REWRITER)
REWRITES := $(call OBJECTS,$(filter-out %_tests.cpp,$(wildcard src/simulator/rewrite/*.cpp)))
$(REWRITER): $(REWRITES)
