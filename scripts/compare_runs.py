#!/usr/bin/env python3
"""Compares the logs of two runs of one training: all resident, and with most of it moved away.

Reads what `ebbtide train --log-json FILE --checksum` wrote. Prints the loss of every step and
whether both runs hold the same weights, then the peaks and the bytes moved. The status is 0 only
if loss, gradient norm and weight checksum are the same at every step, the loss fell, bytes went to
disk and came back, and the device peak is at least --least-ratio times smaller.
"""

import argparse
import json
import sys

SAME_IN_BOTH = ("step", "loss", "grad_norm", "weights_xxh3")
NEEDED = SAME_IN_BOTH + (
    "device_peak_bytes",
    "host_peak_bytes",
    "nvme_peak_bytes",
    "nvme_bytes_written",
    "nvme_bytes_read",
    "step_seconds",
)


class BadLog(Exception):
    pass


def read_log(path):
    """Returns one object a step; raises BadLog on a log that cannot be compared."""
    try:
        with open(path, encoding="utf-8") as file:
            steps = [json.loads(line) for line in file if line.strip()]
    except (OSError, ValueError) as error:
        raise BadLog(f"{path}: {error}") from error
    if not steps:
        raise BadLog(f"{path}: no step")
    for number, step in enumerate(steps, 1):
        missing = [name for name in NEEDED if name not in step]
        if missing:
            raise BadLog(f"{path}: line {number} lacks {', '.join(missing)}")
    return steps


def peak(steps, tier):
    return max(step[f"{tier}_peak_bytes"] for step in steps)


def total(steps, name):
    return sum(step[name] for step in steps)


def mib(size_bytes):
    return f"{size_bytes / 2**20:.1f} MiB"


def differences(resident, tiered):
    """Returns what differs, one line a step; each step compared bit by bit."""
    if len(resident) != len(tiered):
        return [f"{len(resident)} steps against {len(tiered)}"]
    return [
        f"step {a['step']}: {name} {a[name]!r} against {b[name]!r}"
        for a, b in zip(resident, tiered)
        for name in SAME_IN_BOTH
        if a[name] != b[name]
    ]


def print_steps(resident, tiered):
    print(f"{'step':>6}  {'loss':>9}  {'weights, all resident':<21}  {'weights, tiered':<16}")
    for a, b in zip(resident, tiered):
        verdict = "the same" if a["weights_xxh3"] == b["weights_xxh3"] else "DIFFERENT"
        print(
            f"{a['step']:>6}  {a['loss']:>9.5f}  {a['weights_xxh3']:<21}  "
            f"{b['weights_xxh3']:<16}  {verdict}"
        )


def print_totals(resident, tiered):
    print(f"{'':<22}  {'all resident':>14}  {'tiered':>14}")
    for label, value in [
        ("device peak", lambda run: mib(peak(run, "device"))),
        ("host arena peak", lambda run: mib(peak(run, "host"))),
        ("NVMe peak", lambda run: mib(peak(run, "nvme"))),
        ("written to NVMe", lambda run: mib(total(run, "nvme_bytes_written"))),
        ("read from NVMe", lambda run: mib(total(run, "nvme_bytes_read"))),
        ("seconds of steps", lambda run: f"{total(run, 'step_seconds'):.1f}"),
    ]:
        print(f"{label:<22}  {value(resident):>14}  {value(tiered):>14}")


def faults(resident, tiered, least_ratio):
    found = differences(resident, tiered)
    first, last = resident[0]["loss"], resident[-1]["loss"]
    if not last < first:
        found.append(f"the loss did not fall: {first} at first, {last} at last")
    for name in ("nvme_bytes_written", "nvme_bytes_read"):
        if total(tiered, name) == 0:
            found.append(f"{name} is 0 in the tiered run: nothing moved")
    if peak(tiered, "device") * least_ratio > peak(resident, "device"):
        found.append(
            f"device peak {peak(tiered, 'device')} bytes is less than {least_ratio:g} times below "
            f"{peak(resident, 'device')}"
        )
    return found


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("resident", help="log of the run with everything on the device")
    parser.add_argument("tiered", help="log of the run under small budgets")
    parser.add_argument("--least-ratio", type=float, default=8.0, help="default: %(default)s")
    options = parser.parse_args(arguments)
    try:
        resident, tiered = read_log(options.resident), read_log(options.tiered)
    except BadLog as error:
        print(f"compare_runs: {error}", file=sys.stderr)
        return 1
    print_steps(resident, tiered)
    print()
    print_totals(resident, tiered)
    print()
    found = faults(resident, tiered, options.least_ratio)
    for fault in found:
        print("FAULT", fault)
    if not found:
        ratio = peak(resident, "device") / peak(tiered, "device")
        print(
            f"The same weights, bit for bit, after each of {len(resident)} steps, with a device "
            f"peak {ratio:.1f} times smaller.\nLoss from {resident[0]['loss']:.4f} to "
            f"{resident[-1]['loss']:.4f}."
        )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
