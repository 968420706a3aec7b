// gemm_steps --figures DIR: the lesson's pictures, from a trace of the stages.
#pragma once

#include <string>
#include <vector>

#include "model/stage.h"
#include "pictures/pictures.h"

namespace pictures {

// Traces the default variant of every stage and draws all pictures of the lesson.
std::vector<Picture> draw_pictures(const model::StageTable& table);

// Draws these and writes them with `others`, and prints a line "NAME.svg: what it shows" for each.
void draw_figures(
    const std::string& directory, const model::StageTable& table,
    const std::vector<Picture>& others);

// Writes each to DIR/NAME.svg, complete or not at all, and makes DIR where it is missing. Throws
// Refusal where that cannot be.
void write_pictures(const std::string& directory, const std::vector<Picture>& pictures);

}  // namespace pictures
