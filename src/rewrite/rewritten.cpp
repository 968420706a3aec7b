#include "rewrite/rewritten.h"

#include "rewrite/inline_ptx.h"
#include "rewrite/launches.h"
#include "rewrite/qualifiers.h"
#include "rewrite/sgemm.h"

namespace rewrite {
namespace {

// Each receives the source that the previous one returned.
using Rewriter = std::string(std::string_view source);
constexpr Rewriter* kInOrder[] = {sgemm, qualifiers, launches, inline_ptx};

}  // namespace

std::string rewritten(std::string_view source) {
  std::string text(source);
  for (Rewriter* rewriter : kInOrder) text = rewriter(text);
  return text;
}

}  // namespace rewrite
