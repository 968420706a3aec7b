// Parts of a JSON text, found in place, for tests that talk to a browser.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

namespace testing {

// The text of the value that begins at `at`, without a check of its inside.
inline std::string_view json_value(std::string_view json, std::size_t at) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t end = at; end < json.size(); ++end) {
    const char c = json[end];
    if (quoted) {
      if (c == '\\') ++end;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    const bool closes = c == '}' || c == ']';
    if (depth == 0 && (closes || c == ',' || c == ':')) return json.substr(at, end - at);
    if (c == '{' || c == '[') ++depth;
    if (closes && --depth == 0) return json.substr(at, end + 1 - at);
  }
  return json.substr(at);
}

// The text of an object's member, of that member's member and so on; empty if there is none. The
// JSON has no blanks between its tokens, as a browser writes it.
inline std::string_view json_member(
    std::string_view json, std::initializer_list<std::string_view> path) {
  for (const std::string_view wanted : path) {
    std::string_view found;
    for (std::size_t at = 1; json.starts_with('{') && at < json.size() && found.empty();) {
      const std::string_view name = json_value(json, at);
      const std::size_t begin = at + name.size() + 1;
      if (begin >= json.size()) break;
      const std::string_view value = json_value(json, begin);
      if (name.size() == wanted.size() + 2 && name.substr(1, wanted.size()) == wanted) {
        found = value;
      }
      at = begin + value.size() + 1;
    }
    json = found;
  }
  return json;
}

inline void append_utf8(std::string& text, std::uint32_t code) {
  const auto continued = [&](int shift) {
    text += static_cast<char>(0x80 | (code >> shift & 0x3f));
  };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    continued(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | code >> 12);
    continued(6), continued(0);
  } else {
    text += static_cast<char>(0xf0 | code >> 18);
    continued(12), continued(6), continued(0);
  }
}

// The text that a JSON string stands for. Anything else is returned as it is.
inline std::string json_unquoted(std::string_view json) {
  if (!json.starts_with('"') || json.size() < 2) return std::string(json);
  json = json.substr(1, json.size() - 2);
  const auto hex = [&](std::size_t at) {
    return static_cast<std::uint32_t>(std::stoul(std::string(json.substr(at, 4)), nullptr, 16));
  };
  std::string text;
  for (std::size_t at = 0; at < json.size(); ++at) {
    if (json[at] != '\\') {
      text += json[at];
      continue;
    }
    const char escaped = json[++at];
    constexpr std::string_view kLetters = "bfnrt", kControls = "\b\f\n\r\t";
    if (escaped == 'u') {
      std::uint32_t code = hex(at + 1);
      at += 4;
      const bool pair = code >= 0xd800 && code < 0xdc00 && json.substr(at + 1, 2) == "\\u";
      if (pair) {
        code = 0x10000 + ((code - 0xd800) << 10) + (hex(at + 3) - 0xdc00);
        at += 6;
      }
      append_utf8(text, code);
    } else if (const std::size_t letter = kLetters.find(escaped); letter != kLetters.npos) {
      text += kControls[letter];
    } else {
      text += escaped;
    }
  }
  return text;
}

// A text of valid UTF-8 as a JSON string.
inline std::string json_quoted(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      constexpr char kHex[] = "0123456789abcdef";
      json += {'\\', 'u', '0', '0', kHex[c >> 4 & 1], kHex[c & 15]};
      continue;
    }
    if (c == '"' || c == '\\') json += '\\';
    json += c;
  }
  return json + '"';
}

}  // namespace testing
