#!/usr/bin/env bash
# Runs the bit-identity matrix (tests/identity) in full: every combination of where activations go,
# dtype, prefetch distance, bucket size, attention group, threads, chunk size and accumulation must
# give the same loss, gradient norm and weights bit for bit as the run with everything resident.
# `meson test` runs a covering selection; this takes about 36 CPU-minutes (0.37 s a cell, over 200
# cells on an Intel Xeon with AVX-512).
#
#   scripts/identity.sh [--cells N] [--processes P] [--shards S] [BUILD_DIR]
#
#   --cells N      only the first N cells of a shuffled order that never changes (default: all 5832)
#   --processes P  shards that run at once (default: one for two CPUs)
#   --shards S     pieces that the cells are dealt into (default: 10 a process)
#
# Shows how many cells have run, and ends with the count. The status is 0 only if every one of them
# ran and was right; what a shard printed is in BUILD_DIR/identity/, what went wrong is shown.
# EBBTIDE_LAUNCH, where it is set, is put before each shard's command ("nice -n 19").
set -euo pipefail
cd "$(dirname "$0")/.."

all_cells=5832
cells=$all_cells
processes=$((($(nproc) + 1) / 2))
shards=
build_dir=build
while [ $# -gt 0 ]; do
  case $1 in
    --cells) cells=$2 && shift 2 ;;
    --processes) processes=$2 && shift 2 ;;
    --shards) shards=$2 && shift 2 ;;
    -*) echo "identity: unknown flag $1" >&2 && exit 2 ;;
    *) build_dir=$1 && shift ;;
  esac
done
shards=${shards:-$((10 * processes))}
[ "$cells" -le $all_cells ] || cells=$all_cells
[ "$shards" -le "$cells" ] || shards=$cells

ninja -C "$build_dir" --quiet tests/identity/identity_test
test_program=$(realpath "$build_dir/tests/identity/identity_test")
logs=$build_dir/identity
rm -rf "$logs"
mkdir -p "$logs"
cd "$logs"

# run_shard K: every `shards`-th cell from the K-th on.
run_shard() {
  # A word list, so that the command may have arguments.
  # shellcheck disable=SC2086
  EBBTIDE_IDENTITY=$cells EBBTIDE_IDENTITY_SHARD=$1/$shards ${EBBTIDE_LAUNCH:-} \
    "$test_program" --gtest_filter='*EveryWayOfRunningGivesTheSameBits' >"shard-$1.log" 2>&1 ||
    touch "shard-$1.failed"
}
export -f run_shard
export cells shards test_program

count() { cat shard-*.log 2>/dev/null | grep -c "^cell $1:" || true; }
progress() { printf '%s of %s cells right, %s wrong' "$(count right)" "$cells" "$(count WRONG)"; }

seq 0 $((shards - 1)) | xargs -P "$processes" -I{} bash -c 'run_shard {}' &
runner=$!
interval=60
[ ! -t 1 ] || interval=2
while kill -0 $runner 2>/dev/null; do
  if [ -t 1 ]; then printf '\r%s' "$(progress)"; else echo "$(date +%H:%M:%S) $(progress)"; fi
  for ((i = 0; i < interval && $(kill -0 $runner 2>/dev/null && echo 1 || echo 0); ++i)); do
    sleep 1
  done
done
wait $runner || true
[ ! -t 1 ] || echo

status=0
for failed in shard-*.failed; do
  [ -e "$failed" ] || continue
  status=1
  echo "--- ${failed%.failed}"
  grep -v '^cell right' "${failed%.failed}.log"
done
right=$(count right)
[ "$right" -eq "$cells" ] || status=1
echo "$right of $cells cells gave the same bits ($all_cells in all); status $status"
exit $status
