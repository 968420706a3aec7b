#include "step/keys.h"

#include <algorithm>

#include "step/navigation.h"
#include "step/search.h"
#include "step/window.h"
#include "text/numbers.h"

namespace step {

namespace {

using Kind = model::RecordedEvent::Kind;

constexpr int kMostCount = 1'000'000;

bool belongs(const StepState& state, const model::RecordedEvent& event) {
  return !state.one_warp || event.warp < 0 || event.warp == state.warp;
}

}  // namespace

StepState apply(const StepScene& scene, StepState state, Key key) {
  state.message.clear();
  if (state.typing) {
    type(scene, state, key);
    return state;
  }
  if (state.help) {
    state.help = false;
    return state;
  }
  if (key >= '0' && key <= '9' && (key != '0' || state.count > 0)) {
    state.count = std::min(state.count * 10 + (key - '0'), kMostCount);
    return state;
  }
  const auto any_step = [&](const model::RecordedEvent& event) { return belongs(state, event); };
  const auto barrier = [](const model::RecordedEvent& event) {
    return event.kind == Kind::barrier;
  };
  const BlockSteps block = steps_of_block(scene.recording, state.at);
  constexpr int kPage = 8;
  switch (key) {
    case 'n':
    case ' ':
    case kRightKey:
      go_along(
          scene, state, 1, any_step,
          "this is the end of the block: o goes to the next block, s to the next stage");
      break;
    case 'p':
    case kLeftKey:
      go_along(scene, state, -1, any_step, "this is the start of the block");
      break;
    case 'b':
      go_along(scene, state, 1, barrier, "no barrier follows; G goes to the end of the block");
      break;
    case 'B':
      go_along(scene, state, -1, barrier, "there is no barrier before this step");
      break;
    case 's':
      choose_scene(state, 1);
      break;
    case 'S':
      choose_scene(state, -1);
      break;
    case 'o':
      choose_block(scene, state, 1);
      break;
    case 'O':
      choose_block(scene, state, -1);
      break;
    case 'w':
      choose_warp(scene, state, 1);
      break;
    case 'W':
      choose_warp(scene, state, -1);
      break;
    case 'l':
      choose_lane(scene, state, 1);
      break;
    case 'L':
      choose_lane(scene, state, -1);
      break;
    case 'f':
      state.one_warp = !state.one_warp;
      state.message = state.one_warp ? text::printed("n and p stay with warp %d", state.warp)
                                     : "n and p go through all warps";
      break;
    case 'g':
    case kHomeKey:
      go_to(scene, state, block.begin);
      break;
    case 'G':
    case kEndKey:
      go_to(scene, state, block.end - 1);
      break;
    case 'x':
      go_to_hazard(scene, state, 1);
      break;
    case 'X':
      go_to_hazard(scene, state, -1);
      break;
    case 'a':
      choose_array(scene, state);
      break;
    case kUpKey:
      scroll(scene, state, -1, 0);
      break;
    case kDownKey:
      scroll(scene, state, 1, 0);
      break;
    case kPageUpKey:
      scroll(scene, state, -kPage, 0);
      break;
    case kPageDownKey:
      scroll(scene, state, kPage, 0);
      break;
    case '<':
      scroll(scene, state, 0, -kPage);
      break;
    case '>':
      scroll(scene, state, 0, kPage);
      break;
    case '/':
      state.typing = true;
      state.search.clear();
      break;
    case 'r':
      search(scene, state);
      break;
    case '?':
    case 'h':
      state.help = true;
      break;
    case 'q':
    case 3:  // Ctrl-C, if the terminal passes it on
      state.quit = true;
      break;
    case kEscapeKey:
      break;
    default:
      state.message = "no such key; ? shows them all";
  }
  state.count = 0;
  return state;
}

}  // namespace step
