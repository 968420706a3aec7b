// In addition to simulator.h, for running users' whole programs, as make try does: the calls of
// CUDA functions that they make, their streams and memory, and the threads of a block.
#pragma once

#include "simulator/host/call.h"
#include "simulator/host/memory.h"
#include "simulator/host/stream.h"
#include "simulator/machine/observer.h"
#include "simulator/machine/worker.h"
#include "simulator/rewrite/adapted.h"
#include "simulator/simulator.h"
