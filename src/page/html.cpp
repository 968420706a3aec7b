#include "page/html.h"

#include <string_view>
#include <utility>

#include "page/assets.h"
#include "pictures/svg.h"
#include "text/json.h"

namespace page {

namespace {

std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ",\n") + item;
  return "[" + text + "]";
}

std::string data_of(const Lesson& lesson) {
  std::vector<std::string> scenes, complaints;
  for (const ShownScene& scene : lesson.scenes) scenes.push_back(scene_data(scene));
  for (const std::string& complaint : lesson.complaints) {
    complaints.push_back(text::json_string(complaint));
  }
  const auto or_null = [](const std::string& json) { return json.empty() ? "null" : json; };
  return "{\"title\":" + text::json_string(lesson.title) +
         ",\"verdict\":" + text::json_string(lesson.verdict) +
         ",\"complaints\":" + joined(complaints) + ",\"scenes\":" + joined(scenes) +
         ",\"predictions\":" + joined(lesson.predictions) +
         ",\"calculators\":" + or_null(lesson.calculators) +
         ",\"charts\":" + or_null(lesson.charts) + "}";
}

// JSON within a script element: no text in it can end the element.
std::string within_script(std::string_view json) {
  std::string safe;
  for (const char c : json) safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return safe;
}

}  // namespace

std::string lesson_html(const Lesson& lesson) {
  const std::pair<std::string_view, std::string> parts[] = {
      {"{{title}}", pictures::xml_escaped(lesson.title)},
      {"{{style}}", std::string(page_style())},
      {"{{pictures}}", lesson.pictures},
      {"{{data}}", within_script(data_of(lesson))},
      {"{{script}}", std::string(page_script())}};
  // What is put in is not searched for places again.
  std::string html;
  std::string_view rest = page_template();
  while (!rest.empty()) {
    std::size_t place = rest.size(), length = 0;
    const std::string* put = nullptr;
    for (const auto& [name, value] : parts) {
      const std::size_t at = rest.find(name);
      if (at >= place) continue;
      place = at;
      length = name.size();
      put = &value;
    }
    html += rest.substr(0, place);
    if (put != nullptr) html += *put;
    rest.remove_prefix(place + length);
  }
  return html;
}

}  // namespace page
