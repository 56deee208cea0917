"""Small models, and runs of `ebbtide plan` and `ebbtide train` with the same flags, for the benches
that set what was planned beside what came of it."""
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

TIERS = ("device", "host", "nvme")


def shape(layers: int, hidden: int, heads: int, kv_heads: int, ffn: int, **more: object) -> dict:
    return {"model_type": "llama", "architectures": ["LlamaForCausalLM"],
            "num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads,
            "num_key_value_heads": kv_heads, "intermediate_size": ffn, "vocab_size": 256,
            "tie_word_embeddings": False, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
            "hidden_act": "silu", "max_position_embeddings": 32768} | more


MODELS = {
    "short": shape(1, 128, 2, 2, 344),
    "narrow": shape(2, 192, 3, 1, 512, tie_word_embeddings=True),
    "deep": shape(8, 256, 4, 4, 688),
    "grouped": shape(3, 384, 6, 2, 1024, vocab_size=2048),
    "wide": shape(2, 512, 8, 8, 1376),
    "wider": shape(2, 1024, 8, 2, 2816),
}


# A run is made again, so often, where others took more than this part of the CPUs meanwhile.
MOST_OF_OTHERS = 0.05
MOST_TRIES = 3


def busy_seconds() -> float:
    """That all CPUs together spent since boot, those that the hypervisor gave away included."""
    user, nice, system, _, _, irq, softirq, steal = (
        int(text) for text in open("/proc/stat", encoding="ascii").readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def child_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def output_of(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


class Runner:
    """Runs of one machine. The flags `common`, pairs, go to all that do not give their own."""

    def __init__(self, ebbtide: str, directory: pathlib.Path, common: list[str]):
        self.ebbtide = ebbtide
        self.directory = directory
        self.common = common

    def write_models(self) -> None:
        for name, config in MODELS.items():
            (self.directory / name).mkdir()
            (self.directory / name / "config.json").write_text(json.dumps(config),
                                                               encoding="utf-8")

    def flags(self, model: str, flags: list[str]) -> list[str]:
        where = str(self.directory / model) if model in MODELS else model
        given = set(flags)
        common = [text for flag, value in zip(self.common[::2], self.common[1::2])
                  if flag not in given for text in (flag, value)]
        return ["--model", where, *common, *flags]

    def plan(self, model: str, flags: list[str]) -> dict:
        command = [self.ebbtide, "plan", "--json", *self.flags(model, flags)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 2) or not done.stdout:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        return json.loads(done.stdout)

    def train(self, model: str, flags: list[str], steps: int) -> dict:
        """The first step warms up and is not counted. Of several tries the least disturbed."""
        tries: list[dict] = []
        while not tries or (tries[-1]["others"] > MOST_OF_OTHERS and len(tries) < MOST_TRIES):
            tries.append(self.try_train(model, flags, steps))
        return min(tries, key=lambda run: run["others"])

    def try_train(self, model: str, flags: list[str], steps: int) -> dict:
        log = self.directory / "log.jsonl"
        log.unlink(missing_ok=True)
        start_s, all_s, own_s = time.monotonic(), busy_seconds(), child_seconds()
        output_of([self.ebbtide, "train", *self.flags(model, flags), "--steps", str(steps + 1),
                   "--log-json", str(log)])
        others_s = (busy_seconds() - all_s) - (child_seconds() - own_s)
        cpu_s = (time.monotonic() - start_s) * (os.cpu_count() or 1)
        return measured(log.read_text(encoding="utf-8")) | {"others": max(0.0, others_s / cpu_s)}


def measured(log: str) -> dict:
    steps = [json.loads(line) for line in log.splitlines()][1:]
    seconds = sorted(step["step_seconds"] for step in steps)
    return {"seconds": statistics.median(seconds), "least": seconds[0], "most": seconds[-1],
            "exposed": statistics.median(sum(step["exposed_seconds"].values()) for step in steps),
            "peaks": {tier: steps[-1][f"{tier}_peak_bytes"] for tier in TIERS},
            "loss": steps[-1]["loss"]}


def planned_peaks(plan: dict) -> dict[str, int]:
    return {tier: plan[f"{tier}_peak_bytes"] for tier in TIERS}
