#!/usr/bin/env python3
"""What does offloading cost? Step time of runs that offload, over the all-resident run's.

Runs `ebbtide train` in interleaved rounds, so that a drift of the machine meets all alike, and
prints for each setting the median of the rounds' ratios with its spread:

  host, nvme   every saved activation leaves the device and comes back
  link         the same to the host, over a link paced so that each direction is busy for 70 % of
               the resident step (limit 1.05), and beside it with --prefetch-distance 0

The first step of a run warms up and is not counted.
"""
import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile

UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def moved_bytes(output: str) -> dict[str, float]:
    """Bytes by lane, from the line at the end of a run."""
    line = next(text for text in output.splitlines() if text.strip().startswith("moved"))
    return {lane: float(number) * UNITS[unit]
            for lane, number, unit in re.findall(r"(\w+) ([\d.]+) (\w+)", line)}


def run(options: argparse.Namespace, flags: list[str]) -> dict:
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as log:
        command = [options.ebbtide, "train", "--model", options.model, "--dtype", options.dtype,
                   "--seq-len", str(options.seq_len), "--steps", str(options.steps + 1),
                   "--log-json", log.name, *flags]
        if options.hardware:
            command += ["--hardware", options.hardware]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        steps = [json.loads(line) for line in open(log.name, encoding="utf-8")][1:]
    moved = {lane: total / (options.steps + 1) for lane, total in moved_bytes(done.stdout).items()}
    return {"seconds": statistics.median(step["step_seconds"] for step in steps),
            "exposed": statistics.median(sum(step["exposed_seconds"].values()) for step in steps),
            "loads": sum(step["loads"] for step in steps),
            "in_time": sum(step["loads_in_time"] for step in steps),
            "device": steps[-1]["device_peak_bytes"], "moved": moved, "loss": steps[-1]["loss"]}


def show(name: str, runs: list[dict], resident: list[dict]) -> None:
    ratios = sorted(a["seconds"] / b["seconds"] for a, b in zip(runs, resident))
    last = runs[-1]
    moved = ", ".join(f"{lane} {total / 2**20:.0f}" for lane, total in last["moved"].items() if total)
    print(f"{name:24} {statistics.median(ratios):5.3f} x  ({ratios[0]:.3f} to {ratios[-1]:.3f})  "
          f"step {last['seconds']:6.2f} s  exposed {last['exposed']:5.2f} s  "
          f"device {last['device'] / 2**20:6.0f} MiB  MiB a step: {moved}", flush=True)
    if last["loads"]:
        shares = sorted(100 * a["in_time"] / a["loads"] for a in runs)
        print(f"{'':24} {statistics.median(shares):.1f} % of {last['loads']} loads done before their "
              f"use ({shares[0]:.1f} to {shares[-1]:.1f})", flush=True)
    if any(a["loss"] != b["loss"] for a, b in zip(runs, resident)):
        sys.exit(f"{name}: the loss differs from the resident run's")


def rounds(options: argparse.Namespace, settings: dict[str, list[str]]) -> dict[str, list[dict]]:
    results: dict[str, list[dict]] = {name: [] for name in settings}
    for _ in range(options.rounds):
        for name, flags in settings.items():
            results[name].append(run(options, flags))
    for name in settings:
        show(name, results[name], results["resident"])
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ebbtide", default="build/src/cli/ebbtide")
    parser.add_argument("--model", default="demo")
    parser.add_argument("--dtype", default="bf16")
    parser.add_argument("--seq-len", type=int, default=16384)
    parser.add_argument("--steps", type=int, default=1, help="counted steps of a run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nvme-path", default=".")
    parser.add_argument("--hardware", help="this machine as `ebbtide bench` measured it")
    options = parser.parse_args()
    keep = ["--activations", "keep"]
    host = ["--activations", "offload", "--activation-tier", "host"]
    nvme = ["--activations", "offload", "--activation-tier", "nvme", "--nvme-path", options.nvme_path]
    plain = rounds(options, {"resident": keep, "host": host, "nvme": nvme})
    resident_s = statistics.median(result["seconds"] for result in plain["resident"])
    busiest = max(plain["host"][-1]["moved"][lane] for lane in ("d2h", "h2d"))
    rate = int(busiest / (0.7 * resident_s))
    print(f"link of {rate / 2**20:.1f} MiB/s: {busiest / 2**20:.0f} MiB take 70 % of {resident_s:.2f} s")
    link = ["--link-bandwidth", f"{rate}/s"]
    # The resident run has no use for the link: its pace is not the question.
    rounds(options, {"resident": keep, "link": host + link,
                     "link, prefetch 0": host + link + ["--prefetch-distance", "0"]})


if __name__ == "__main__":
    main()
