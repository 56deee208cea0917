#!/usr/bin/env bash
# Installs what is missing, builds, runs every test. The last line is
# "N passed, N failed, N skipped"; the status is 0 only if tests ran and none failed.
#
#   scripts/test.sh [--sanitizers] [BUILD_DIR]
#
# BUILD_DIR is build/ unless given. --sanitizers also runs scripts/test_sanitizers.sh.
# EBBTIDE_JOBS sets how many compiles and test programs run at once (default: the cores).
set -euo pipefail
cd "$(dirname "$0")/.."

sanitizers=no
if [ "${1:-}" = --sanitizers ]; then
  sanitizers=yes
  shift
fi
build_dir=${1:-build}
jobs=${EBBTIDE_JOBS:-$(nproc)}

# The status of the steps is kept, so that one failure hides no other.
status=0
scripts/setup.sh --test
scripts/lint.sh || status=1

if [ -f "$build_dir/build.ninja" ]; then
  # The demo configures without tests where GoogleTest is missing.
  meson configure "$build_dir" -Dtests=enabled
else
  meson setup "$build_dir"
fi
ninja -C "$build_dir" -j "$jobs"
scripts/run_tests.sh "$build_dir" || status=1
build_dirs=("$build_dir")
if [ "$sanitizers" = yes ]; then
  scripts/test_sanitizers.sh || status=1
  build_dirs+=(build-thread build-address)
fi
[ "$status" = 0 ] || echo 'Not all is well: see above.'
scripts/count_tests.py "${build_dirs[@]}" || status=1
exit "$status"
