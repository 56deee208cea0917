#!/usr/bin/env python3
"""Does `ebbtide profile` name what makes a run slow, and does following its advice make the step
shorter? Runs of the demo model, each slow for one reason, mostly behind a slow link; the step of the
run and of the run with the first advice are measured in turns. Buckets that are too small are not
among them: a copy of the cpu device has no latency to join away, and what its many tasks cost are
wake-ups, which count as dispatch. They are judged in virtual time (tests/profile).

What does not fit into a small host budget goes to the drive, so that the drive is what compute waits
for then: the advice has to name the budget. A drive is made slow by single blocks of 4 KiB with nothing beside them, data by a tool that holds
up every read (strace). Exit status 1 if a case is not as it must be.
"""
import argparse
import dataclasses
import json
import shutil
import statistics
import subprocess
import sys
import tempfile

BASE = ["--seq-len", "2K", "--chunk-tokens", "256", "--activations", "offload",
        "--device-memory", "16MiB", "--host-memory", "256MiB"]
LINK = ["--link-bandwidth", "400MiB/s"]
SLOW_DISK = ["--io-engine", "threads", "--io-block-size", "4096", "--io-queue-depth", "1"]


@dataclasses.dataclass
class Case:
    name: str
    causes: list[str]  # any of which may be the largest
    flags: list[str]
    uses_disk: bool = False
    before: list[str] = dataclasses.field(default_factory=list)
    advice: str | None = ""  # that the first advice begins with; None: there is none that helps


CASES = [
    Case("prefetch 0", ["late_issue"], [*BASE, *LINK, "--prefetch-distance", "0"]),
    Case("host budget too small", ["host_room", "disk_rate"],
         [*BASE, "--seq-len", "4K", "--host-memory", "80MiB", *SLOW_DISK], uses_disk=True,
         advice="--host-memory"),
    Case("slow disk", ["disk_rate"], [*BASE, *LINK, "--host-memory", "80MiB", *SLOW_DISK],
         uses_disk=True),
    Case("slow optimizer", ["host_optimizer"],
         ["--seq-len", "64", "--threads", "1", "--device-memory", "64MiB",
          "--host-memory", "256MiB"]),
    Case("slow data", ["data"], [*BASE, *LINK],
         before=["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=pread64",
                 "-e", "inject=pread64:delay_enter=400000"], advice=None),
]


def without_repeats(flags: list[str]) -> list[str]:
    """Of flags that come twice the last."""
    pairs = dict(zip(flags[::2], flags[1::2]))
    return [text for pair in pairs.items() for text in pair]


class Bench:
    def __init__(self, ebbtide: str, swap: str, hardware: str):
        self.ebbtide = ebbtide
        self.swap = swap
        self.hardware = ["--hardware", hardware] if hardware else []

    def profile(self, case: Case, more: list[str]) -> dict:
        disk = ["--nvme-path", self.swap, "--nvme-memory", "1GiB"] if case.uses_disk else []
        command = [*case.before, self.ebbtide, "profile", "--json", "--skip-first", "1",
                   *self.hardware, *without_repeats([*case.flags, *disk, *more])]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        return json.loads(done.stdout)

    def run(self, case: Case, pairs: int) -> bool:
        found = self.profile(case, [])
        still = found["still_seconds"]
        cause = max(still, key=still.get)
        print(f"{case.name}: {cause} {100 * still[cause] / found['step_seconds']:.0f} % of the "
              f"step{'' if cause in case.causes else '  WRONG'}")
        print("    " + found["verdict"].strip().replace("\n", "\n    "), flush=True)
        if case.advice is None:
            return cause in case.causes
        followed = [one for one in found["advice"] if "DIR" not in one["flags"]]
        if not followed:
            print("    no advice that can be followed here")
            return False
        if not followed[0]["flags"].startswith(case.advice):
            print(f"    WRONG: the first advice is not {case.advice}")
            return False
        flags = followed[0]["flags"].split()
        before, after = [], []
        for _ in range(pairs):
            before.append(self.profile(case, ["--active-steps", "3"])["step_seconds"])
            after.append(self.profile(case, [*flags, "--active-steps", "3"])["step_seconds"])
        gain = statistics.median(b / a for b, a in zip(before, after))
        print(f"    with {' '.join(flags)}: {statistics.median(before):.3f} s -> "
              f"{statistics.median(after):.3f} s, predicted {followed[0]['step_seconds']:.3f} s, "
              f"{gain:.2f} times as fast in the median of {pairs} pairs", flush=True)
        return cause in case.causes and gain > 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ebbtide", default="build/src/cli/ebbtide")
    parser.add_argument("--hardware", default="", help="this machine as `ebbtide bench` saw it")
    parser.add_argument("--nvme-path", default=".")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--only", default="", help="cases with this in their name")
    options = parser.parse_args()
    missing = [case.name for case in CASES
               if options.only in case.name and case.before and not shutil.which(case.before[0])]
    if missing:
        sys.exit(f"{', '.join(missing)}: strace is needed: apt install strace, or choose other cases "
                 "by --only")
    right = True
    with tempfile.TemporaryDirectory(dir=options.nvme_path) as swap:
        bench = Bench(options.ebbtide, swap, options.hardware)
        for case in CASES:
            if options.only not in case.name:
                continue
            right = bench.run(case, options.pairs) and right
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
