# Sourced: can_work NAME fails with one sentence if the tools that read object files are missing (3), or
# if no temporary file can be made (2).
can_work() {
  local tool temporary=${TMPDIR:-/tmp}
  for tool in nm readelf objcopy c++filt ld; do
    command -v "$tool" > /dev/null || { echo "$1: $tool is missing; install binutils, to which it belongs" >&2; return 3; }
  done
  [ -d "$temporary" ] && [ -w "$temporary" ] && [ -x "$temporary" ] || {
    echo "$1: no temporary file can be made in $temporary; set TMPDIR to a folder that can be written" >&2
    return 2
  }
}
