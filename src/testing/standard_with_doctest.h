// The same for tests.
#pragma once

#define DOCTEST_CONFIG_SUPER_FAST_ASSERTS  // they compile in an eighth less time
#include <doctest/doctest.h>

#include "standard.h"
