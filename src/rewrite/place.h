// Where a token of preprocessed source stands in the user's files.
#pragma once

#include <string>
#include <string_view>

#include "rewrite/tokens.h"

namespace rewrite {

// "file.cu:12", by the last line marker before the token; "line 12" if there is none.
std::string place_of(std::string_view source, const Token& token);

}  // namespace rewrite
