// How a report is written; what --format takes.
#pragma once

enum class Format { table, json, csv };
