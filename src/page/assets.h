// The page's own files, which travel in the program.
#pragma once

#include <string_view>

namespace page {

std::string_view page_template();  // page.html
std::string_view page_style();     // all .css files
std::string_view page_script();    // all .js files, in the order in which they need each other

}  // namespace page
