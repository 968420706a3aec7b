// What the blocks read that a launch starts with, as traced.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "model/gpus.h"
#include "model/stage.h"
#include "pictures/block_requests.h"

namespace pictures {

// One block for each SM.
struct FirstWave {
  std::vector<std::pair<int, int>> tiles;  // of C, (row, column) in tiles; by block
  std::set<int> rows_of_A, columns_of_B;   // that these blocks read
};

// Adds what one block stores to C and reads of A and B.
void add_block(FirstWave& wave, const BlockRequests& block, const model::Variant& variant);

// Of the variant in an M x N x K product. Every block traces only its first K tile, so K is not
// asked for: the other K tiles take the same rows and columns.
FirstWave first_wave(
    const model::StageTable& table, const model::Variant& variant, const model::Gpu& gpu, int M,
    int N);

// The lines of A and B with 128 bytes each that these blocks read in 32 steps of k. Such a line has
// 32 steps of a row of A, or 32 columns of B in one step.
int lines_read(const FirstWave& wave);

}  // namespace pictures
