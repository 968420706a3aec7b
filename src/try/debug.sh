#!/bin/bash
# make debug KERNEL=file.cu BLOCK=1,0 THREAD=3,2: starts gdb, stopped in that thread of the file's
# first kernel. usage: debug.sh PROGRAM BLOCK THREAD [flags of the program]. GDB_FLAGS adds flags
# for gdb.
#
# At barriers, the program switches between the threads of a block. Each thread has a stack of its
# own, so gdb's `next` follows a thread by its frame, and needs no help.
set -u
program=$1
own=$(cd "$(dirname "$0")/.." && pwd -P)  # students may well have a folder called src
refuse() { echo "debug: $*" >&2; exit 2; }

# x, x,y or x,y,z as three numbers.
coordinates() {
  [[ $2 =~ ^[0-9]{1,9}(,[0-9]{1,9}){0,2}$ ]] ||
    refuse "$1=$2: not a position; write x, x,y or x,y,z, for example $1=1,0"
  local parts
  IFS=, read -ra parts <<< "$2"
  echo "$((10#${parts[0]})) $((10#${parts[1]:-0})) $((10#${parts[2]:-0}))"
}
block=$(coordinates BLOCK "$2") && thread=$(coordinates THREAD "$3") || exit 2
shift 3
command -v gdb > /dev/null || refuse "gdb is missing; install it (Debian's and Ubuntu's name: gdb)"
read -r bx by bz <<< "$block"
read -r tx ty tz <<< "$thread"
here="blockIdx.x == $bx && blockIdx.y == $by && blockIdx.z == $bz"
here+=" && threadIdx.x == $tx && threadIdx.y == $ty && threadIdx.z == $tz"

# The machine has no debug information; a function's first argument is in this register.
[ "$(uname -m)" = aarch64 ] && kernel=x0 || kernel=rdi

commands=$(mktemp) || exit 2
trap 'rm -f "$commands"' EXIT
cat > "$commands" << EOF2
set pagination off
set confirm off
set debuginfod enabled off
set print thread-events off
set breakpoint pending on
skip -rfu ^__(tsan|sanitizer|sync|pipeline|shfl|ballot|any|all|activemask)
skip -gfi "$own/simulator/machine/*"
skip -gfi "$own/simulator/trace/*"
skip -gfi "$own/simulator/cuda/*"
skip -gfi "$own/simulator/cuda/headers/*"
skip -rfu ^TLS
define at
  eval "break %s if $here", "\$arg0"
end
document at
at LINE: stop there, in the chosen thread only.
end
tbreak simt::run_grid
commands
silent
end
run
if \$_isvoid(\$_exitcode)
  eval "tbreak *%p if $here", \$$kernel
  continue
end
if \$_isvoid(\$_exitcode)
  next
  echo \nblock ($bx, $by, $bz), thread ($tx, $ty, $tz). next stays in it; at LINE stops there in it;\n
  echo print As, info locals and continue are gdb's own commands.\n
else
  echo \nNo kernel reached block ($bx, $by, $bz), thread ($tx, $ty, $tz): choose others with BLOCK=x,y THREAD=x,y.\n
end
EOF2
gdb -q -nx -x "$commands" ${GDB_FLAGS:-} --args "$program" "$@"
