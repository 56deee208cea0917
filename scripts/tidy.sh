#!/usr/bin/env bash
# Runs clang-tidy 14 over host files with the compile commands of a build folder. Some 10 seconds a
# file: for a change at hand, not for every run of CI.
#
#   scripts/tidy.sh [--build BUILD_DIR] FILE.cpp...     (without files: all of ours)
set -euo pipefail
cd "$(dirname "$0")/.."

build_dir=build
if [ "${1:-}" = --build ]; then
  build_dir=$2
  shift 2
fi
scripts/setup.sh --dev
files=("$@")
[ "${#files[@]}" -gt 0 ] || mapfile -t files < <(find contract tiering kernels/cpu src -name '*.cpp' | sort)
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "${EBBTIDE_JOBS:-$(nproc)}" clang-tidy-14 -p "$build_dir" --quiet
