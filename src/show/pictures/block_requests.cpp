#include "show/pictures/block_requests.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <map>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "lab/run.h"
#include "model/stage.h"
#include "model/warp_access.h"
#include "text/numbers.h"

namespace pictures {

BlockRequests requests_of_block(
    model::Recording recording, std::int64_t number, int M, int N, int K) {
  const auto is_another = [&](const model::RecordedEvent& event) {
    return event.kind != model::RecordedEvent::Kind::request || event.block != number;
  };
  std::erase_if(recording.actions, [&](const auto& action) { return action.block != number; });
  std::erase_if(recording.events, is_another);
  return {std::move(recording), M, N, K};
}

MatrixElement element_at(const BlockRequests& block, char matrix, std::uint64_t address) {
  if (matrix >= 'A' && matrix <= 'C' && block.by_columns[matrix - 'A']) {
    const int rows = std::max(matrix == 'B' ? block.K : block.M, 1);
    return {matrix, static_cast<int>(address / 4 % rows), static_cast<int>(address / 4 / rows)};
  }
  const int columns = std::max(matrix == 'A' ? block.K : block.N, 1);
  return {matrix, static_cast<int>(address / 4 / columns), static_cast<int>(address / 4 % columns)};
}

const model::RecordedEvent* other_side(const model::Recording& recording, std::size_t at) {
  const model::RecordedSite& site = recording.site_of(recording.events[at]);
  const bool shared = recording.arrays[site.array].shared;
  const std::size_t other = shared ? at + 1 : at - 1;
  if (site.direction != model::Direction::copy || other >= recording.events.size()) return nullptr;
  const model::RecordedEvent& event = recording.events[other];
  const bool is_side = event.kind == model::RecordedEvent::Kind::request &&
                       recording.site_of(event).direction == model::Direction::copy &&
                       recording.array_of(event).shared != shared;
  return is_side ? &event : nullptr;
}

void Contents::hold(int array, std::uint64_t word, ArrayWord what) {
  std::vector<ArrayWord>& words = held_[array];
  words.resize((recording_.arrays[array].bytes + 3) / 4);
  if (word < words.size()) words[word] = what;
}

ArrayWord Contents::at(int array, std::uint64_t word) const {
  if (!recording_.arrays[array].shared) return {array, word};
  return word < held_[array].size() ? held_[array][word] : ArrayWord{};
}

void Contents::follow(std::size_t at) {
  const model::RecordedEvent& event = recording_.events[at];
  if (event.kind == model::RecordedEvent::Kind::action) {
    for (const model::RecordedAction& action : recording_.actions_at(at))
      if (action.kind == model::RecordedAction::Kind::box) follow_box(action);
  }
  if (event.kind != model::RecordedEvent::Kind::request) return;
  const auto [array, direction, atomic, line, path] = recording_.site_of(event);
  const bool shared = recording_.arrays[array].shared;
  if (shared == (direction == model::Direction::load)) return;  // neither loads nor changes words
  const model::RecordedEvent* const source = other_side(recording_, at);
  model::for_each_lane(event.access.active, [&](int lane) {
    std::deque<ArrayWord>& loaded = loaded_[recording_.warp.thread_of(event.warp, lane)];
    std::uint64_t from = source == nullptr ? 0 : source->access.address[lane] / 4;
    model::for_each_word(event.access, lane, [&](std::uint64_t word) {
      if (!shared && direction == model::Direction::load) return loaded.push_back({array, word});
      if (!shared) return;
      ArrayWord what;
      if (source != nullptr) {
        what = {recording_.site_of(*source).array, from++};
      } else if (direction == model::Direction::store && !loaded.empty()) {
        what = loaded.front();
        loaded.pop_front();
      }
      hold(array, word, what);
    });
  });
}

void Contents::follow_box(const model::RecordedAction& box) {
  const auto row_bytes = static_cast<std::uint64_t>(box.row_bytes);
  const bool is_whole = box.matrix >= 0 && box.rows * row_bytes == box.bytes;
  for (std::uint64_t byte = 0; byte < box.bytes; byte += 4) {
    const auto to = static_cast<std::uint32_t>(box.to + byte);
    ArrayWord what;
    if (is_whole) {
      const std::uint64_t row = byte / row_bytes;
      what = {box.matrix, (box.first + row * box.pitch_bytes + byte % row_bytes) / 4};
    }
    hold(box.array, model::swizzled(to, box.swizzle) / 4, what);
  }
}

std::vector<Moved> elements_moved(const BlockRequests& block) {
  std::vector<Moved> all;
  Contents contents(block);
  for (std::size_t r = 0; r < block.events.size(); ++r) {
    const model::RecordedEvent& request = block.events[r];
    contents.follow(r);
    model::for_each_lane(request.access.active, [&](int lane) {
      Moved moved{block.warp.thread_of(request.warp, lane), static_cast<int>(r), {}};
      model::for_each_word(request.access, lane, [&](std::uint64_t word) {
        const auto [array, from] = contents.at(block.site_of(request).array, word);
        moved.elements.push_back(
            array < 0 ? MatrixElement{} : element_at(block, block.arrays[array].name[0], 4 * from));
      });
      all.push_back(std::move(moved));
    });
  }
  return all;
}

Written written_by(const BlockRequests& block) {
  std::map<std::pair<int, int>, int> writers;  // by row and column
  for (const model::RecordedEvent& request : block.events) {
    const model::RecordedArray& array = block.array_of(request);
    const bool stores = block.site_of(request).direction == model::Direction::store;
    if (array.shared || array.name != "C" || !stores) continue;
    model::for_each_lane(request.access.active, [&](int lane) {
      const int thread = block.warp.thread_of(request.warp, lane);
      model::for_each_word(request.access, lane, [&](std::uint64_t word) {
        const MatrixElement e = element_at(block, 'C', 4 * word);
        const auto [at, first] = writers.try_emplace({e.row, e.col}, thread);
        if (!first && at->second != thread) at->second = Written::kSeveral;
      });
    });
  }
  Written written;
  if (writers.empty()) return written;
  int last_row = 0, last_col = 0;
  written.row = written.col = 1 << 30;
  for (const auto& [place, thread] : writers) {
    written.row = std::min(written.row, place.first);
    written.col = std::min(written.col, place.second);
    last_row = std::max(last_row, place.first);
    last_col = std::max(last_col, place.second);
  }
  constexpr int kMost = 1024;  // of rows and of columns: nobody can read more
  written.rows = std::min(last_row - written.row + 1, kMost);
  written.cols = std::min(last_col - written.col + 1, kMost);
  written.thread.assign(written.rows, std::vector<int>(written.cols, Written::kNobody));
  for (const auto& [place, thread] : writers) {
    const int row = place.first - written.row, col = place.second - written.col;
    if (row < kMost && col < kMost) written.thread[row][col] = thread;
  }
  return written;
}

WarpRequest request_at(const model::Recording& recording, std::size_t at) {
  const model::RecordedEvent& event = recording.events[at];
  const model::RecordedEvent* const other = other_side(recording, at);
  return {
      event.access, recording.array_of(event).shared, recording.site_of(event).direction, 0,
      other == nullptr ? nullptr : &other->access};
}

std::string counted(std::uint64_t count, const std::string& what) {
  return text::grouped(static_cast<long long>(count)) + " " + what + (count == 1 ? "" : "s");
}

std::string request_text(
    const model::Recording& recording, std::size_t at, const std::string& array_name) {
  const model::RecordedEvent& event = recording.events[at];
  const model::RecordedSite& site = recording.site_of(event);
  const model::RecordedArray& array = recording.array_of(event);
  const bool is_read = site.direction == model::Direction::load ||
                       (site.direction == model::Direction::copy && !array.shared);
  const bool is_wasteful = event.bank_conflicts + event.uncoalesced > 0;
  return counted(std::popcount(event.access.active), "lane") +
         (site.atomic ? " atomically " : " ") + lab::name_of(site.direction) +
         text::printed(" %d B %s ", event.access.bytes, is_read ? "from" : "to") + array_name +
         ": " + counted(event.pieces, array.shared ? "wavefront" : "sector") +
         text::printed(", ideal %d", event.ideal) +
         (!is_wasteful   ? ""
          : array.shared ? " <- bank conflict"
                         : " <- uncoalesced");
}

model::Sectors sectors_of(const WarpRequest& request) {
  return request.other != nullptr ? model::split_async_copy(*request.other, request.access).sectors
                                  : model::sectors(request.access);
}

model::Wavefronts wavefronts_of(const WarpRequest& request) {
  if (request.other) return model::split_async_copy(request.access, *request.other).wavefronts;
  return request.direction == model::Direction::load ? model::wavefronts_of_load(request.access)
                                                     : model::wavefronts_of_store(request.access);
}

std::uint32_t lanes_in_conflict(const WarpRequest& request) {
  // By group and bank: each word, and the lanes that want it.
  std::map<std::pair<int, std::uint64_t>, std::map<std::uint64_t, std::uint32_t>> banks;
  for (const model::Wavefront& turn : wavefronts_of(request)) {
    model::for_each_lane(turn.lanes, [&](int lane) {
      model::for_each_word(request.access, lane, [&](std::uint64_t word) {
        banks[{turn.group, word % request.access.warp.banks}][word] |= 1u << lane;
      });
    });
  }
  std::uint32_t lanes = 0;
  for (const auto& [bank, words] : banks) {
    for (const auto& [word, by] : words) lanes |= words.size() > 1 ? by : 0;
  }
  return lanes;
}

namespace {

std::string signs(std::span<const std::uint32_t> lanes) {
  std::string text;
  for (const std::uint32_t some : lanes) {
    text += some == 0 ? '.' : std::has_single_bit(some) ? lane_sign(std::countr_zero(some)) : '*';
  }
  return text;
}

}  // namespace

std::vector<PictureRow> rows_of(const WarpRequest& request) {
  const model::WarpAccess& access = request.access;
  std::vector<PictureRow> rows;
  if (request.shared) {
    rows.push_back({"  bank           ", ""});
    for (int bank = 0; bank < access.warp.banks; bank += 8)
      rows[0].label += text::pad_right(std::to_string(bank), 8);
    for (const model::Wavefront& turn : wavefronts_of(request)) {
      rows.push_back(
          {text::printed("  wavefront %3zu  ", rows.size()),
           signs(model::lanes_at_banks(access, turn.lanes))});
    }
    return rows;
  }
  const std::size_t sectors_a_line = access.warp.sectors_a_line();
  const std::size_t wide = access.warp.sector_words() + 2;
  std::map<std::uint64_t, std::string> lines;
  for (const model::Sector& sector : model::sectors(access)) {
    std::string& line = lines[sector.number / sectors_a_line];
    line.resize(sectors_a_line * wide, ' ');
    line.replace(
        sector.number % sectors_a_line * wide, wide,
        "[" + signs(model::lanes_at_words(access, sector)) + "]");
  }
  for (const auto& [number, line] : lines) {
    const auto byte = static_cast<unsigned long long>(number * access.warp.line_bytes);
    rows.push_back({text::printed("  from byte %9llu ", byte), line});
  }
  return rows;
}

std::string picture_of(const WarpRequest& request, std::size_t most) {
  const std::vector<PictureRow> rows = rows_of(request);
  most += request.shared;  // the banks' own row
  std::string text;
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const bool is_last = i + 1 == most && rows.size() > most;
    text += text::without_trailing_spaces(rows[i].label + rows[i].signs) +
            (is_last ? text::printed("  and %zu more", rows.size() - most) : "") + "\n";
  }
  return text;
}

namespace {

// Names and values; the names stay where they are.
struct Constants {
  std::deque<std::string> names;
  std::vector<model::Named> values;

  void add(const std::string& name, const std::string& expression) {
    try {
      const double value = model::evaluate(expression, values);
      names.push_back(name);
      values.push_back({names.back(), value});
    } catch (const std::invalid_argument&) {
      // Its value is not known, so expressions that use it cannot be evaluated, either.
    }
  }
};

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts{""};
  int depth = 0;
  for (const char c : text) {
    depth += (c == '<' || c == '(') - (c == '>' || c == ')');
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// "BM" of "const int BM ".
std::string last_word(std::string_view text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  return std::string(text.substr(text.find_last_of(' ') + 1));
}

Constants constants_of(
    const std::vector<std::string>& source, int first, int last, const std::string& kernel) {
  Constants constants;
  std::string heading;
  for (int line = first; line <= last; ++line) heading += source[line - 1] + " ";
  const std::size_t open = kernel.find('<'), from = heading.find("template");
  if (open != kernel.npos && from != heading.npos) {
    const std::size_t begin = heading.find('<', from) + 1, end = heading.find('>', begin);
    const std::vector<std::string> names = split_at_commas(heading.substr(begin, end - begin));
    const std::vector<std::string> values =
        split_at_commas(kernel.substr(open + 1, kernel.rfind('>') - open - 1));
    for (std::size_t i = 0; i < std::min(names.size(), values.size()); ++i) {
      // g++ spells an unsigned argument "16u".
      constants.add(
          last_word(names[i].substr(0, names[i].find('='))),
          values[i].substr(0, values[i].find_last_not_of("uUlL ") + 1));
    }
  }
  for (const std::string& line : source) {
    std::istringstream words(line);
    std::string directive, name, value;
    if (words >> directive >> name && directive == "#define" && std::getline(words, value)) {
      constants.add(name, value.substr(0, value.find('/')));
      continue;
    }
    const std::size_t begin = line.find("const"), end = line.find(';', begin);
    if (begin == line.npos) continue;
    for (const std::string& each : split_at_commas(line.substr(begin, end - begin))) {
      const std::size_t equals = each.find('=');
      if (equals != each.npos) {
        constants.add(last_word(each.substr(0, equals)), each.substr(equals + 1));
      }
    }
  }
  return constants;
}

int words_of_element(const std::string& declaration) {
  const std::pair<const char*, int> types[] = {
      {"float4", 4}, {"int4", 4}, {"float2", 2}, {"int2", 2}, {"double", 2}};
  for (const auto& [type, words] : types) {
    if (declaration.find(type) != declaration.npos) return words;
  }
  return 1;
}

}  // namespace

int declared_row_words(
    const std::vector<std::string>& source, int first, int last, const std::string& kernel,
    const std::string& name, std::size_t bytes, int banks) {
  if (first < 1 || last > static_cast<int>(source.size())) return banks;
  for (int line = first; line <= last; ++line) {
    std::string text = source[line - 1];
    if (text.find("__shared__") == text.npos) continue;
    for (std::size_t gap; (gap = text.find(" [")) != text.npos;) text.erase(gap, 1);
    // float As[BM][BK], Bs[BK][BN]: the dimensions that follow the name.
    const std::string array = name + "[";
    std::size_t at = text.find(array);
    while (at != text.npos && at > 0 && is_of_word(text[at - 1])) at = text.find(array, at + 1);
    if (at == text.npos) continue;
    int dimensions = 0;
    std::string expression;
    for (at = text.find('[', at); at < text.size() && text[at] == '['; ++dimensions) {
      const std::size_t end = text.find(']', at);
      expression = text.substr(at + 1, end - at - 1);
      at = std::min(end, text.size() - 1) + 1;
    }
    if (dimensions == 1) return banks;
    try {
      const Constants constants = constants_of(source, first, last, kernel);
      const double words = model::evaluate(expression, constants.values) * words_of_element(text);
      const bool fits = words >= 1 && words <= 65536 && words == std::floor(words) &&
                        bytes % (static_cast<std::size_t>(words) * 4) == 0;
      return fits ? static_cast<int>(words) : banks;
    } catch (const std::invalid_argument&) {
      return banks;
    }
  }
  return banks;
}

}  // namespace pictures
