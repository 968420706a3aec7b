# g++ starts its assembler through this program when it compiles a traced kernel: see wrapper.cpp.
ANNOUNCER := $(BUILD)/announce/wrapper
TOOLS += $(ANNOUNCER)
ANNOUNCES := $(call OBJECTS,$(addprefix src/simulator/announce/,wrapper.cpp pass.cpp))
$(ANNOUNCER): $(ANNOUNCES)
