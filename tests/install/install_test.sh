#!/bin/sh
# Installs the library aside, then builds and runs a program outside the tree that knows it by
# pkg-config alone: once against the shared library, once against the static one.
# Usage: install_test.sh BUILD_DIR PREFIX PROGRAM_SOURCE COMPILER... (with its flags)
set -eu
build=$1 prefix=$2 source=$3
shift 3

aside=$(mktemp -d "$build/installed.XXXXXX")
trap 'rm -rf "$aside"' EXIT
meson install -C "$build" --destdir "$aside" --no-rebuild --quiet --tags devel,runtime
cp "$source" "$aside/own_ops.cpp"
cd "$aside"

pc=$(find "$aside$prefix" -name ebbtide.pc)
[ -n "$pc" ] || { echo "no ebbtide.pc was installed"; exit 1; }
libdir=$(dirname "$(dirname "$pc")")
ask() {
  PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --define-variable=prefix="$aside$prefix" "$@" ebbtide
}

echo "shared:"
"$@" -o own_ops_shared own_ops.cpp $(ask --cflags --libs)
LD_LIBRARY_PATH=$libdir ./own_ops_shared "$aside"

# Our archive with the shared libraries of others: theirs need more than Debian's -dev packages have.
echo "static:"
"$@" -o own_ops_static own_ops.cpp $(ask --cflags) \
  $(ask --static --libs | sed 's/-lebbtide/-l:libebbtide.a/')
./own_ops_static "$aside"
