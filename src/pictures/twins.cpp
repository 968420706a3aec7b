#include "pictures/twins.h"

#include <algorithm>
#include <string_view>

#include "text/numbers.h"

namespace pictures {

namespace {

bool are_twins(const OfStage& a, const OfStage& b) {
  return std::string_view(a.subject.name) == b.subject.name && a.drawing == b.drawing;
}

Picture picture_of(const std::vector<const OfStage*>& twins) {
  std::string file = "stage", numbers;
  for (std::size_t i = 0; i < twins.size(); ++i) {
    const std::string number = text::printed("%d", twins[i]->stage->number);
    file += (i == 0 ? "" : "-") + number;
    numbers += (i == 0 ? "" : i + 1 == twins.size() ? " and " : ", ") + number;
  }
  const Subject& subject = twins[0]->subject;
  const std::string who =
      twins.size() == 1 ? "Stage " + numbers + ", " + twins[0]->stage->name : "Stages " + numbers;
  return {file + "-" + subject.name, who + ": " + subject.words, twins[0]->drawing};
}

}  // namespace

std::vector<Picture> pictures_of_stages(const std::vector<OfStage>& drawn) {
  std::vector<Picture> pictures;
  for (auto one = drawn.begin(); one != drawn.end(); ++one) {
    const auto is_twin = [&](const OfStage& other) { return are_twins(*one, other); };
    if (std::any_of(drawn.begin(), one, is_twin)) continue;
    std::vector<const OfStage*> twins;
    for (auto other = one; other != drawn.end(); ++other) {
      if (is_twin(*other)) twins.push_back(&*other);
    }
    pictures.push_back(picture_of(twins));
  }
  return pictures;
}

}  // namespace pictures
