# Sourced: refused OBJECT SKELETON [MORE] checks the external symbols that a compiled answer needs; its
# text was checked before. Nothing may run before main. Instructions of the tensor cores, or of the copy
# engine, are for the exercises that include them.
#
# Prints the first symbol that is not for kernels, except those that match MORE, and in a second line
# 1 if code runs before main; nothing for an honest answer. If a tool fails: its name, and exit code 1.
refused() {
  local parts instructions=^$
  if grep -qx '#include "simulator/cuda/instructions.h"' "$2"; then
    instructions='^(_Z11ldmatrix_x4RA4_jPKv|_Z16mma_m16n8k8_tf32RA4_fRA4_KjRA2_S1_|_Z12cvt_rna_tf32f)$'
  elif grep -qx '#include "simulator/cuda/hopper_instructions.h"' "$2"; then
    instructions='^(_Z13mbarrier_(initPmj|waitPmj)|_Z19fence_mbarrier_initv|_Z15mbarrier_arrivePm|_Z25mbarrier_arrive_expect_txPmj|_Z23cp_async_bulk_tensor_2dPvPK11CUtensorMapiiPm|_Z13tensor_map_2dPKvmmm9TensorBoxN5model7SwizzleE13TensorElement|_Z(11wgmma_fence|18wgmma_commit_group)v|_Z(8bar_sync|10bar_arrive)ii|_Z24__cvta_generic_to_sharedPKv)$'
  fi
  # (The tracer's calls are among them: a list without them is not one. The one function of priority 99
  # is the compiler's own, for -fsanitize=thread.)
  parts=$(readelf -SsW "$1") && [[ $parts = *.text*__tsan_* ]] || { echo readelf; return 1; }
  awk -v instructions="$instructions|${3:-^$}" '
    sub(/^ *\[ *[0-9]+\] */, "") {
      if ($2 == "INIT_ARRAY" && !($1 == ".init_array.00099" && $5 == "000008")) own = 1
      if ($2 == "PREINIT_ARRAY" || $1 ~ /^\.ctors/) own = 1
      next
    }
    !sub(/^.* UND +/, "") || $1 == "" || $1 ~ instructions { next }
    $1 ~ /^(__tsan_|__sanitizer_cov_trace_pc$|__ubsan_handle_out_of_bounds$|simt_announce$|_ZN4simt|_Z[0-9]+__pipeline_|memcpy$|memset$)/ ||
    $1 ~ /^(threadIdx|blockIdx|blockDim|gridDim|warpSize|fmaf?|fmaxf?|fminf?|_GLOBAL_OFFSET_TABLE_|shared)$/ ||
    $1 ~ /^(_Z[0-9]+__f(add|sub|mul|maf)_rnf+|__(popcount|ffs|clz)[sd]i2|_ZN5model(10rounded_toENS_12NarrowFormatEdNS_6TowardE|7widenedEtNS_12NarrowFormatE))$/ ||
    $1 ~ /^(__stack_chk_fail|__gxx_personality_v0|_Unwind_Resume)$/ { next }
    stranger == "" || $1 < stranger { stranger = $1 }
    END { print stranger; if (own) print own }' <<< "$parts" || { echo awk; return 1; }
}
