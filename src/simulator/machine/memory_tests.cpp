#include "simulator/machine/memory.h"

#include <doctest/doctest.h>

#include <vector>

#if defined(__x86_64__)
namespace machine {

TEST_CASE("a call is found behind bytes that look like the offset of a thread-local variable") {
  const std::uintptr_t variable = built_in_variables()[0].begin;
  const auto thread = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  const auto offset = static_cast<std::uint32_t>(variable - thread);
  std::vector<unsigned char> code = {0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0,  // mov %fs:0, %rax
                                     0x48, 0x8d, 0x80};  // lea ..(%rax), %rax
  for (int byte = 0; byte < 4; ++byte)
    code.push_back(static_cast<unsigned char>(offset >> 8 * byte));
  // nop; call -1: the bytes from nop on are an offset, too.
  code.insert(code.end(), {0x90, 0xe8, 0xff, 0xff, 0xff, 0xff});
  REQUIRE(thread_locals().holds(thread + static_cast<std::int32_t>(0xffffe890)));
  const auto begin = reinterpret_cast<std::uintptr_t>(code.data());

  const References found = references_in(code);
  CHECK(found.locals.at(0) == variable);
  CHECK(found.places == std::vector<std::uintptr_t>{begin + code.size() - 1});
}

}  // namespace machine
#endif
