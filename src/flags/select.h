// The stages and the variant that --stage and --variant name.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/stage.h"

namespace flags {

// The stages that `text` names, in the order of the table: a number (5), a range (3-6, or 3- to the
// last), a name or its beginning without case, blanks and dashes ("warp"); all of them where it is
// empty. Throws a Refusal that lists the stages if there is no such stage.
std::vector<const model::Stage*> select_stages(
    const std::string& text, std::span<const model::Stage> stages);

// The variant of that name, the default where `name` is empty. Throws a Refusal that lists the
// stage's variants if it has none of that name, or none at all (the serial stage).
const model::Variant& select_variant(const model::Stage& stage, const std::string& name);

}  // namespace flags
