#!/bin/sh
# deps.sh CXX: installs Debian packages that are missing to build and test. It needs root, or sudo
# without a password. It can also unpack doctest, which is one header, into build/deps without
# either. If none of this works, it says what to install and exits with 2.
set -u
packages=
command -v "$1" >/dev/null || packages="$packages g++"
command -v make >/dev/null || packages="$packages make"
doctest=usr/include/doctest/doctest.h
[ -e /$doctest ] || [ -e build/deps/$doctest ] || packages="$packages doctest-dev"
[ -n "$packages" ] || exit 0

if command -v apt-get >/dev/null; then
  if [ "$(id -u)" = 0 ]; then
    apt-get update -q && apt-get install -y -q $packages && exit 0
  elif sudo -n true 2>/dev/null; then
    sudo apt-get update -q && sudo apt-get install -y -q $packages && exit 0
  fi
fi

# Unpacks the package without installing it. The package lists may be missing, too.
unpack_doctest() {
  folder=$PWD/build/deps
  private="-o Dir::State::lists=$folder/lists -o Dir::Cache=$folder/cache -o Debug::NoLocking=1"
  mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" && cd "$folder" || return
  { apt-get download -q doctest-dev || { apt-get $private -q update && apt-get $private -q download doctest-dev; }; } \
    >log 2>&1 && dpkg -x doctest-dev_*.deb .
}
if [ "$packages" = " doctest-dev" ] && command -v apt-get >/dev/null && (unpack_doctest) && [ -e build/deps/$doctest ]; then
  exit 0
fi
echo "Please install:$packages (Debian's and Ubuntu's names)" >&2
exit 2
