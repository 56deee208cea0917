#!/usr/bin/env python3
"""How far are predicted step times from measured ones? Limits: 10 % in the median, 25 % at worst,
and every tier's planned peak is the bytes that were touched.

Each configuration is planned by `ebbtide plan` and run by `ebbtide train` with the same flags. The
machine's hardware file is --hardware, or is measured first by `ebbtide bench`. Exit status 1 if a
limit is missed. A run that others disturbed is made again, and what they took is printed.
"""
import argparse
import dataclasses
import pathlib
import statistics
import sys
import tempfile

from real_runs import TIERS, Runner, output_of, planned_peaks

MEDIAN_LIMIT = 0.10
WORST_LIMIT = 0.25


@dataclasses.dataclass
class Case:
    name: str
    model: str
    flags: list[str]


def case(model: str, dtype: str, seq_len: str, flags: str = "") -> Case:
    return Case(f"{model} {dtype} {seq_len} {flags}".replace("--", "").strip(), model,
                ["--dtype", dtype, "--seq-len", seq_len, *flags.split()])


KEEP = "--activations keep"
HOST = "--activations offload --activation-tier host"
NVME = "--activations offload --activation-tier nvme"
ON_HOST = "--parameter-tier host --gradient-tier host --optimizer-tier host"
ON_NVME = "--parameter-tier nvme --gradient-tier nvme --optimizer-tier nvme"

CASES = [
    # everything resident: models, dtypes, lengths, chunks, groups
    case("demo", "fp32", "2K", KEEP),
    case("demo", "bf16", "4K", f"{KEEP} --chunk-tokens 256 --attention-group 1"),
    case("demo", "fp32", "8K", f"{KEEP} --chunk-tokens 1K --attention-group 2"),
    case("short", "bf16", "32K", f"{KEEP} --chunk-tokens 2K"),
    case("short", "fp32", "16K", f"{KEEP} --chunk-tokens 512 --attention-group 4"),
    case("narrow", "fp32", "4K", KEEP),
    case("narrow", "bf16", "8K", f"{KEEP} --chunk-tokens 1K"),
    case("grouped", "fp32", "2K", KEEP),
    case("grouped", "bf16", "4K", f"{KEEP} --chunk-tokens 512"),
    case("wide", "fp32", "2K", f"{KEEP} --chunk-tokens 256"),
    case("wide", "bf16", "4K", f"{KEEP} --chunk-tokens 2K"),
    case("wider", "bf16", "2K", KEEP),
    case("deep", "bf16", "2K", f"{KEEP} --grad-accumulation 3"),
    # recomputed, in part or all
    case("demo", "bf16", "4K", "--activations recompute"),
    case("grouped", "fp32", "2K", "--offload-fraction 0.5 --activations recompute"),
    case("wide", "bf16", "2K", "--activations recompute --chunk-tokens 512"),
    # through the tiers
    case("demo", "fp32", "4K", HOST),
    case("wide", "bf16", "2K", f"{HOST} --chunk-tokens 512"),
    case("demo", "bf16", "8K", f"{NVME} --chunk-tokens 512 --attention-group 2"),
    case("grouped", "fp32", "2K", f"{NVME} --offload-fraction 0.5"),
    case("wider", "bf16", "2K", f"{ON_HOST} --activations auto"),
    case("wide", "fp32", "2K", f"{ON_NVME} {KEEP}"),
    # over a link that leaves time, and over links that bind
    case("demo", "bf16", "8K", f"{HOST} --chunk-tokens 1K --link-bandwidth 400MiB/s"),
    case("demo", "fp32", "4K", f"{HOST} --link-bandwidth 100MiB/s"),
    case("wide", "bf16", "2K", f"{HOST} --link-bandwidth 50MiB/s"),
    case("deep", "fp32", "2K", f"{ON_HOST} {HOST} --link-bandwidth 200MiB/s"),
    # a device that holds a part
    case("demo", "fp32", "4K", "--device-memory 48MiB --chunk-tokens 512"),
    case("grouped", "bf16", "4K", "--device-memory 64MiB --link-bandwidth 200MiB/s"),
]


@dataclasses.dataclass
class Outcome:
    case: Case
    predicted_s: float
    measured_s: float
    wrong_peaks: list[str]

    @property
    def error(self) -> float:
        return self.predicted_s / self.measured_s - 1


def show(outcome: Outcome, run: dict) -> None:
    peaks = "  ".join(f"{tier} {run['peaks'][tier] / 2**20:.1f} MiB" for tier in TIERS
                      if run["peaks"][tier])
    print(f"{outcome.case.name:78} {outcome.predicted_s:7.3f} s {outcome.measured_s:7.3f} s"
          f" ({run['least']:.3f} to {run['most']:.3f}) {100 * outcome.error:+6.1f} %"
          f"  others {100 * run['others']:.0f} %  {peaks}",
          flush=True)
    for wrong in outcome.wrong_peaks:
        print(f"    {wrong}", flush=True)


def compare(runner: Runner, one: Case, steps: int) -> Outcome:
    plan = runner.plan(one.model, one.flags)
    if not plan["fits"]:
        sys.exit(f"{one.name}: {plan['why_not']}")
    run = runner.train(one.model, one.flags, steps)
    wrong = [f"{tier} peak: {peak} bytes planned, {run['peaks'][tier]} touched"
             for tier, peak in planned_peaks(plan).items() if peak != run["peaks"][tier]]
    outcome = Outcome(one, plan["step_seconds"], run["seconds"], wrong)
    show(outcome, run)
    return outcome


def summary(outcomes: list[Outcome]) -> bool:
    """Whether all limits are kept."""
    errors = [abs(outcome.error) for outcome in outcomes]
    worst = max(outcomes, key=lambda outcome: abs(outcome.error))
    signed = statistics.median(outcome.error for outcome in outcomes)
    peaks = sum(not outcome.wrong_peaks for outcome in outcomes)
    print(f"{len(outcomes)} configurations: |predicted / measured - 1| "
          f"{100 * statistics.median(errors):.1f} % in the median (limit {100 * MEDIAN_LIMIT:.0f}), "
          f"{100 * max(errors):.1f} % at worst (limit {100 * WORST_LIMIT:.0f}): "
          f"{worst.case.name}; median error {100 * signed:+.1f} %; peaks as planned in {peaks}")
    return (statistics.median(errors) <= MEDIAN_LIMIT and max(errors) <= WORST_LIMIT
            and peaks == len(outcomes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ebbtide", default="build/src/cli/ebbtide")
    parser.add_argument("--hardware", help="this machine as `ebbtide bench` measured it")
    parser.add_argument("--nvme-path", default=".")
    parser.add_argument("--steps", type=int, default=3, help="counted steps of a run")
    parser.add_argument("--only", default="", help="configurations with this in their name")
    parser.add_argument("--shard", default="1/1", help="I/N: every Nth configuration, from the Ith")
    options = parser.parse_args()
    first, every = (int(part) for part in options.shard.split("/"))
    cases = [one for one in CASES if options.only in one.name][first - 1::every]
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory)
        hardware = options.hardware or str(path / "hardware.toml")
        if not options.hardware:
            output_of([options.ebbtide, "bench", "--nvme-path", options.nvme_path,
                       "--output", hardware])
        runner = Runner(options.ebbtide, path,
                        ["--hardware", hardware, "--nvme-path", options.nvme_path,
                         "--device-memory", "2GiB", "--host-memory", "2GiB",
                         "--nvme-memory", "8GiB"])
        runner.write_models()
        kept = summary([compare(runner, one, options.steps) for one in cases])
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
