#include "report/questions.h"

#include <stdexcept>

#include "lab/rates.h"
#include "report/predicted.h"
#include "text/numbers.h"

namespace report {

namespace {

const Question kQuestions[] = {
    {1, "How many bytes do all threads together load, and how often is that each element of A?",
     "M*N*2*K*4", "bytes",
     "Every thread loads a row of A and a column of B, so that an element of A is loaded N times "
     "and one of B M times."},
    {1, "How many of the floats in the sectors of one load of A does a warp use, in percent?",
     "100*32/(32*8)", "%",
     "32 rows are 32 sectors of 8 floats each, and one float of each is wanted."},
    {2, "How many sectors do the two loads of one step of k take together?", "2*sectors", "sectors",
     "One for A, which all lanes read at the same address, and four for 32 neighbours of B."},
    {2, "By how much did the loads of one thread become fewer?", "0", "loads",
     "By none: 2K as before. What changed is which lanes ask for neighbours, and so the sectors of "
     "a request."},
    {3, "How often is an element of A loaded from global memory now?", "ceil(N/BN)", "times",
     "Once for each block of its rows' tiles, and no longer once for every column of C."},
    {3, "How many barriers does a block pass on its way along K?", "2*ceil(K/BK)", "barriers",
     "Two for every tile: until it is complete, and until nobody needs it any more."},
    {4, "How many loads from shared memory does one product cost now?", "(TM + TN)/(TM*TN)",
     "loads", "TM of A and one of B serve TM products; in the stage before it were two for one."},
    {4, "Why not make TM larger and larger? How many results must lie in registers at TM = 64?",
     "64*TN", "registers",
     "Every result is a register. They are what a block soon has too many of, and an SM then holds "
     "fewer blocks."},
    {5, "How many products does a thread make of each float that it loads from shared memory?",
     "TM*TN/(TM + TN)", "products a float",
     "TM + TN floats make TM x TN products: the surface and the area."},
    {5, "How many wavefronts does a load from shared memory take on the average, and why not one?",
     "wavefronts", "wavefronts",
     "Lanes side by side want words TN apart: several of them fall into one bank."},
    {6, "How many instructions store a thread's results to C, and how many before?", "TM*TN/vec",
     "stores", "A float4 is four results; the stage before stored each on its own."},
    {6, "How many wavefronts does a 16-byte load of a full warp take at best?", "32*16/128",
     "wavefronts",
     "A wavefront brings at most 32 banks of 4 bytes, so 512 bytes take four; fewer "
     "only where lanes want the same words."},
    {7, "How many bank conflicts are left?", "conflicts", "conflicts",
     "Squares of 4 x 4 put the lanes' float4 side by side, and a padded row starts in "
     "another "
     "bank than the one before."},
    {7, "How many bytes does the padding of As cost, with 4 floats a row?", "BK*4*4", "bytes",
     "One float4 behind each of BK rows: little beside BK rows of BM floats."},
    {8, "How many threads has a block now, half as many as before?", "threads", "threads",
     "Fewer threads with larger tiles: more products for each float from shared memory."},
    {8, "And how many products does it make of a float from shared memory, where it was 4?",
     "TM*TN/(TM + TN)", "products a float",
     "The tile of a thread is no square any more, but larger than 8 x 8, whose share is 4."},
    {9, "How many warps does an SM hold, and why is that enough?", "warps_per_sm", "warps",
     "What hides the way from global memory is no longer other warps, but the tiles in flight."},
    {9, "How many bytes are on their way while a tile is multiplied?", "pipeline*BK*(BM + BN)*4",
     "bytes", "A tile of A and of B for each that is in flight, of every block of the SM."},
};

}  // namespace

std::vector<Question> questions_of(int stage) {
  std::vector<Question> questions;
  for (const Question& question : kQuestions) {
    if (question.stage == stage) questions.push_back(question);
  }
  return questions;
}

std::string answer_of(const Question& question, const lab::Run& run, const lab::Row& row) {
  std::vector<model::Named> names = formula_names(run, row);
  if (row.variant) names.push_back({"pipeline", static_cast<double>(row.variant->pipeline)});
  if (row.counts) {
    names.push_back({"sectors", lab::pieces_per_request(row.counts->gmem_loads)});
    names.push_back({"wavefronts", lab::pieces_per_request(row.counts->smem_loads)});
    names.push_back(
        {"conflicts",
         static_cast<double>(
             row.counts->smem_loads.bank_conflicts + row.counts->smem_stores.bank_conflicts)});
  }
  if (row.occupancy) {
    const model::Occupancy& o = *row.occupancy;
    names.push_back({"blocks_per_sm", static_cast<double>(o.blocks_per_sm)});
    names.push_back({"warps_per_sm", static_cast<double>(o.blocks_per_sm * o.warps_per_block)});
  }
  double value = 0;
  try {
    value = model::evaluate(question.answer, names);
  } catch (const std::invalid_argument&) {
    return "";
  }
  const std::string result = text::exact(value), numbers = with_numbers(question.answer, names);
  std::string text = std::string(question.answer);
  if (numbers != text) text += " = " + numbers;
  if (result != numbers && result != text) text += " = " + result;
  return text + " " + question.unit;
}

}  // namespace report
