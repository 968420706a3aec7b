// Replaces the toolkit's header in builds without the toolkit. src/cuda/cpu.h, which is already
// included, has its contents.
#pragma once
