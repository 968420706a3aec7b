// What anybody's kernel did, in pictures: on a terminal, and as a part of a page.
#pragma once

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "pictures/block_requests.h"
#include "text/numbers.h"

namespace pictures {

struct ShownKernel {
  std::string name;
  std::string launch;   // its shape, in words
  BlockRequests block;  // the first one, as far as it came
  std::string source;   // lines with what each asks of memory; empty where that is not known
};

struct Show {
  std::string title;
  std::vector<std::string> complaints;  // a sentence each: hazards, wrong results, faults
  std::set<int> lines;                  // of the source, that complaints are about
  std::vector<ShownKernel> kernels;
};

// At most 100 columns wide, the pictures in it 80.
void print_show(std::FILE* out, const Show& show, text::Style style);

// The kernels' annotated source and pictures as HTML, all text escaped. A page has them in an
// element with the id "pictures" (src/page/page.css).
std::string show_html(const Show& show);

}  // namespace pictures
