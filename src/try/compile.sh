#!/bin/sh
# compile.sh OUT.o COMPILER FLAGS...: compiles the CUDA file named by KERNEL for the CPU, and
# explains two common errors: <<< >>>, which is not C++, and a missing sgemm.
set -u
out=$1
shift
mkdir -p "$(dirname "$out")"
[ ! -t 2 ] || set -- "$@" -fdiagnostics-color=always
src/try/limited.sh "$KERNEL" "$@" -c "$KERNEL" -o "$out" || {
  code=$?
  rm -f "$out" "$out.d"
  [ $code != 124 ] || exit 1
  grep -n '<<<' "$KERNEL" | while IFS=: read -r line _; do
    echo "$KERNEL:$line: write launch(kernel, grid, block, shared_bytes, arguments...) in place of <<< >>>" >&2
  done
  exit 1
}
readelf -sW "$out" | grep -qw _Z5sgemmiiifPKfS0_fPf || {
  echo "$KERNEL: defines no" \
    "void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C)" >&2
  exit 1
}
