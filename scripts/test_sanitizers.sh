#!/usr/bin/env bash
# Runs the suites of the engine and its tiers under ThreadSanitizer (in build-thread/) and under
# AddressSanitizer with UndefinedBehaviorSanitizer (in build-address/). Only what these suites
# need is built: oneDNN's OpenMP runtime is not instrumented, so TSan cannot judge what uses it.
#
#   scripts/test_sanitizers.sh [thread|address]...
set -euo pipefail
cd "$(dirname "$0")/.."

suites=(contract plan execute tiers)
kinds=("$@")
[ "${#kinds[@]}" -gt 0 ] || kinds=(thread address)

# Stops at the first report, so that a fault is a failed test and not a line in a log.
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

# g++'s TSan ends at once on kernels that spread addresses widely (vm.mmap_rnd_bits over 28), so
# addresses are left in place where that is allowed.
fixed_addresses=()
if setarch --addr-no-randomize true 2>/dev/null; then
  fixed_addresses=(setarch --addr-no-randomize)
fi

scripts/setup.sh --test
status=0
for kind in "${kinds[@]}"; do
  case "$kind" in
    thread) sanitize=thread ;;
    address) sanitize=address,undefined ;;
    *) echo "test_sanitizers: '$kind' is neither thread nor address" >&2; exit 2 ;;
  esac
  [ -f "build-$kind/build.ninja" ] ||
    meson setup "build-$kind" -Dbuildtype=debugoptimized -Db_sanitize="$sanitize" \
      -Db_lundef=false -Dbench=disabled
  # A sanitizer makes programs several times slower.
  "${fixed_addresses[@]}" scripts/run_tests.sh "build-$kind" --timeout-multiplier 4 \
    "${suites[@]/#/--suite=}" || status=1
done
exit "$status"
