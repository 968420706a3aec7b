// The stages and the variant that --stage and --variant name.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/gpus.h"
#include "model/stage.h"

namespace flags {

// The stages that `text` names, in the order of the table: a number (5), a range (3-6, or 3- up to
// the last), or a name or its beginning, ignoring case, blanks and dashes ("warp"). An empty text
// names all stages. Throws a Refusal that lists the stages if there is no such stage.
std::vector<const model::Stage*> select_stages(
    const std::string& text, std::span<const model::Stage> stages);

// The value for --variant that names the first variant of every stage.
inline constexpr const char* kFirstVariant = "first";

// The variant with that name, or the first if `name` is empty. Throws a Refusal that lists the
// stage's variants if it has none of that name, or none at all (the serial stage).
const model::Variant& select_variant(const model::Stage& stage, const std::string& name);

// The same, but if `name` is empty, the variant that suits C (M x N) on that GPU (model/stage.h).
const model::Variant& select_variant(
    const model::Stage& stage, const std::string& name, const model::Gpu& gpu, int M, int N);

}  // namespace flags
