// What the program says of each stage besides its kernel: the idea in one or two sentences, what a
// thread does as formulas, and what a reader is asked after the chapter. gemm_steps.cu has a table
// of the stages, and each of its entries names one of these lessons.
#pragma once

#include "model/stage.h"

namespace lesson {

const model::Lesson kSerial{
    .idea = "The triple loop, as everyone first writes it, on one CPU core."};

const model::Lesson kNaive{
    .idea =
        "A thread for every element of C. A warp walks down a column, so each of its lanes loads A "
        "from a row of its own.",
    .predicted =
        {.gmem_loads = "2*K + reads_C", .gmem_floats = "2*K + reads_C", .gmem_stores = "1"},
    .questions = {
        {"How many bytes do all threads load together?", "M*N*2*K*4", "bytes",
         "Every thread loads a row of A and a column of B, so that an element of A is loaded N "
         "times and one of B M times."},
        {"How many of the floats in the sectors of one load of A does a warp use, in percent?",
         "100*32/(32*8)", "%",
         "32 rows are 32 sectors of 8 floats each, and one float of each is wanted.",
         model::kOf32Lanes}}};

const model::Lesson kCoalesced{
    .idea = "Neighbouring threads read neighbouring addresses: a warp walks along a row of C.",
    .predicted = kNaive.predicted,
    .questions = {
        {"How many sectors do the two loads of one step of k take together?", "2*sectors",
         "sectors",
         "One for A, which all lanes read at the same address, and four for 32 neighbours of B.",
         model::kOf32Lanes},
        {"By how many did the loads per thread fall?", "0", "loads",
         "By none: 2K as before. What changed is which lanes ask for neighbours, and so the "
         "sectors per request."}}};

const model::Lesson kSharedMemoryTiling{
    .idea =
        "The threads of a block fetch a tile of A and of B together, and multiply from shared "
        "memory.",
    .predicted =
        {.gmem_loads = "ceil(K/BK)*BK*(BM + BN)/threads + TM*TN*reads_C",
         .gmem_floats = "ceil(K/BK)*BK*(BM + BN)/threads + TM*TN*reads_C",
         .smem_loads = "ceil(K/BK)*BK*(TM + TN)",
         .smem_floats = "ceil(K/BK)*BK*(TM + TN)",
         .gmem_stores = "TM*TN",
         .smem_stores = "ceil(K/BK)*BK*(BM + BN)/threads"},
    .questions = {
        {"How often is an element of A loaded from global memory now?", "ceil(N/BN)", "times",
         "Once per block in its row of tiles, and no longer once per column of C."},
        {"How many barriers does a block pass on its way along K?", "2*ceil(K/BK)", "barriers",
         "Two per tile: one until it is complete, one until no thread needs it any more."}}};

const model::Lesson kThreadCoarsening1d{
    .idea =
        "A thread computes TM results in a column, and an element of B in a register serves all of "
        "them.",
    .predicted = kSharedMemoryTiling.predicted,
    .questions = {
        {"How many loads from shared memory does one product cost now?", "(TM + TN)/(TM*TN)",
         "loads", "TM of A and one of B serve TM products; the previous stage needed two for one."},
        {"Why not make TM larger and larger? How many registers do the results take at TM = 64?",
         "64*TN", "registers",
         "Every result is a register. A block soon needs too many of them, and an SM then holds "
         "fewer blocks."}}};

const model::Lesson kThreadTiling2d{
    .idea = "A thread computes TM x TN results from TM + TN elements in registers.",
    .predicted = kSharedMemoryTiling.predicted,
    .questions = {
        {"How many products does a thread make per float that it loads from shared memory?",
         "TM*TN/(TM + TN)", "products per float",
         "TM + TN floats make TM x TN products: half the perimeter and the area."},
        {"How many wavefronts does a load from shared memory take on average, and why not one?",
         "wavefronts", "wavefronts",
         "Neighbouring lanes want words TN apart, so several of them are in one bank."}}};

const model::Lesson kVectorized{
    .idea =
        "One instruction moves four floats wherever data moves; A's tile is transposed as it is "
        "stored.",
    .predicted =
        {.gmem_loads = "(ceil(K/BK)*BK*(BM + BN)/threads + TM*TN*reads_C)/vec",
         .gmem_floats = "ceil(K/BK)*BK*(BM + BN)/threads + TM*TN*reads_C",
         .smem_loads = "ceil(K/BK)*BK*(TM + TN)/4",
         .smem_floats = "ceil(K/BK)*BK*(TM + TN)",
         .gmem_stores = "TM*TN/vec",
         .smem_stores = "ceil(K/BK)*BK*(BM + BN/4)/threads"},
    .questions = {
        {"How many instructions store a thread's results to C?", "TM*TN/vec", "stores",
         "A float4 is four results; the previous stage stored each alone."},
        {"How many wavefronts does a 16-byte load of a full warp take at best?", "32*16/128",
         "wavefronts",
         "A wavefront delivers at most 32 banks of 4 bytes, so 512 bytes take four; fewer only if "
         "lanes want the same words.",
         model::kOf32Lanes}}};

const model::Lesson kConflictFree{
    .idea =
        "A thread's results come in squares of 4 x 4 and As is padded, so that no two lanes want "
        "different words of a bank.",
    .predicted = kVectorized.predicted,
    .conflict_free = true,
    .questions = {
        {"How many bank conflicts are left?", "conflicts", "conflicts",
         "Squares of 4 x 4 put the lanes' float4 side by side, and a padded row starts in another "
         "bank than the one before."},
        {"How many bytes does the padding of As cost, with 4 floats per row?", "BK*4*4", "bytes",
         "One float4 after each of BK rows, which is little compared with BK rows of BM floats."}}};

const model::Lesson kWarpTiling{
    .idea =
        "A warp computes its own tile, a lane 16 x 8 results, and neighbouring lanes ask shared "
        "memory for the same float4.",
    .predicted = kVectorized.predicted,
    .conflict_free = true,
    .questions = {
        {"How many threads does a block have now?", "threads", "threads",
         "Half as many as before, each with a larger tile: more products per float from shared "
         "memory."},
        {"How many products does it make per float from shared memory, where it was 4?",
         "TM*TN/(TM + TN)", "products per float",
         "A thread's tile is no longer square, but larger than 8 x 8, which makes 4 per float."}}};

const model::Lesson kAsyncPipeline{
    .idea = "While one tile is multiplied, cp.async copies the next ones to shared memory.",
    .predicted =
        {.gmem_loads = "ceil(K/BK)*BK*(BM + BN/vec)/threads + TM*TN*reads_C/vec",
         .gmem_floats = "ceil(K/BK)*BK*(BM + BN)/threads + TM*TN*reads_C",
         .smem_loads = "ceil(K/BK)*BK*(TM + TN)/4",
         .smem_floats = "ceil(K/BK)*BK*(TM + TN)",
         .gmem_stores = "TM*TN/vec",
         .smem_stores = "ceil(K/BK)*BK*(BM + BN/vec)/threads",
         .async_copies = "ceil(K/BK)*BK*(BM + BN/vec)/threads"},
    .conflict_free = true,
    .questions = {
        {"How many warps does an SM hold, and why is that enough?", "warps_per_sm", "warps",
         "Other warps no longer hide the latency of global memory; the tiles in flight do."},
        {"How many bytes are in flight while a tile is multiplied?", "pipeline*BK*(BM + BN)*4",
         "bytes", "A tile of A and one of B for each stage in flight, per block."}}};

const model::Lesson kRegisterPipeline{
    .idea =
        "The floats of the next step come to registers while those of this step are multiplied, "
        "back and forth along the rows.",
    .predicted = kAsyncPipeline.predicted,
    .conflict_free = true,
    .questions = {
        {"How many registers do the fragments of A and B take now?", "2*(TM + TN)", "registers",
         "Two steps are in registers at a time, one being multiplied and one being loaded; before "
         "it was one."},
        {"How many loads from shared memory did that save?", "0", "loads",
         "None: every fragment is loaded once, as before, but one step earlier."}}};

const model::Lesson kBalanced{
    .idea =
        "The tiles of the last wave of blocks are cut along K, and SMs that would idle take the "
        "slices.",
    // As in stage 9, but for `depth` K tiles. If all tiles are cut, it is thread 0 of a block that
    // adds up `adds` slices: `cuts` is 1 then, for the sums it stores, the counter and `before`.
    .predicted =
        {.gmem_loads = "depth*BK*(BM + BN/vec)/threads + adds*TM*TN/4 + TM*TN*reads_C/vec + cuts",
         .gmem_floats = "depth*BK*(BM + BN)/threads + adds*TM*TN + TM*TN*reads_C + cuts",
         .smem_loads = "depth*BK*(TM + TN)/4 + cuts",
         .smem_floats = "depth*BK*(TM + TN) + cuts",
         .gmem_stores = "(1 + cuts)*TM*TN/vec + cuts",
         .smem_stores = "depth*BK*(BM + BN/vec)/threads + cuts",
         .async_copies = "depth*BK*(BM + BN/vec)/threads"},
    .conflict_free = true,
    .questions = {
        {"How many blocks does the launch have?", "blocks", "blocks",
         "C has ceil(M/BM) * ceil(N/BN) tiles, and a tile that is cut has a block for each slice."},
        {"How many floats does a cut tile's sum pass through memory, per slice?", "BM*BN", "floats",
         "Each slice stores a sum for every element of the tile, and the last block to arrive "
         "loads all of them."}}};

const model::Lesson kTensorCores{
    .idea = "One instruction of a warp multiplies a 16 x 8 by an 8 x 8 matrix of tf32.",
    // A step of 8 along K takes TM/2 float4 of A and TN/4 of B.
    .predicted =
        {.gmem_loads = kAsyncPipeline.predicted.gmem_loads,
         .gmem_floats = kAsyncPipeline.predicted.gmem_floats,
         .smem_loads = "ceil(K/BK)*BK/8*(TM/2 + TN/4)",
         .smem_floats = "ceil(K/BK)*BK/8*(2*TM + TN)",
         .gmem_stores = kAsyncPipeline.predicted.gmem_stores,
         .smem_stores = kAsyncPipeline.predicted.smem_stores,
         .async_copies = kAsyncPipeline.predicted.async_copies},
    .questions = {
        {"How many multiplications does one mma.m16n8k8 make?", "16*8*8", "multiplications",
         "16 x 8 results with 8 products each; the FFMA of a warp makes one for each of 32 "
         "lanes."},
        {"How many products does a thread make per float from shared memory, where it was "
         "128/24?",
         "WM*WN*8/((WM + WN)*8)", "products per float",
         "A warp loads 8 columns of WM rows and 8 rows of WN columns, each float once, and the "
         "tensor core hands them to all lanes that need them."}}};

const model::Lesson kLdmatrix{
    .idea =
        "Rows of A are copied as they are; ldmatrix spreads them over the lanes from swizzled "
        "tiles.",
    // A step of 8 along K takes WM/16 ldmatrix and WN/16 float4, four floats each.
    .predicted =
        {.gmem_loads = "(ceil(K/BK)*BK*(BM + BN)/threads + TM*TN*reads_C)/vec",
         .gmem_floats = "ceil(K/BK)*BK*(BM + BN)/threads + TM*TN*reads_C",
         .smem_loads = "ceil(K/BK)*BK/8*(WM + WN)/16",
         .smem_floats = "ceil(K/BK)*BK/8*(WM + WN)/4",
         .gmem_stores = "TM*TN/vec",
         .smem_stores = "ceil(K/BK)*BK*(BM + BN)/vec/threads",
         .async_copies = "ceil(K/BK)*BK*(BM + BN)/vec/threads"},
    .conflict_free = true,
    .questions =
        {{"How many copies does a thread start per K tile, instead of stage 12's BK*(BM + "
          "BN/4)/threads?",
          "BK*(BM + BN)/vec/threads", "copies",
          "Both tiles are copied in chunks of 16 bytes: four floats each."},
         {"How many wavefronts would one matrix of ldmatrix take if the tile were not swizzled?",
          "8", "wavefronts",
          "Eight rows of 128 bytes start in the same bank, and it reads the same 16 bytes of each. "
          "Swizzled, these lie in eight different groups of four banks."}},
    .swizzles = {
        {.tile = "A",
         .keys = 8,
         .chunks = {0},
         .rows = 8,
         .read_by = "one matrix of ldmatrix",
         .walk = {2, 4, 6}},
        {.tile = "B",
         .keys = 8,
         .chunks = {0, 4},
         .rows = 4,
         .read_by = "a group of 8 lanes, a float4 each,",
         .walk = {}}}};

const model::Lesson kCopyEngine{
    .idea =
        "One thread has a copy engine fill the ring, box by box, and barriers in shared memory "
        "count the bytes.",
    // One thread also starts all copies: a box of A and BN/32 of B for a K tile.
    .predicted =
        {.gmem_loads = "ceil(K/BK)*(1 + BN/32) + TM*TN*reads_C/vec",
         .gmem_floats = "ceil(K/BK)*BK*(BM + BN) + TM*TN*reads_C",
         .smem_loads = kLdmatrix.predicted.smem_loads,
         .smem_floats = kLdmatrix.predicted.smem_floats,
         .gmem_stores = kLdmatrix.predicted.gmem_stores,
         .smem_stores = "ceil(K/BK)*(1 + BN/32)",
         .async_copies = "ceil(K/BK)*(1 + BN/32)"},
    .conflict_free = true,
    .questions =
        {{"How many instructions of the block copy a K tile of A and B, where every thread made "
          "several?",
          "1 + BN/32", "instructions",
          "A box of A, and one of B for each 32 columns, since a swizzled row of a box has at "
          "most 128 bytes. One thread starts them all."},
         {"For how many bytes does a warp wait before it reads a K tile?", "(BM + BN)*BK*4",
          "bytes", "All bytes of both tiles, also those that the engine fills with zeros."}},
    .swizzles = kLdmatrix.swizzles};

const model::Lesson kWarpgroups{
    .idea =
        "Four warps together multiply 64 x 8 by 8 x 256 elements straight from shared memory, and "
        "go on while the tensor cores work.",
    // A thread loads its fragments of B, two floats at a time. vec is 4 if it can store two.
    .predicted =
        {.gmem_loads = "ceil(K/BK)*(1 + BN/32) + TM*TN*3/(2 + vec)*reads_C",
         .gmem_floats = kCopyEngine.predicted.gmem_floats,
         .smem_loads = "ceil(K/BK)*BK/4",
         .smem_floats = "ceil(K/BK)*BK/2",
         .gmem_stores = "TM*TN*3/(2 + vec)",
         .smem_stores = kCopyEngine.predicted.smem_stores,
         .async_copies = kCopyEngine.predicted.async_copies},
    .conflict_free = true,
    .questions =
        {{"How many multiplications does one wgmma.m64n256k8 make?", "64*256*8", "multiplications",
          "64 x 256 results with 8 products each, for four warps; mma made 1024 for one."},
         {"How many products does a thread make per float that it loads from shared memory?",
          "TM*TN*BK/(BK/2)", "products per float",
          "Its warpgroup has every element of B in the registers of one thread. A is not loaded: "
          "the tensor cores read it in shared memory."}},
    .swizzles = {
        {.tile = "B",
         .keys = 8,
         .chunks = {0, 4},
         .rows = 4,
         .read_by = "a group of 16 lanes, half a chunk each,",
         .walk = {}}}};

const model::Lesson kSpecializedWarps{
    .idea =
        "A block stays on its SM. One warpgroup has the next tiles copied while the others "
        "multiply and store.",
    // In each of `tiles` tiles of C. The thread that starts the copies does nothing else.
    .predicted =
        {.gmem_loads = "tiles*max(ceil(K/BK)*(1 + BN/32), TM*TN*3/(2 + vec)*reads_C)",
         .gmem_floats = "tiles*max(ceil(K/BK)*BK*(BM + BN), TM*TN*reads_C)",
         .smem_loads = "tiles*ceil(K/BK)*BK/4",
         .smem_floats = "tiles*ceil(K/BK)*BK/2",
         .gmem_stores = "tiles*TM*TN*3/(2 + vec)",
         .smem_stores = "tiles*ceil(K/BK)*(1 + BN/32)",
         .async_copies = "tiles*ceil(K/BK)*(1 + BN/32)"},
    .conflict_free = true,
    .questions =
        {{"How many threads of the block multiply?", "threads - 128", "threads",
          "The first warpgroup only starts copies, and gives most of its registers to the others."},
         {"How many registers could each thread have if all had equally many, and none moved?",
          "168", "registers",
          "65,536 registers for 12 warps, in steps of 8 per thread. 128 of them are sums, so the "
          "fragments of two tiles, addresses and counters would hardly fit."}},
    .swizzles = kWarpgroups.swizzles};

const model::Lesson kTf32Parts{
    .idea =
        "Every float is split into two tf32 numbers, and three products of the tensor cores "
        "make one of fp32.",
    // As before, and three warps load A and store its low parts, four floats at a time.
    .predicted =
        {.gmem_loads = kSpecializedWarps.predicted.gmem_loads,
         .gmem_floats = kSpecializedWarps.predicted.gmem_floats,
         .smem_loads = "tiles*ceil(K/BK)*max(ceil(BM*BK/4/96), BK/4)",
         .smem_floats = "tiles*ceil(K/BK)*max(ceil(BM*BK/4/96)*4, BK/2)",
         .gmem_stores = kSpecializedWarps.predicted.gmem_stores,
         .smem_stores = "tiles*ceil(K/BK)*max(ceil(BM*BK/4/96), 1 + BN/32)",
         .async_copies = kSpecializedWarps.predicted.async_copies},
    .conflict_free = true,
    .questions = {
        {"How many multiplications do the tensor cores make for one product of two floats?", "3",
         "multiplications",
         "high * high, high * low and low * high. low * low is at most 2^-20 of the product, and "
         "2^-23 of it on average."},
        {"How many bytes of shared memory does a K tile take now?", "(2*BM + BN)*BK*4", "bytes",
         "A's tile stands there twice, as it is and as its low parts. B is split in registers."}}};

const model::Lesson kFp16Parts{
    .idea =
        "A kernel before this one splits A and B into fp16 numbers, which tensor cores multiply "
        "twice as fast as tf32.",
    // One thread copies a box of either copy at a time: 32 numbers of each line in two parts.
    .predicted =
        {.gmem_loads = "tiles*max(ceil(K/BK)*2, TM*TN*3/(2 + vec)*reads_C)",
         .gmem_floats = "tiles*max(ceil(K/BK)*BK*(BM + BN), TM*TN*reads_C)",
         .gmem_stores = "tiles*TM*TN*3/(2 + vec)",
         .smem_stores = "tiles*ceil(K/BK)*2",
         .async_copies = "tiles*ceil(K/BK)*2"},
    .conflict_free = true,
    .questions = {
        {"How many bytes does the split read and write, where the product alone needs A and B "
         "once?",
         "2*4*(M*K + K*N)", "bytes",
         "Two fp16 numbers take as much room as a float: A and B are read, and as many bytes "
         "are written."},
        {"The unit is 2^-10. How large is a number, about, that becomes an infinity?", "65536/1024",
         "and more", "fp16 ends just below 2^16, and 2^16 units of 2^-10 are 2^6."}}};

const model::Lesson kTakingTurns{
    .idea =
        "Two warpgroups take turns: while the tensor cores multiply for one, the other adds up. "
        "Each computes one half of its rows after the other.",
    // As before, with a place in the ring per 32 of K.
    .predicted =
        {.gmem_loads = "tiles*max(ceil(K/BK)*BK/16, TM*TN*3/(2 + vec)*reads_C)",
         .gmem_floats = kFp16Parts.predicted.gmem_floats,
         .gmem_stores = kFp16Parts.predicted.gmem_stores,
         .smem_stores = "tiles*ceil(K/BK)*BK/16",
         .async_copies = "tiles*ceil(K/BK)*BK/16"},
    .conflict_free = true,
    .questions = {
        {"How many multiplications of the tensor cores are there for an addition in fp32?", "3*BK",
         "multiplications", "Their sums are taken out once per K tile, three products for each."},
        {"How many registers per thread would the sums of a K tile take if a warpgroup multiplied "
         "all of its rows at once?",
         "TM*TN", "registers", "As many as the sums of C. Both together do not fit."}}};

const model::Lesson kScaledParts{
    .idea =
        "Each piece of a row of A and each column of B has a unit of its own, a power of two, so "
        "that no number is too large for fp16.",
    // As before, and four units of A per piece, and those of a thread's columns of B.
    .predicted =
        {.gmem_loads = "tiles*(ceil(K/BK)*4 + TN + TM*TN*3/(2 + vec)*reads_C)",
         .gmem_floats = "tiles*max(ceil(K/BK)*BK*(BM + BN), ceil(K/BK)*4 + TN + TM*TN*reads_C)",
         .gmem_stores = kTakingTurns.predicted.gmem_stores,
         .smem_stores = kTakingTurns.predicted.smem_stores,
         .async_copies = kTakingTurns.predicted.async_copies},
    .conflict_free = true,
    .questions = {
        {"How many floats are the units, all together?", "ceil(K/BK)*M + N", "floats",
         "A row of A has one per piece of 64, a column of B has one."},
        {"How often is each number of B read before the product?", "2", "times",
         "Once to find the largest of its column, and once to split it."}}};

const model::Lesson kProvenParts{
    .idea =
        "While it splits, the kernel before this one counts small and strong numbers. If that "
        "proves that the parts lose no more than fp32, this stage multiplies. If not, stage 17 "
        "does.",
    // As before, and each thread asks once whether the parts are good enough.
    .predicted =
        {.gmem_loads = "1 + tiles*(ceil(K/BK)*4 + TN + TM*TN*3/(2 + vec)*reads_C)",
         .gmem_floats = "1 + tiles*max(ceil(K/BK)*BK*(BM + BN), ceil(K/BK)*4 + TN + TM*TN*reads_C)",
         .gmem_stores = kScaledParts.predicted.gmem_stores,
         .smem_stores = kScaledParts.predicted.smem_stores,
         .async_copies = kScaledParts.predicted.async_copies},
    .conflict_free = true,
    .questions = {
        {"A piece of a row of A has 40 strong numbers of 64, and that of a column of B has 36. At "
         "how many places are both strong, at least?",
         "40 + 36 - 64", "places", "Two sets of 40 and 36 among 64 share at least 12."},
        {"How many numbers does the proof look at, where looking at all sums takes M*N*K?",
         "M*K + K*N", "numbers", "Each number of A and B once, while it is split anyway."}}};

const model::Contrast kWithBf16{
    "specialized warps, bf16",
    model::kBf16,
    {.idea =
         "Numbers of 16 bits: twice as many in a box, and in an instruction that takes as long. It "
         "reads both A and B from shared memory, as they lie there. They are copies, rounded "
         "before.",
     // A float holds two bf16, and nothing is loaded from shared memory. C is stored two floats at
     // a time if vec is 4.
     .predicted =
         {.gmem_loads = "tiles*max(ceil(K/BK)*(1 + BN/64), TM*TN*3/(2 + vec)*reads_C)",
          .gmem_floats = "tiles*max(ceil(K/BK)*BK*(BM + BN)/2, TM*TN*reads_C)",
          .gmem_stores = "tiles*TM*TN*3/(2 + vec)",
          .smem_stores = "tiles*ceil(K/BK)*(1 + BN/64)",
          .async_copies = "tiles*ceil(K/BK)*(1 + BN/64)"},
     .conflict_free = true,
     .questions = {
         {"How many multiplications does one wgmma.m64n256k16 of bf16 make?", "64*256*16",
          "multiplications",
          "Twice as many as one m64n256k8 of tf32, and the tensor cores take no longer: the bytes "
          "are the same."},
         {"How many bytes of shared memory does a K tile take?", "(BM + BN)*BK*2", "bytes",
          "As many as with tf32: the tile is twice as deep, and a number has half the bytes."}}}};

}  // namespace lesson
