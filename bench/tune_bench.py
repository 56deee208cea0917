#!/usr/bin/env python3
"""Does `ebbtide tune` find flags that are faster than a bad start, and never slower ones?

From chunks of 256 tokens, buckets of 64 KiB and no prefetch, on a link of 2 GB/s, it has to find
flags that are 1.3 times faster; from what `auto` comes to, flags that are not slower. Both are
measured again, apart from tuning, in interleaved pairs of `train` with the start's flags and with
the profile that tuning saved. Exit status 1 if the median of the pairs' ratios is below a limit.

Let nothing else run meanwhile.
"""
import argparse
import dataclasses
import json
import pathlib
import statistics
import sys
import tempfile

from real_runs import Runner, output_of

LINK = ["--link-bandwidth", "2000000000/s"]
MODEL = "deep"
SHAPE = "--seq-len 512 --grad-accumulation 4 --device-memory 24MiB --host-memory 2GiB".split()


@dataclasses.dataclass
class Case:
    name: str
    start: list[str]
    limit: float


# What tuning leaves as it is may come out a little slower by the machine's own spread.
CASES = [
    Case("bad start",
         "--chunk-tokens 256 --transfer-bucket-size 64KiB --prefetch-distance 0".split(), 1.3),
    Case("auto", [], 0.97),
]


def seconds_of(runner: Runner, flags: list[str], steps: int) -> float:
    return runner.train(MODEL, [*SHAPE, *LINK, *flags], steps)["seconds"]


def tuned(runner: Runner, case: Case, options: argparse.Namespace) -> dict:
    profile = runner.directory / "profile.toml"
    command = [runner.ebbtide, "tune", "--json", "--free", "all", "--force", "--time-limit",
               options.time_limit, "--save-profile", str(profile),
               *runner.flags(MODEL, [*SHAPE, *LINK, *case.start])]
    return json.loads(output_of(command))


def judge(runner: Runner, case: Case, options: argparse.Namespace) -> bool:
    report = tuned(runner, case, options)
    pairs = []
    for _ in range(options.pairs):
        start_s = seconds_of(runner, case.start, options.steps)
        pairs.append((start_s, seconds_of(runner, ["--profile", report["profile"]], options.steps)))
    ratios = sorted(start / own for start, own in pairs)
    ratio = statistics.median(ratios)
    kept = "keeps the start" if report["keeps_start"] else report["paste"]
    print(f"{case.name:10} tune: {report['gain']:.2f} x in {report['seconds']:.0f} s, {kept}\n"
          f"{'':10} again: {ratio:.2f} x ({ratios[0]:.2f} to {ratios[-1]:.2f}) in {len(pairs)} "
          f"pairs, {statistics.median(start for start, _ in pairs):.3f} s -> "
          f"{statistics.median(own for _, own in pairs):.3f} s; limit {case.limit} x", flush=True)
    return ratio >= case.limit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ebbtide", default="build/src/cli/ebbtide")
    parser.add_argument("--hardware", help="this machine as `ebbtide bench` measured it")
    parser.add_argument("--time-limit", default="60", help="of tune")
    parser.add_argument("--steps", type=int, default=3, help="counted steps of a run of a pair")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--only", default="", help="the case of this name")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        common = ["--hardware", options.hardware] if options.hardware else []
        runner = Runner(options.ebbtide, pathlib.Path(directory), common)
        runner.write_models()
        kept = [judge(runner, case, options) for case in CASES if options.only in ("", case.name)]
    sys.exit(0 if all(kept) else 1)


if __name__ == "__main__":
    main()
