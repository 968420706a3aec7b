#include "model/counts.h"

#include <algorithm>

namespace model {
namespace {

void add(PerThread& to, const PerThread& from, bool first) {
  const std::int64_t sum = to.sum + from.sum;
  include(to, from.min, first);
  include(to, from.max, false);
  to.sum = sum;
}

void add(Merging::Wide& to, const Merging::Wide& from) {
  to.requests += from.requests;
  to.wavefronts += from.wavefronts;
  to.most = std::max(to.most, from.most);
}

void add(Merging& to, const Merging& from) {
  add(to.by_64, from.by_64);
  add(to.by_128, from.by_128);
  to.watched += from.watched;
  to.repeated += from.repeated;
  to.in_pairs += from.in_pairs;
  to.in_fours += from.in_fours;
}

}  // namespace

void include(PerThread& figure, std::int64_t value, bool first) {
  figure.min = first ? value : std::min(figure.min, value);
  figure.max = first ? value : std::max(figure.max, value);
  figure.sum += value;
}

void include(OfBlocks& figure, std::optional<double> value) {
  if (!value) return;
  figure.least = std::min(figure.least.value_or(*value), *value);
  figure.most = std::max(figure.most.value_or(*value), *value);
}

void add(std::vector<Hazard>& hazards, const Hazard& more) {
  const auto known = std::find_if(hazards.begin(), hazards.end(), [&](const Hazard& hazard) {
    return hazard.kind == more.kind && hazard.array == more.array &&
           hazard.first.places == more.first.places && hazard.second.places == more.second.places;
  });
  if (known == hazards.end()) {
    hazards.push_back(more);
  } else if (more.block < known->block) {
    *known = more;
  }
}

bool is_same_access(const LineCounts& a, const LineCounts& b) {
  return a.line == b.line && a.helper_line == b.helper_line && a.helper_file == b.helper_file &&
         a.places == b.places && a.array == b.array && a.bytes == b.bytes &&
         a.direction == b.direction;
}

void add(std::vector<LineCounts>& lines, const LineCounts& more) {
  const auto known = std::find_if(lines.begin(), lines.end(), [&](const LineCounts& line) {
    return is_same_access(line, more);
  });
  if (known == lines.end()) {
    lines.push_back(more);
    return;
  }
  known->executions += more.executions;
  known->in_flight_bytes += more.in_flight_bytes;
  known->in_flight_most = std::max(known->in_flight_most, more.in_flight_most);
  add_requests(*known, more);
  add(known->merging, more.merging);
  // The same example hazard, whichever thread came first.
  if (more.worst_pieces > known->worst_pieces ||
      (more.worst_pieces == known->worst_pieces && more.worst_block < known->worst_block)) {
    known->worst_pieces = more.worst_pieces;
    known->worst_block = more.worst_block;
    known->worst = more.worst;
    known->worst_other = more.worst_other;
  }
}

void add(Counts& to, const Counts& from) {
  for (const Hazard& hazard : from.hazards) add(to.hazards, hazard);
  if (from.threads_traced == 0) return;
  const bool first = to.threads_traced == 0;
  for (Traffic Counts::*member : kTraffic) {
    Traffic& t = to.*member;
    const Traffic& f = from.*member;
    add(t.accesses, f.accesses, first);
    add(t.floats, f.floats, first);
    add(t.bytes, f.bytes, first);
    add_requests(t, f);
  }
  for (std::size_t w = 0; w < to.widenable.size(); ++w) {
    to.widenable[w].requests += from.widenable[w].requests;
    to.widenable[w].wavefronts_64 += from.widenable[w].wavefronts_64;
    to.widenable[w].wavefronts_128 += from.widenable[w].wavefronts_128;
  }
  for (std::int64_t Counts::*member : kSums) to.*member += from.*member;
  for (OfBlocks Counts::*member : {&Counts::block_sectors, &Counts::block_conflicts}) {
    include(to.*member, (from.*member).least);
    include(to.*member, (from.*member).most);
  }
  to.blocks_cut += from.blocks_cut;
  to.warp = from.warp;
  to.local_bytes = std::max(to.local_bytes, from.local_bytes);
  for (const LineCounts& line : from.lines) add(to.lines, line);
}

}  // namespace model
