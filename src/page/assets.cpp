#include "page/assets.h"

// page.mk recompiles this file when one of them changes.
#define EMBED(name, ...)                                                           \
  asm(".pushsection .rodata\n" #name ": " __VA_ARGS__ "\n.byte 0\n.popsection\n"); \
  extern "C" const char name[] __attribute__((visibility("hidden")))
#define FILE_OF_PAGE(file) ".incbin \"src/page/" file "\"\n"

EMBED(page_html, FILE_OF_PAGE("page.html"));
EMBED(
    page_css, FILE_OF_PAGE("page.css") FILE_OF_PAGE("player.css") FILE_OF_PAGE("calculators.css")
                  FILE_OF_PAGE("charts.css"));
EMBED(
    page_js,
    FILE_OF_PAGE("words.js") FILE_OF_PAGE("words_calculators.js") FILE_OF_PAGE("words_charts.js")
        FILE_OF_PAGE("dom.js") FILE_OF_PAGE("plot.js") FILE_OF_PAGE("rules.js")
            FILE_OF_PAGE("recording.js") FILE_OF_PAGE("replay.js") FILE_OF_PAGE("array_view.js")
                FILE_OF_PAGE("request_view.js") FILE_OF_PAGE("deed.js") FILE_OF_PAGE("counters.js")
                    FILE_OF_PAGE("fragments.js") FILE_OF_PAGE("block_view.js")
                        FILE_OF_PAGE("player.js") FILE_OF_PAGE("compare.js")
                            FILE_OF_PAGE("predict.js") FILE_OF_PAGE("calculators.js")
                                FILE_OF_PAGE("charts.js") FILE_OF_PAGE("page.js"));
#undef FILE_OF_PAGE
#undef EMBED

namespace page {

std::string_view page_template() {
  return page_html;
}

std::string_view page_style() {
  return page_css;
}

std::string_view page_script() {
  return page_js;
}

}  // namespace page
