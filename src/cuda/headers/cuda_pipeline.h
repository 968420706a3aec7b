// Stands for the toolkit's header where there is no toolkit: src/cuda/cpu.h is included already.
#pragma once
