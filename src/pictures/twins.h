// Pictures of several stages that turn out the same.
#pragma once

#include <vector>

#include "pictures/pictures.h"

namespace pictures {

struct OfStage {
  const model::Stage* stage;
  Subject subject;
  Drawing drawing;
};

// A picture for each, in their order. Stages whose drawings of one subject are equal share one
// picture, which has all their numbers in its name and title: "stage3-4-banks". It stands where the
// first of them does.
std::vector<Picture> pictures_of_stages(const std::vector<OfStage>& drawn);

}  // namespace pictures
