// How a report is written; what --format takes (markdown: an explanation only).
#pragma once

namespace report {

enum class Format { table, json, csv, markdown };

}  // namespace report
