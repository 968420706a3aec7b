# g++ starts this as its assembler when it compiles a traced kernel: see as.cpp.
ANNOUNCER := $(BUILD)/announce/as
TRACED += -B$(dir $(ANNOUNCER)) $(if $(filter x86_64%,$(shell $(CXX) -dumpmachine)),-mno-red-zone)
$(ANNOUNCER): $(call OBJECTS,$(addprefix src/announce/,as.cpp pass.cpp instruction.cpp))
	mkdir -p $(@D)
	$(CXX) $^ -o $@
