// src/cuda/cpu.h, which is already included, has its contents.
#pragma once
