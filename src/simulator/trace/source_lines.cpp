#include "simulator/trace/source_lines.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>

#include "simulator/machine/fault.h"

namespace trace {

namespace {

std::string own_path() {
  std::array<char, PATH_MAX> path;
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  return length > 0 ? std::string(path.data(), length) : "";
}

// A process that runs addr2line. It reads the whole program once, and answers as long as this
// process lives. An answer is the address, and then its lines of source.
class Addr2line {
 public:
  Addr2line() : owner_(getpid()) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::string words[] = {"addr2line", "-a", "-i", "-e", own_path()};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(),
                         words[3].data(), words[4].data(), nullptr};
    pid_t process;
    if (posix_spawnp(&process, "addr2line", &actions, nullptr, arguments, environ) == 0) {
      socket_ = ends[0];
    } else {
      ::close(ends[0]);
    }
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
  }

  ~Addr2line() {
    if (socket_ >= 0) ::close(socket_);
  }
  Addr2line(const Addr2line&) = delete;
  Addr2line& operator=(const Addr2line&) = delete;

  // After a fork, both processes have this one's socket.
  bool is_own() const { return owner_ == getpid(); }

  // Sends addresses, one per line and kEnd as the last, and returns the answers to all but kEnd;
  // nothing if addr2line does not answer.
  static constexpr std::string_view kEnd = "0xffffffffffffffff\n";
  std::string ask(std::string_view question) {
    while (!question.empty()) {
      const ssize_t sent =
          TEMP_FAILURE_RETRY(send(socket_, question.data(), question.size(), MSG_NOSIGNAL));
      if (sent <= 0) return "";
      question.remove_prefix(sent);
    }
    std::string answer;
    std::array<char, 4096> part;
    for (std::size_t end = answer.npos;;) {
      const ssize_t received = TEMP_FAILURE_RETRY(recv(socket_, part.data(), part.size(), 0));
      if (received <= 0) return "";
      answer.append(part.data(), received);
      end = answer.rfind(kEnd);
      if (end == answer.npos || answer.find('\n', end + kEnd.size()) == answer.npos) continue;
      return answer.substr(0, end);
    }
  }

 private:
  pid_t owner_;
  int socket_ = -1;
};

struct Frame {
  std::string file;
  int line;
};
using Frames = std::map<machine::CodePlace, std::vector<Frame>>;

// For each place, its source lines, innermost first: more than one if a function was inlined. What
// was looked up is kept.
const Frames& lines_of(const std::vector<machine::CodePlace>& places) {
  static Frames known;
  Places unknown;
  for (const machine::CodePlace place : places) {
    if (!known.contains(place)) unknown.push_back(place);
  }
  if (unknown.empty()) return known;
  std::ranges::sort(unknown);
  unknown.erase(std::unique(unknown.begin(), unknown.end()), unknown.end());
  std::istringstream answer(
      addr2line_elsewhere ? addr2line_elsewhere(unknown) : addr2line(unknown));
  std::vector<Frame>* current = nullptr;
  for (std::string text; std::getline(answer, text);) {
    if (text.starts_with("0x")) {
      machine::CodePlace place = 0;
      std::from_chars(text.data() + 2, text.data() + text.size(), place, 16);
      current = &known[place];
      continue;
    }
    const std::size_t colon = text.rfind(':');
    if (current == nullptr || colon == text.npos) continue;
    int number = 0;
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), number);
    current->push_back({text.substr(0, colon), number});
  }
  return known;
}

bool is_embedded(const std::string& file) {
  return embedded_source.is != nullptr && embedded_source.is(file);
}

const std::string& own_file(const SourceRange& kernel) {
  return users_file.empty() ? kernel.file : users_file;
}

// Looks up what follows at once.
template <class Things, class PlacesOf>
void look_up(const Things& things, PlacesOf places_of) {
  Places all;
  for (const auto& thing : things) {
    const auto& places = std::invoke(places_of, thing);
    all.insert(all.end(), places.begin(), places.end());
  }
  lines_of(all);
}

bool is_in(const SourceRange& kernel, const Frame& frame) {
  return frame.file == kernel.file && frame.line >= kernel.first && frame.line <= kernel.last;
}

// Neither the simulator's headers nor the compiler's.
bool is_of_user(const Frame& frame) {
  const auto has = [&](const char* part) { return frame.file.find(part) != frame.file.npos; };
  return frame.line > 0 && !frame.file.starts_with("??") && !frame.file.starts_with("/usr/") &&
         !has("/include/c++/") && !has("src/simulator/cuda/");
}

// The calls are outermost first.
CodeLine find_line(const SourceRange& kernel, const Places& path) {
  CodeLine found;
  const Frames& lines = lines_of(path);
  const Frame* innermost = nullptr;  // of the user's
  for (const machine::CodePlace place : path) {
    const auto known = lines.find(place);
    if (known == lines.end()) continue;
    const std::vector<Frame>& frames = known->second;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      if (is_in(kernel, *frame)) found.line = frame->line;
      if (frame->file == kernel.file && found.line == 0) found.line = kernel.first;
      if (frame->file == kernel.file || is_of_user(*frame)) innermost = &*frame;
    }
  }
  if (innermost == nullptr || is_in(kernel, *innermost) || is_embedded(kernel.file)) return found;
  found.helper_line = innermost->line;
  found.helper_file = innermost->file;
  return found;
}

void resolve(model::Hazard& hazard, const SourceRange& kernel) {
  for (model::Hazard::Actor* actor : {&hazard.first, &hazard.second}) {
    const CodeLine found = find_line(kernel, actor->places);
    actor->line = found.line;
    actor->helper_line = found.helper_line;
    actor->file = file_unless(own_file(kernel), kernel.file);
    actor->helper_file = file_unless(own_file(kernel), found.helper_file);
  }
}

// The length of the comment, string or character with which the text begins; 1 if with none.
std::size_t length_of_first(std::string_view text) {
  const auto until = [&](const char* end) { return std::min(text.find(end, 2), text.size()); };
  if (text.starts_with("//")) return until("\n");
  if (text.starts_with("/*")) return until("*/");
  const bool is_character = text.size() > 2 && (text[1] == '\\' || text[2] == '\'');
  if (text[0] != '"' && (text[0] != '\'' || !is_character)) return 1;  // 1'000 has none
  std::size_t end = 1;
  while (end < text.size() && text[end] != text[0]) end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

std::vector<std::string_view> lines_in(std::string_view source) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin < source.size();) {
    const std::size_t end = std::min(source.find('\n', begin), source.size());
    lines.push_back(source.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// The first line of the function to which a kernel leaves its work: they have the same template
// parameters, and the kernel ends with a line that calls it. 0 if there is none.
int line_of_work(const std::vector<std::string_view>& lines, int first, int last) {
  if (first == 0 || last < 2 || !lines[last - 2].starts_with("  ")) return 0;
  const std::string_view call = lines[last - 2].substr(2);
  const std::string begin = "__device__ void " + std::string(call.substr(0, call.find('<'))) + "(";
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].starts_with(begin) && lines[i - 1] == lines[first - 1]) return static_cast<int>(i);
  }
  return 0;
}

}  // namespace

std::function<std::string(const Places&)> addr2line_elsewhere;
std::function<std::string(const std::string& file)> source_text_elsewhere;
EmbeddedSource embedded_source;
std::string users_file;

int heading_line(const std::vector<std::string_view>& lines, int line) {
  if (line > static_cast<int>(lines.size())) return 0;
  const auto ends = [](std::string_view text) {
    return text.empty() || text.starts_with("//") || text.starts_with("}") ||
           text.starts_with("#include") || text.starts_with("using ");
  };
  while (line > 1 && !ends(lines[line - 2])) --line;
  return line;
}

int closing_line(std::string_view source, int first) {
  int line = 1, depth = 0;
  while (!source.empty()) {
    const std::string_view text = source.substr(0, length_of_first(source));
    line += static_cast<int>(std::ranges::count(text, '\n'));
    if (line >= first && text == "{") ++depth;
    if (line >= first && text == "}" && --depth == 0) return line;
    source.remove_prefix(text.size());
  }
  return 0;
}

std::string file_unless(const std::string& own, const std::string& file) {
  namespace fs = std::filesystem;
  const auto whole = [](const std::string& path) { return fs::absolute(path).lexically_normal(); };
  if (own.empty() || file.empty() || is_embedded(file) || whole(file) == whole(own)) return "";
  return fs::path(file).filename().string();
}

std::string addr2line(const Places& places) {
  static std::optional<Addr2line> process;
  if (!process || !process->is_own()) process.emplace();
  constexpr std::size_t kAtOnce = 1000;  // so that neither side waits for the other to read
  std::string text, question;
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::array<char, 16> line;
    question.append(line.data(), std::snprintf(line.data(), line.size(), "0x%x\n", places[i]));
    if ((i + 1) % kAtOnce != 0 && i + 1 < places.size()) continue;
    text += process->ask(question.append(Addr2line::kEnd));
    question.clear();
  }
  return text;
}

std::string source_text(const std::string& file) {
  if (source_text_elsewhere) return source_text_elsewhere(file);
  if (is_embedded(file)) return std::string(embedded_source.text);
  std::ifstream source(file);
  return {std::istreambuf_iterator<char>(source), {}};
}

SourceRange kernel_lines(const void* kernel) {
  const machine::CodePlace place = machine::place_of_code(kernel);
  const Frames& frames = lines_of({place});
  const auto found = frames.find(place);
  if (found == frames.end() || found->second.empty()) return {};
  const Frame& outermost = found->second.back();
  const std::string source = source_text(outermost.file);
  if (source.empty()) return {};
  const std::vector<std::string_view> lines = lines_in(source);
  const int first = heading_line(lines, outermost.line);
  const int last = closing_line(source, outermost.line);
  const int work = is_embedded(outermost.file) ? line_of_work(lines, first, last) : 0;
  if (work > 0) return {outermost.file, work, closing_line(source, work)};
  return {outermost.file, first, last};
}

void resolve_lines(std::vector<model::LineCounts>& lines, const SourceRange& kernel) {
  look_up(lines, &model::LineCounts::places);
  std::vector<model::LineCounts> resolved;
  for (model::LineCounts& line : lines) {
    const CodeLine found = find_line(kernel, line.places);
    line.line = found.line;
    line.helper_line = found.helper_line;
    line.helper_file = file_unless(kernel.file, found.helper_file);
    line.places.clear();
    add(resolved, line);
  }
  std::sort(
      resolved.begin(), resolved.end(), [](const model::LineCounts& a, const model::LineCounts& b) {
        const auto what = [](const model::LineCounts& l) {
          return std::tie(l.line, l.helper_file, l.helper_line, l.array, l.direction, l.bytes);
        };
        return what(a) < what(b);
      });
  lines = std::move(resolved);
}

void resolve_lines(std::vector<model::Hazard>& hazards, const SourceRange& kernel) {
  for (const auto actor : {&model::Hazard::first, &model::Hazard::second}) {
    look_up(hazards, [&](const model::Hazard& hazard) { return (hazard.*actor).places; });
  }
  for (model::Hazard& hazard : hazards) resolve(hazard, kernel);
  // Of two accesses, it does not matter which one is first.
  const auto what = [](const model::Hazard& h) {
    const auto lines = std::minmax(
        {std::pair(h.first.line, h.first.helper_line),
         std::pair(h.second.line, h.second.helper_line)});
    return std::tuple(h.kind, lines.first, lines.second, h.array);
  };
  std::sort(hazards.begin(), hazards.end(), [&](const model::Hazard& a, const model::Hazard& b) {
    // A remedy for lanes does not help where warps race, too.
    const auto of_lanes = [](const model::Hazard& hazard) {
      return hazard.remedy == model::Remedy::warp_barrier ||
             hazard.remedy == model::Remedy::warp_barrier_or_atomics;
    };
    const auto which = [&](const model::Hazard& h) {
      return std::tuple(of_lanes(h), h.block, h.byte, h.first.stores, h.second.stores);
    };
    return what(a) != what(b) ? what(a) < what(b) : which(a) < which(b);
  });
  // The same lines are one hazard.
  std::vector<model::Hazard> kept;
  for (model::Hazard& hazard : hazards) {
    if (!kept.empty() && what(kept.back()) == what(hazard)) {
      kept.back().more += 1 + hazard.more;
    } else {
      kept.push_back(std::move(hazard));
    }
  }
  hazards = std::move(kept);
}

void resolve_lines(model::Audit& audit, const SourceRange& kernel) {
  const auto places_of = [](const model::Audit::Surprise& surprise) {
    const auto end = std::find(surprise.places.begin(), surprise.places.end(), 0u);
    return Places(surprise.places.begin(), end);
  };
  look_up(audit.surprises, places_of);
  for (model::Audit::Surprise& surprise : audit.surprises) {
    if (surprise.line != 0) continue;
    surprise.line = find_line(kernel, places_of(surprise)).line;
    surprise.file = file_unless(own_file(kernel), kernel.file);
  }
}

void resolve_lines(model::Recording& recording, const SourceRange& kernel) {
  look_up(recording.sites, &model::RecordedSite::places);  // those of hazards are among them
  for (model::RecordedSite& site : recording.sites) {
    site.line = find_line(kernel, site.places).line;
  }
  for (model::RecordedHazard& recorded : recording.hazards) {
    resolve(recorded.hazard, kernel);
  }
}

}  // namespace trace
