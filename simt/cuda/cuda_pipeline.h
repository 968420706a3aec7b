// Stands for the toolkit's header where there is no toolkit: simt/cpu.h is included already.
#pragma once
