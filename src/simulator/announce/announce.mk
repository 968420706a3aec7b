# g++ starts its assembler through this program when it compiles a traced kernel: see wrapper.cpp.
ANNOUNCER := $(BUILD)/announce/wrapper
TRACED += -wrapper $(ANNOUNCER) $(if $(filter x86_64%,$(shell $(CXX) -dumpmachine)),-mno-red-zone)
$(ANNOUNCER): $(call OBJECTS,$(addprefix src/simulator/announce/,wrapper.cpp pass.cpp))
	mkdir -p $(@D)
	$(CXX) $^ -o $(NEW) && mv -f $(NEW) $@
