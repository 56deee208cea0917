#!/usr/bin/env python3
"""How near is what `auto` chooses to the best setting that flags can ask for? Limit: 3 %.

Each case leaves activations, fraction, attention group and parameter tier to the search. Then all
settings of a grid are planned, those predicted within --within of the best are run, the fastest
again, and the best of them is run against `auto` in interleaved pairs. Where they are one plan,
the pairs show what the machine varies by. Exit status 1 if the median of the pairs' ratios is above
the limit in a case, or `auto` offloads where a case says that it must not.
"""
import argparse
import dataclasses
import itertools
import pathlib
import statistics
import sys
import tempfile

from real_runs import Runner

LIMIT = 1.03
FINALISTS = 3


@dataclasses.dataclass
class Case:
    name: str
    model: str
    flags: list[str]
    keeps: bool = False  # offloading everything is slower than nothing


CASES = [
    Case("ample device", "narrow", "--seq-len 4K --chunk-tokens 512".split(), keeps=True),
    Case("ample device, slow link", "demo",
         "--seq-len 2K --chunk-tokens 512 --link-bandwidth 50MiB/s".split(), keeps=True),
    Case("tight device", "demo", "--seq-len 2K --chunk-tokens 256 --device-memory 24MiB".split()),
    Case("tight device, slow link", "demo",
         "--seq-len 2K --chunk-tokens 256 --device-memory 32MiB --link-bandwidth 100MiB/s".split()),
    Case("tight device and host", "grouped",
         "--dtype bf16 --seq-len 2K --chunk-tokens 512 --device-memory 64MiB "
         "--host-memory 120MiB".split()),
    Case("weights past the device", "wide",
         "--seq-len 2K --chunk-tokens 512 --device-memory 48MiB --link-bandwidth 400MiB/s".split()),
]


def grid() -> list[list[str]]:
    activations = [["--activations", "keep"], ["--activations", "recompute"]]
    for fraction in ("1", "0.75", "0.5", "0.25"):
        for mode in ("auto", "offload"):
            activations.append(["--activations", mode, "--offload-fraction", fraction])
    groups = [["--attention-group", group] for group in ("1", "2", "4", "8")]
    tiers = [["--parameter-tier", tier, "--gradient-tier", tier, "--optimizer-tier", optimizer]
             for tier, optimizer in (("device", "host"), ("host", "host"), ("nvme", "nvme"))]
    return [sum(parts, []) for parts in itertools.product(activations, groups, tiers)]


def distinct_plans(runner: Runner, case: Case, within: float) -> list[list[str]]:
    """Settings of the grid, one a plan, of those predicted to be nearly as fast as the best."""
    plans: dict[str, tuple[float, list[str]]] = {}
    for setting in grid():
        plan = runner.plan(case.model, case.flags + setting)
        if plan["fits"]:
            plans.setdefault(plan["plan_fingerprint"], (plan["step_seconds"], setting))
    best_s = min(seconds for seconds, _ in plans.values())
    return [setting for seconds, setting in sorted(plans.values())
            if seconds <= (1 + within) * best_s]


def seconds_of(runner: Runner, case: Case, setting: list[str], steps: int) -> float:
    return runner.train(case.model, case.flags + setting, steps)["seconds"]


def best_setting(runner: Runner, case: Case, settings: list[list[str]]) -> list[str]:
    once = sorted((seconds_of(runner, case, setting, 1), setting) for setting in settings)
    again = [(seconds_of(runner, case, setting, 2) + seconds, setting)
             for seconds, setting in once[:FINALISTS]]
    return min(again)[1]


def text_of(plan: dict) -> str:
    saved = "/".join(f"{plan['saved_fraction'][part]:g}" for part in ("norms", "heads", "mlp"))
    return (f"{plan['activations']} {saved}, group {plan['attention_group']}, "
            f"weights on {plan['parameter_tier']}")


def offloads(plan: dict) -> bool:
    activations = (line for line in plan["bill"]["host"]["lines"] + plan["bill"]["nvme"]["lines"]
                   if line["category"] == "saved activations")
    return any(line["bytes"] for line in activations)


def judge(runner: Runner, case: Case, options: argparse.Namespace) -> bool:
    chosen = runner.plan(case.model, case.flags)
    settings = distinct_plans(runner, case, options.within)
    best = best_setting(runner, case, settings)
    best_plan = runner.plan(case.model, case.flags + best)
    pairs = [(seconds_of(runner, case, [], options.steps),
              seconds_of(runner, case, best, options.steps)) for _ in range(options.pairs)]
    ratios = sorted(auto / other for auto, other in pairs)
    ratio = statistics.median(ratios)
    same = "the same plan" if chosen["plan_fingerprint"] == best_plan["plan_fingerprint"] else ""
    print(f"{case.name:26} {len(settings):3} plans run   auto: {text_of(chosen):44} best: "
          f"{text_of(best_plan):44} {ratio:6.3f} x ({ratios[0]:.3f} to {ratios[-1]:.3f}) "
          f"{statistics.median(auto for auto, _ in pairs):.3f} s  {same}", flush=True)
    kept = ratio <= LIMIT
    if case.keeps:
        kept = keeps(runner, case, chosen, options.steps) and kept
    return kept


def keeps(runner: Runner, case: Case, chosen: dict, steps: int) -> bool:
    everything = seconds_of(runner, case, ["--activations", "offload"], steps)
    nothing = seconds_of(runner, case, ["--activations", "keep"], steps)
    does = "offloads" if offloads(chosen) else "keeps"
    print(f"{'':26} full offload takes {everything / nothing:.3f} of none; auto {does}", flush=True)
    return not offloads(chosen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ebbtide", default="build/src/cli/ebbtide")
    parser.add_argument("--hardware", required=True,
                        help="this machine as `ebbtide bench` measured it")
    parser.add_argument("--nvme-path", default=".")
    parser.add_argument("--steps", type=int, default=2, help="counted steps of a run of a pair")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--within", type=float, default=0.3,
                        help="of the best prediction, settings that are run")
    parser.add_argument("--only", default="", help="the case of this name")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        runner = Runner(options.ebbtide, pathlib.Path(directory),
                        ["--hardware", options.hardware, "--nvme-path", options.nvme_path,
                         "--device-memory", "2GiB", "--host-memory", "2GiB",
                         "--nvme-memory", "8GiB"])
        runner.write_models()
        kept = [judge(runner, case, options) for case in CASES
                if options.only in ("", case.name)]
    sys.exit(0 if all(kept) else 1)


if __name__ == "__main__":
    main()
