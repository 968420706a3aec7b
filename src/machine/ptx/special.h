// PTX's special registers, as %laneid.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace machine::ptx {

// The number of that register, "%tid.x"; nothing if it is not known here.
std::optional<std::uint64_t> special_register(std::string_view name);

// Its value for the running thread.
std::uint64_t value_of_special(std::uint64_t number);

}  // namespace machine::ptx
