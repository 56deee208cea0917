#!/usr/bin/env python3
"""What do recorded steps cost? Limit: 1 % of the step.

`train` runs in interleaved pairs with nothing recorded and with every step recorded, written to a
trace and seen by the page of --report. What is done with a record between two steps counts as much
as what is done within one, so the seconds of a run's steps are those from the end of one step to the
end of the next. Beside the ratio stands its standard error: the machine varies by more than the
limit, so many pairs are needed. Exit status 1 if the ratio is above the limit by more than two
standard errors.

Let nothing else run meanwhile.
"""
import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from real_runs import Runner

LIMIT = 1.01
FLAGS = ("--seq-len 4K --chunk-tokens 256 --activations offload --device-memory 32MiB "
         "--host-memory 1GiB --nvme-memory 0").split()


def seconds_a_step(runner: Runner, flags: list[str], steps: int) -> float:
    """By the time at which the line of each step comes; the first two steps warm up."""
    command = [runner.ebbtide, "train", *runner.flags("demo", FLAGS + flags),
               "--steps", str(steps + 2)]
    ends = []
    with subprocess.Popen(["stdbuf", "-oL", *command], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        for line in run.stdout:
            if line.startswith("step "):
                ends.append(time.monotonic())
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {run.returncode}")
    return (ends[-1] - ends[1]) / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ebbtide", default="build/src/cli/ebbtide")
    parser.add_argument("--steps", type=int, default=4, help="counted steps of a run")
    parser.add_argument("--pairs", type=int, default=12)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory)
        runner = Runner(options.ebbtide, folder, [])
        recorded = ["--trace", str(folder / "trace.json"), "--trace-steps", "1000",
                    "--report", str(folder / "report.html")]
        ratios = []
        for pair in range(options.pairs):
            order = ([], recorded) if pair % 2 == 0 else (recorded, [])
            seconds = {bool(flags): seconds_a_step(runner, flags, options.steps)
                       for flags in order}
            ratios.append(seconds[True] / seconds[False])
    ratios.sort()
    ratio = statistics.mean(ratios)
    error = statistics.stdev(ratios) / len(ratios) ** 0.5
    print(f"recording every step takes {ratio:.4f} times the step (standard error {error:.4f}, "
          f"{len(ratios)} pairs, {ratios[0]:.3f} to {ratios[-1]:.3f})")
    sys.exit(ratio - 2 * error > LIMIT)


if __name__ == "__main__":
    main()
