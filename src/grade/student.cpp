#include "grade/student.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "grade/lines.h"
#include "text/echoed.h"

namespace grade {

namespace {

// In each group the first letter stands for the others.
constexpr std::string_view kLetters = R"(
aAÀÁÂÃÄÅÆàáâãäåæĀāĂăĄąǍǎẠạẢảẤấẦầẨẩẪẫẬậẮắẰằẲẳẴẵẶặ bB cCÇçĆćĈĉĊċČč dDÐðĎďĐđ
eEÈÉÊËèéêëĒēĔĕĖėĘęĚěẸẹẺẻẼẽẾếỀềỂểỄễỆệ fF gGĜĝĞğĠġĢģǦǧ hHĤĥĦħ iIÌÍÎÏìíîïĨĩĪīĬĭĮįİıǏǐỈỉỊị jJĴĵ kKĶķǨǩ
lLĹĺĻļĽľŁł mM nNÑñŃńŅņŇň oOÒÓÔÕÖØòóôõöøŌōŎŏŐőŒœƠơǑǒǪǫỌọỎỏỐốỒồỔổỖỗỘộỚớỜờỞởỠỡỢợ pP qQ rRŔŕŖŗŘř
sSŚśŜŝŞşŠšſȘș tTÞþŢţŤťȚț uUÙÚÛÜùúûüŨũŪūŬŭŮůŰűŲųƯưǓǔǕǖǗǘǙǚǛǜỤụỦủỨứỪừỬửỮữỰự vV wWŴŵẀẁẂẃẄẅ xX
yYÝýÿŶŷŸỲỳỴỵỶỷỸỹ zZŹźŻżŽž ŋŊ ŧŦ αΆΑά βΒ γΓ δΔ εΈΕέ ζΖ ηΉΗή θΘ ιΊΐΙΪίϊ κΚ λΛ μΜ νΝ ξΞ οΌΟό πΠ ρΡ
σΣς τΤ υΎΥΫΰϋύ φΦ χΧ ψΨ ωΏΩώ аА бБ вВ гЃГѓ дД еЀЁЕѐё жЖ зЗ иЍИЙйѝ кЌКќ лЛ мМ нН оО пП рР сС тТ
уЎУў фФ хХ цЦ чЧ шШ щЩ ъЪ ыЫ ьЬ эЭ юЮ яЯ ђЂ єЄ ѕЅ іІЇї јЈ љЉ њЊ ћЋ џЏ ґҐ әӘ
)";

// The character that a text begins with. A byte that is no UTF-8 counts as Latin-1, in which some
// archives write names.
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

// Spaces, hyphens, apostrophes, dots and the accents that follow a letter are no letters.
bool is_letter(const std::string& character) {
  if (character.size() == 1) return std::isalpha(static_cast<unsigned char>(character[0])) != 0;
  struct Range {
    std::string_view first, last;
  };
  // UTF-8 is ordered as its code points are.
  constexpr Range kNoLetters[] = {{"\u0080", "\u00BF"}, {"\u02B0", "\u036F"}, {"\u2000", "\u206F"},
                                  {"\u3000", "\u3004"}, {"\u30FB", "\u30FB"}, {"\uFF00", "\uFF0F"}};
  return std::none_of(std::begin(kNoLetters), std::end(kNoLetters), [&](const Range& range) {
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
    // Who cannot type ü writes ue, or u.
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

}  // namespace grade
