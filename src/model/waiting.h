// How fast a kernel is if its blocks also wait: the simplest model that predicts how busy each unit
// is.
//
// A block goes round a circle: it issues instructions, waits for shared memory, waits for global
// memory, and waits at its barriers. While it waits, the other resident blocks of the SM use the
// units, and two blocks that want the same unit queue for it. With few resident blocks the units
// are idle while all blocks wait: that is latency. With many, one unit is always busy: then the
// speed is the ceiling's.
//
// This is mean value analysis of a closed queueing network (Reiser and Lavenberg, 1980): a block
// that joins n - 1 others finds at each unit the queue that those n - 1 leave there on average. The
// customers are blocks, because barriers keep the warps of a block together. L1 and shared memory
// have one queue, because they share one data stage.
//
// Three things shorten a wait. Instructions between a load and the first use of its result run
// meanwhile. So do the other warps of the block, while one waits for shared memory. And cp.async
// with several tiles in flight copies while the block multiplies.
//
// A barrier makes a block wait for the slowest of its loads. Blocks that run together need the same
// parts of A and B at about the same time, so the slowest load waits for DRAM, unless A and B fit
// in the L2 cache. Without barriers a warp waits for the slowest of the few loads that are under
// way together, and often all of them find their line in L1. The other warps of its block need the
// same lines and wait with it.
//
// Two things cost time although no result is missing. The compiler makes a warp wait between its
// instructions, usually because the next one needs the result of the one before; meanwhile the
// scheduler's other warps issue, if there are any. And an instruction waits while the banks of the
// register file read its operands; then no warp issues. Both are read from the machine code
// (sass_mix.awk).
//
// The L2 cache and DRAM serve all SMs at once. So they bound the speed of all blocks together, but
// a block queues only for its SM's port to the L2 cache.
//
// Limits. Only the main loop counts, as in ceiling.h. The instruction cache, the queues inside the
// memory, and the rush for shared memory after a barrier are not in the model. Nothing in it was
// fitted: latencies were measured one by one, and the rest is counted. For the kernels that issue
// in most cycles it says 6 to 8 points more than ncu. src/model/waiting_tests.cpp compares it with
// ncu.
#pragma once

#include <array>
#include <optional>

#include "model/ceiling.h"
#include "model/compiled_kernel.h"
#include "model/gpus.h"
#include "model/occupancy.h"

namespace model {

// Cycles between an operation and the next one that needs its result.
struct Latencies {
  double smem;
  double l1;
  double l2;
  double dram;
  double barrier;
};

// As `make latency` measured them on an H200 (results/h200-latency.txt). Other GPUs of the table
// have not been measured and take these.
Latencies latencies();

struct Waiting {
  double tflops;
  std::array<double, kUnits> busy;  // share of the time, by UnitIndex
  UnitIndex busiest;
  int resident_blocks;         // of one SM
  double warps_per_scheduler;  // resident
  // How a block spends its time: the shares add up to 1.
  double issuing;  // or queueing for the schedulers, or between two instructions
  double waiting_for_smem;
  double waiting_for_gmem;
  double at_barriers;
};

// Requires the ceiling of the same kernel, as compiled. Nothing if no block fits.
std::optional<Waiting> with_waiting(
    const Gpu& gpu, const Product& product, const Variant& variant, const Ceiling& ceiling,
    const CompiledKernel& record, const Occupancy& occupancy);

// `busy` of all SMs on average, as a profiler counts it: in the last wave some have no block. The
// L2 cache and DRAM belong to all.
std::array<double, kUnits> busy_on_average(const Waiting& waiting, const Ceiling& ceiling);

}  // namespace model
