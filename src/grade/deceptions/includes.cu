// expect: only #pragma unroll
  // ---- your code ----
#include <unistd.h>
  // ---- end of your code ----
