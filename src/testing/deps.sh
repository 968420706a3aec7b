#!/bin/sh
# What must be here to build and to test. A Debian package that is missing is installed if that needs no
# password: by root, or by sudo.
#   deps.sh compiler CXX [dry]  prints "gcc", its version, and 1 if it compiles for x86-64; otherwise a
#                               sentence that says what to do. dry: installs nothing
#   deps.sh doctest             is for the header of the tests, which can also be unpacked into build/deps.
#                               If none of this works, it says what to install and exits with 2.
set -u

install() {
  as_root="sudo -n"
  [ "$(id -u)" != 0 ] || as_root=
  command -v apt-get >/dev/null && $as_root true 2>/dev/null || return
  echo "$1 is missing, so apt-get is asked to install it" >&2
  { $as_root apt-get update -q && $as_root apt-get install -y -q "$1"; } >/dev/null 2>&1
}

# The package lists may be missing, too.
unpack_doctest() {
  folder=$PWD/build/deps
  private="-o Dir::State::lists=$folder/lists -o Dir::Cache=$folder/cache -o Debug::NoLocking=1"
  mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" && cd "$folder" || return
  { apt-get download -q doctest-dev || { apt-get $private -q update && apt-get $private -q download doctest-dev; }; } \
    >log 2>&1 && dpkg -x doctest-dev_*.deb .
}

if [ "$1" = doctest ]; then
  here() { [ -e /usr/$header ] || [ -e build/deps/usr/$header ]; }
  header=include/doctest/doctest.h
  here || install doctest-dev || (unpack_doctest) || true
  here || { echo "the tests need doctest: install it (Debian, Ubuntu: apt install doctest-dev)" >&2; exit 2; }
  exit
fi
compiler=$2
[ "$compiler" != g++ ] || command -v g++ >/dev/null || [ -n "${3:-}" ] || install g++
# A macro that is not defined stays as it is: __clang__ in GCC.
set -- $(echo __GNUC__ __clang__ __x86_64__ | $compiler -E -P -x c++ - 2>/dev/null)
case "${compiler##*/} $# ${2:-}" in
  gcc*) why="this does not link C++" ;;
  *\ 3\ __clang__) [ "$1" -lt 11 ] || exec echo "gcc $1 $3"; why="this is version $1" ;;
  *\ 3\ *) why="this is clang, which cannot trace kernels" ;;
  *) command -v "${compiler%% *}" >/dev/null && why="it does not compile C++" || why="there is no such program" ;;
esac
echo "$compiler: $why; install g++ 11 or newer (Debian, Ubuntu: apt install g++), or name one that is here: make CXX=path"
