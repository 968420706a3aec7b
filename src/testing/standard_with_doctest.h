// The same for tests.
#pragma once

#include <doctest/doctest.h>

#include <regex>

#include "standard.h"
