#!/usr/bin/env bash
# Installs what is missing, builds, and trains the same small model on real text twice on the CPU
# device: with everything resident, then with a sixteenth of the device memory that this took, the
# rest of it on the host and on disk. Prints both peaks, the loss, the bytes moved, and whether the
# weights are the same bit for bit after every step; the status is 0 only if they are.
#
#   scripts/demo.sh [BUILD_DIR]
#
# EBBTIDE_NVME_PATH is where the swap files go (default: a folder in BUILD_DIR); they leave
# nothing behind.
set -euo pipefail
cd "$(dirname "$0")/.."

build_dir=${1:-build}
scripts/setup.sh
[ -f "$build_dir/build.ninja" ] || meson setup "$build_dir" -Dtests=auto >/dev/null
ninja -C "$build_dir" --quiet src/cli/ebbtide

runs=$build_dir/demo
swap=${EBBTIDE_NVME_PATH:-$runs/swap}
rm -rf "$runs"
mkdir -p "$runs" "$swap"

# train NAME FLAGS...: the same training every time; only where things are kept may differ.
train() {
  local name=$1
  shift
  "$build_dir/src/cli/ebbtide" train --model demo --data data/king_james_bible.txt \
    --seq-len 4K --chunk-tokens 256 --steps 12 --learning-rate 3e-3 --warmup-steps 2 --seed 1 \
    --device cpu --checksum --log-json "$runs/$name.jsonl" "$@"
}

# The largest number that the field of a log holds.
largest() {
  python3 -c '
import json, sys
print(max(json.loads(line)[sys.argv[1]] for line in open(sys.argv[2])))' "$1" "$2"
}

echo '1. Everything stays on the device.'
train resident --activations keep --parameter-tier device --gradient-tier device

peak=$(largest device_peak_bytes "$runs/resident.jsonl")
device=$((peak / 16))
host=$((2 * device))
echo
echo "2. The device has $device bytes, a sixteenth of the $peak that this took, and"
echo "   the host arena $host; the rest goes to $swap."
train tiered --activations offload --device-memory "$device" --host-memory "$host" \
  --nvme-path "$swap"

echo
scripts/compare_runs.py "$runs/resident.jsonl" "$runs/tiered.jsonl"
