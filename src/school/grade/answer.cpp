#include "school/grade/answer.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "model/refusal.h"
#include "school/grade/kernel_rules.h"
#include "text/echoed.h"

namespace grade {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  for (std::size_t begin = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
       begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
    begin = end + 1;
  }
  return lines;
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

void refuse(const std::string& name, std::size_t line, const std::string& what) {
  constexpr int kMostSaid = 300;  // columns; names in a student's file have any length
  throw model::Refusal(
      text::echoed(name) + ":" + std::to_string(line + 1) + ": " + text::echoed(what, kMostSaid));
}

namespace {

// Signs of formulas as our texts print them.
std::string with_plain_signs(std::string text) {
  for (const auto& [sign, plain] :
       {std::pair{"\u00b7", "*"},
        {"\u00d7", "*"},
        {"\u2212", "-"},
        {"\u2308", "ceil("},
        {"\u2309", ")"}}) {
    for (std::size_t at; (at = text.find(sign)) != text.npos;)
      text.replace(at, std::string_view(sign).size(), plain);
  }
  return text;
}

// Messages quote these texts, so they must be short and of plain letters.
std::string quotable(std::string text) {
  constexpr std::size_t kMost = 400;
  if (text.size() > kMost) text = text.substr(0, kMost) + " ...";
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

}  // namespace

std::map<std::string, std::string> answers_in(const std::string& file) {
  std::map<std::string, std::string> answers;
  for (const std::string& whole : lines_of(file)) {
    std::string line = trimmed(whole);
    if (line.starts_with("//")) line = trimmed(line.substr(2));
    if (!line.starts_with("answer ")) continue;
    const std::size_t colon = line.find(':');
    if (colon == line.npos) continue;
    const std::string name = trimmed(line.substr(7, colon - 7));
    const std::string text = trimmed(line.substr(colon + 1));
    if (name.empty() || text.empty()) continue;
    const auto [known, is_new] = answers.emplace(quotable(name), quotable(with_plain_signs(text)));
    if (!is_new)
      throw model::Refusal("two lines answer " + known->first + ": leave only one of them");
  }
  return answers;
}

namespace {

// In each group, the first letter replaces the others.
constexpr std::string_view kLetters = R"(
aAÀÁÂÃÄÅÆàáâãäåæĀāĂăĄąǍǎẠạẢảẤấẦầẨẩẪẫẬậẮắẰằẲẳẴẵẶặ bB cCÇçĆćĈĉĊċČč dDÐðĎďĐđ
eEÈÉÊËèéêëĒēĔĕĖėĘęĚěẸẹẺẻẼẽẾếỀềỂểỄễỆệ fF gGĜĝĞğĠġĢģǦǧ hHĤĥĦħ iIÌÍÎÏìíîïĨĩĪīĬĭĮįİıǏǐỈỉỊị jJĴĵ kKĶķǨǩ
lLĹĺĻļĽľŁł mM nNÑñŃńŅņŇň oOÒÓÔÕÖØòóôõöøŌōŎŏŐőŒœƠơǑǒǪǫỌọỎỏỐốỒồỔổỖỗỘộỚớỜờỞởỠỡỢợ pP qQ rRŔŕŖŗŘř
sSŚśŜŝŞşŠšſȘș tTÞþŢţŤťȚț uUÙÚÛÜùúûüŨũŪūŬŭŮůŰűŲųƯưǓǔǕǖǗǘǙǚǛǜỤụỦủỨứỪừỬửỮữỰự vV wWŴŵẀẁẂẃẄẅ xX
yYÝýÿŶŷŸỲỳỴỵỶỷỸỹ zZŹźŻżŽž ŋŊ ŧŦ αΆΑά βΒ γΓ δΔ εΈΕέ ζΖ ηΉΗή θΘ ιΊΐΙΪίϊ κΚ λΛ μΜ νΝ ξΞ οΌΟό πΠ ρΡ
σΣς τΤ υΎΥΫΰϋύ φΦ χΧ ψΨ ωΏΩώ аА бБ вВ гЃГѓ дД еЀЁЕѐё жЖ зЗ иЍИЙйѝ кЌКќ лЛ мМ нН оО пП рР сС тТ
уЎУў фФ хХ цЦ чЧ шШ щЩ ъЪ ыЫ ьЬ эЭ юЮ яЯ ђЂ єЄ ѕЅ іІЇї јЈ љЉ њЊ ћЋ џЏ ґҐ әӘ
)";

// The character that a text begins with. A byte that is not UTF-8 counts as Latin-1, which some
// archives use for names.
struct Character {
  std::string bytes;  // in UTF-8
  std::size_t length;
};
Character first_character(std::string_view text) {
  const std::size_t length = text::utf8_length(text);
  if (length > 0) return {std::string(text.substr(0, length)), length};
  const auto byte = static_cast<unsigned char>(text[0]);
  return {{static_cast<char>(0xC0 | byte >> 6), static_cast<char>(0x80 | (byte & 0x3F))}, 1};
}

// Spaces, hyphens, apostrophes, dots and the accents that follow a letter are not letters.
bool is_letter(const std::string& character) {
  if (character.size() == 1) return std::isalpha(static_cast<unsigned char>(character[0])) != 0;
  struct Span {
    std::string_view first, last;
  };
  // UTF-8 sorts in the order of its code points.
  constexpr Span kNoLetters[] = {{"\u0080", "\u00BF"}, {"\u02B0", "\u036F"}, {"\u2000", "\u206F"},
                                 {"\u3000", "\u3004"}, {"\u30FB", "\u30FB"}, {"\uFF00", "\uFF0F"}};
  return std::none_of(std::begin(kNoLetters), std::end(kNoLetters), [&](const Span& range) {
    return range.first <= character && character <= range.last;
  });
}

std::string plain(const std::string& letter) {
  if (letter == "ß" || letter == "ẞ") return "ss";
  const std::size_t at = kLetters.find(letter);
  if (at == kLetters.npos) return letter;
  return first_character(kLetters.substr(kLetters.find_last_of(" \n", at) + 1)).bytes;
}

}  // namespace

std::string name_key(std::string_view name) {
  std::vector<std::string> letters, numbers;
  bool in_number = false;
  while (!name.empty()) {
    const auto [character, length] = first_character(name);
    name.remove_prefix(length);
    const bool is_digit = character.size() == 1 && '0' <= character[0] && character[0] <= '9';
    if (is_digit && !in_number) numbers.emplace_back();
    if (is_digit) numbers.back() += character;
    in_number = is_digit;
    if (!is_letter(character)) continue;
    const std::string letter = plain(character);
    // People who cannot type ü write ue or u.
    if (letter != "e") letters.push_back(letter);
  }
  std::sort(letters.begin(), letters.end());
  std::sort(numbers.begin(), numbers.end());
  std::string key;
  for (const std::string& letter : letters) key += letter;
  for (const std::string& number : numbers) key += "," + number;
  return key;
}

Student student_of(const std::string& answer, const std::string& asked_for) {
  for (const std::string& whole : lines_of(answer)) {
    std::string line = trimmed(whole);
    if (line.starts_with("//")) line = trimmed(line.substr(2));
    if (!line.starts_with(kStudentLine)) continue;
    const std::string name = text::echoed(trimmed(line.substr(kStudentLine.size())));
    if (name.empty()) continue;
    return {name, !asked_for.empty() && name_key(name) != name_key(asked_for)};
  }
  return {text::echoed(asked_for), false};
}

std::string for_table(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ',' || c == '"'; }, ' ');
  return trimmed(name.substr(std::min(name.find_first_not_of("=+-@ "), name.size())));
}

namespace {

// The lines between the markers.
std::vector<LineRange> regions_of(const std::vector<std::string>& lines, const std::string& name) {
  std::vector<LineRange> regions;
  bool inside = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string line = trimmed(lines[i]);
    if (line == kRegionBegins) {
      if (inside) refuse(name, i, "a region begins inside another; restore the marker lines");
      regions.push_back({i + 1, i + 1});
      inside = true;
    } else if (line == kRegionEnds) {
      if (!inside) refuse(name, i, "a region ends that never began; restore the marker lines");
      regions.back().end = i;
      inside = false;
    }
  }
  if (inside) {
    refuse(
        name, regions.back().first - 1,
        std::string("no line \"") + kRegionEnds + "\" follows; restore it");
  }
  return regions;
}

bool is_blank(const std::vector<std::string>& lines, const std::vector<LineRange>& regions) {
  for (const LineRange& region : regions) {
    for (std::size_t i = region.first; i < region.end; ++i) {
      if (!trimmed(lines[i]).empty()) return false;
    }
  }
  return true;
}

}  // namespace

std::string assembled(
    const std::string& skeleton, const std::string& answer, const std::string& answer_name) {
  const std::vector<std::string> frame = lines_of(skeleton), own = lines_of(answer);
  const std::vector<LineRange> holes = regions_of(frame, "skeleton");
  const std::vector<LineRange> regions = regions_of(own, answer_name);
  if (holes.size() != regions.size()) {
    throw model::Refusal(
        answer_name + ": " + std::to_string(regions.size()) + " times a line \"" + kRegionBegins +
        "\", but the exercise has " + std::to_string(holes.size()) +
        "; begin again with a copy of its kernel.cu");
  }
  if (holes.empty()) return skeleton;
  if (is_blank(own, regions)) {
    throw NothingWritten(
        answer_name + ": nothing written yet; your code goes between the lines \"" + kRegionBegins +
        "\" and \"" + kRegionEnds + "\"");
  }
  const std::set<std::string> objects = objects_in(frame);
  std::string text;
  // The text that follows is line `line` of the answer. A #line directive cannot quote a name with
  // quotes or backslashes.
  std::string quoted = answer_name;
  std::erase_if(quoted, [](char c) { return c == '"' || c == '\\' || c == '\n'; });
  const auto says_line = [&](std::ptrdiff_t line) {
    text +=
        "#line " + std::to_string(std::max<std::ptrdiff_t>(1, line + 1)) + " \"" + quoted + "\"\n";
  };
  const auto append = [&](const std::vector<std::string>& lines, std::size_t first,
                          std::size_t end) {
    for (std::size_t i = first; i < end; ++i) text += lines[i] + "\n";
  };
  std::size_t done = 0;
  std::ptrdiff_t shift = 0;  // from the skeleton's line numbers to the answer's
  for (std::size_t r = 0; r < holes.size(); ++r) {
    check_kernel_code(own, regions[r], answer_name, objects);
    shift = static_cast<std::ptrdiff_t>(regions[r].first - holes[r].first);
    says_line(static_cast<std::ptrdiff_t>(done) + shift);
    append(frame, done, holes[r].first);
    // A scope of its own: its declarations must not change what the skeleton's code after it means.
    text += "{\n";
    says_line(static_cast<std::ptrdiff_t>(regions[r].first));
    append(own, regions[r].first, regions[r].end);
    text += "}\n";
    shift = static_cast<std::ptrdiff_t>(regions[r].end - holes[r].end);
    done = holes[r].end;
  }
  says_line(static_cast<std::ptrdiff_t>(done) + shift);
  append(frame, done, frame.size());
  return text;
}

std::string emptied(const std::string& kernel) {
  const std::vector<std::string> lines = lines_of(kernel);
  std::string text;
  std::size_t done = 0;
  for (const LineRange& region : regions_of(lines, "kernel")) {
    for (; done < region.first; ++done) text += lines[done] + "\n";
    done = region.end;
  }
  for (; done < lines.size(); ++done) text += lines[done] + "\n";
  return text;
}

}  // namespace grade
