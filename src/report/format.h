// How a report is written; what --format takes (markdown: an explanation only).
#pragma once

enum class Format { table, json, csv, markdown };
