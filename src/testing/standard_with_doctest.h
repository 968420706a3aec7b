// The same for tests.
#pragma once

#include <doctest/doctest.h>

#include "standard.h"
