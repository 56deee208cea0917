#!/usr/bin/env python3
"""Is Ebbtide as fast as PyTorch where everything stays resident?

Trains the same Llama shape with the same tokens a step, threads and dtype in both, in interleaved
rounds, and prints for fp32 and bf16 the ratio of tokens a second (Ebbtide over PyTorch; more is
better for Ebbtide): the median of the rounds' ratios and its spread.

PyTorch gets its best here: a model without a framework around it, fused attention
(scaled_dot_product_attention), fused AdamW, clipping by foreach; bf16 is autocast over fp32
weights. --compile adds torch.compile. The first steps of a run warm up and are not counted.

Needs torch from PyPI in the Python that runs this. It is no part of the tests.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional

WARM_UP_STEPS = 2
ROPE_THETA = 10000.0


class Layer(nn.Module):
    def __init__(self, shape: dict):
        super().__init__()
        self.heads, self.kv_heads = shape["num_attention_heads"], shape["num_key_value_heads"]
        hidden, ffn = shape["hidden_size"], shape["intermediate_size"]
        self.head_dim = hidden // self.heads
        kv = self.kv_heads * self.head_dim
        self.input_norm = nn.RMSNorm(hidden, eps=1e-5)
        self.q = nn.Linear(hidden, hidden, bias=False)
        self.k = nn.Linear(hidden, kv, bias=False)
        self.v = nn.Linear(hidden, kv, bias=False)
        self.o = nn.Linear(hidden, hidden, bias=False)
        self.ffn_norm = nn.RMSNorm(hidden, eps=1e-5)
        self.gate = nn.Linear(hidden, ffn, bias=False)
        self.up = nn.Linear(hidden, ffn, bias=False)
        self.down = nn.Linear(ffn, hidden, bias=False)

    def attention(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        batch, tokens, hidden = x.shape

        def heads_of(linear: nn.Linear, heads: int) -> torch.Tensor:
            return linear(x).view(batch, tokens, heads, self.head_dim).transpose(1, 2)

        def rotated(t: torch.Tensor) -> torch.Tensor:
            first, second = t.chunk(2, dim=-1)
            return t * cosine + torch.cat((-second, first), dim=-1) * sine

        q, k, v = rotated(heads_of(self.q, self.heads)), heads_of(self.k, self.kv_heads), \
            heads_of(self.v, self.kv_heads)
        out = functional.scaled_dot_product_attention(
            q.to(v.dtype), rotated(k).to(v.dtype), v, is_causal=True, enable_gqa=True)
        return self.o(out.transpose(1, 2).reshape(batch, tokens, hidden))

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.input_norm(x), cosine, sine)
        normed = self.ffn_norm(x)
        return x + self.down(functional.silu(self.gate(normed)) * self.up(normed))


class Llama(nn.Module):
    def __init__(self, shape: dict, tokens: int):
        super().__init__()
        hidden, vocab = shape["hidden_size"], shape["vocab_size"]
        self.embedding = nn.Embedding(vocab, hidden)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape["num_hidden_layers"]))
        self.norm = nn.RMSNorm(hidden, eps=1e-5)
        self.head = nn.Linear(hidden, vocab, bias=False)
        if shape["tie_word_embeddings"]:
            self.head.weight = self.embedding.weight
        head_dim = hidden // shape["num_attention_heads"]
        frequency = ROPE_THETA ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
        angle = torch.outer(torch.arange(tokens, dtype=torch.float64), frequency).repeat(1, 2)
        self.register_buffer("cosine", angle.cos().float())
        self.register_buffer("sine", angle.sin().float())

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x, self.cosine, self.sine)
        return self.head(self.norm(x))


def torch_step_seconds(options: argparse.Namespace, shape: dict, dtype: str) -> float:
    """The median of the counted steps."""
    torch.manual_seed(1)
    model = Llama(shape, options.seq_len)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=0.02)
    run = torch.compile(model) if options.compile else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    text = torch.frombuffer(bytearray(pathlib.Path(options.data).read_bytes()), dtype=torch.uint8)
    seconds = []
    for step in range(options.steps + WARM_UP_STEPS):
        ids = text[step * options.seq_len:][:options.seq_len + 1].long()
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bf16"):
            logits = run(ids[None, :-1])
        loss = functional.cross_entropy(logits[0].float(), ids[1:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        optimizer.zero_grad()
        loss_value = loss.item()
        seconds.append(time.perf_counter() - start)
    if not math.isfinite(loss_value):
        sys.exit("PyTorch's loss is not finite")
    return statistics.median(seconds[WARM_UP_STEPS:])


def ebbtide_step_seconds(options: argparse.Namespace, dtype: str, shape_directory: str) -> float:
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as log:
        command = [options.ebbtide, "train", "--model", shape_directory, "--data", options.data,
                   "--dtype", dtype, "--seq-len", str(options.seq_len), "--device", "cpu",
                   "--threads", str(options.threads), "--steps", str(options.steps + WARM_UP_STEPS),
                   "--activations", "keep", "--parameter-tier", "device", "--gradient-tier",
                   "device", "--grad-clip", "1.0", "--log-json", log.name]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        steps = [json.loads(line) for line in open(log.name, encoding="utf-8")]
    return statistics.median(step["step_seconds"] for step in steps[WARM_UP_STEPS:])


def compare(options: argparse.Namespace, shape: dict, directory: str, dtype: str) -> None:
    pairs = []
    for _ in range(options.rounds):
        pairs.append((ebbtide_step_seconds(options, dtype, directory),
                      torch_step_seconds(options, shape, dtype)))
    ratios = sorted(theirs / ours for ours, theirs in pairs)
    ours, theirs = (options.seq_len / statistics.median(column) for column in zip(*pairs))
    print(f"{dtype}: {statistics.median(ratios):5.2f} x PyTorch ({ratios[0]:.2f} to "
          f"{ratios[-1]:.2f}), {ours:,.0f} against {theirs:,.0f} tokens a second", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ebbtide", default="build/src/cli/ebbtide")
    parser.add_argument("--data", default="data/king_james_bible.txt")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--kv-heads", type=int, default=2)
    parser.add_argument("--ffn", type=int, default=688)
    parser.add_argument("--seq-len", type=int, default=4096)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--steps", type=int, default=3, help="counted steps of a run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dtype", action="append", choices=["fp32", "bf16"])
    parser.add_argument("--compile", action="store_true", help="let PyTorch compile the model")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    shape = {"model_type": "llama", "architectures": ["LlamaForCausalLM"],
             "num_hidden_layers": options.layers, "hidden_size": options.hidden,
             "num_attention_heads": options.heads, "num_key_value_heads": options.kv_heads,
             "intermediate_size": options.ffn, "vocab_size": 256, "tie_word_embeddings": False,
             "rms_norm_eps": 1e-5, "rope_theta": ROPE_THETA, "hidden_act": "silu",
             "max_position_embeddings": options.seq_len}
    print(f"torch {torch.__version__}, {options.threads} threads, {options.seq_len} tokens, "
          f"{options.layers} layers, hidden {options.hidden}, ffn {options.ffn}", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "config.json").write_text(json.dumps(shape), encoding="utf-8")
        for dtype in options.dtype or ["fp32", "bf16"]:
            compare(options, shape, directory, dtype)


if __name__ == "__main__":
    main()
