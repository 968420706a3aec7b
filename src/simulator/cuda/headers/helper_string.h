// The functions of the CUDA samples' helper_string.h, for builds without the samples: arguments of
// the form -name or -name=value, with one dash or two.
// A program with its own version keeps that.
#pragma once

#if __has_include_next(<helper_string.h>)
#include_next <helper_string.h>
#else

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include <strings.h>

#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif
#ifndef STRCASECMP
#define STRCASECMP strcasecmp
#endif
#ifndef STRNCASECMP
#define STRNCASECMP strncasecmp
#endif
#ifndef STRCPY
#define STRCPY(to, bytes, from) strcpy(to, from)
#endif

inline int stringRemoveDelimiter(char delimiter, const char* text) {
  int start = 0;
  while (text[start] == delimiter) ++start;
  return text[start] == '\0' ? 0 : start;
}

namespace simt {
// What follows the "=" of -name=value, "" for -name; null if there is no such argument.
inline const char* argument_named(int argc, const char** argv, const char* name) {
  const std::size_t length = std::strlen(name);
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] != '-') continue;
    const char* const word = argv[i] + stringRemoveDelimiter('-', argv[i]);
    if (strncasecmp(word, name, length) != 0) continue;
    if (word[length] == '\0') return word + length;
    if (word[length] == '=') return word + length + 1;
  }
  return nullptr;
}
}  // namespace simt

inline bool checkCmdLineFlag(const int argc, const char** argv, const char* name) {
  return simt::argument_named(argc, argv, name) != nullptr;
}

inline int getCmdLineArgumentInt(const int argc, const char** argv, const char* name) {
  const char* const text = simt::argument_named(argc, argv, name);
  return text != nullptr ? std::atoi(text) : 0;
}

inline float getCmdLineArgumentFloat(const int argc, const char** argv, const char* name) {
  const char* const text = simt::argument_named(argc, argv, name);
  return text != nullptr ? static_cast<float>(std::atof(text)) : 0;
}

inline bool getCmdLineArgumentString(
    const int argc, const char** argv, const char* name, char** value) {
  const char* const text = simt::argument_named(argc, argv, name);
  *value = const_cast<char*>(text);
  return text != nullptr;
}

template <class T>
bool getCmdLineArgumentValue(const int argc, const char** argv, const char* name, T* value) {
  const char* const text = simt::argument_named(argc, argv, name);
  if (text == nullptr) return false;
  if (*text != '\0') *value = static_cast<T>(std::atoi(text));
  return true;
}

// The file itself, or in a folder data/ here or around here. The caller frees the path; it is null
// if there is no such file.
inline char* sdkFindFilePath(const char* file, const char* /*program*/) {
  for (const char* folder : {"./", "./data/", "../", "../data/", "../../data/", "../../../data/"}) {
    const std::string path = std::string(folder) + file;
    if (std::ifstream(path)) return strdup(path.c_str());
  }
  return nullptr;
}

#endif
