#!/usr/bin/env bash
# Runs the tests of a build folder and leaves their record in its meson-logs/.
#
#   scripts/run_tests.sh BUILD_DIR [arguments of meson test]
set -euo pipefail
build_dir=$1
shift
# Programs leave NAME.xml in the folder, which meson reads after a crash too: an old one would
# then pass for the result of this run.
rm -f "$build_dir"/*.xml "$build_dir"/meson-logs/testlog.*
exec meson test -C "$build_dir" --print-errorlogs --num-processes "${EBBTIDE_JOBS:-$(nproc)}" "$@"
