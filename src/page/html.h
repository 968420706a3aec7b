// One self-contained page: the template, its style and scripts, and the data that they show.
#pragma once

#include <string>
#include <vector>

#include "page/scene_data.h"

namespace page {

struct Lesson {
  std::string title;
  std::string verdict;                  // one sentence, if there is nothing to complain about
  std::vector<std::string> complaints;  // a sentence each: hazards, wrong results, faults
  std::vector<ShownScene> scenes;
  std::vector<std::string> predictions;  // prediction_data() of each scene, if they are stages
  std::string calculators, charts;       // their data as JSON; empty: the page has none
  std::string pictures;                  // HTML below the player; what users wrote is escaped in it
};

// Needs no server, no other file and no network.
std::string lesson_html(const Lesson& lesson);

}  // namespace page
