#!/usr/bin/env python3
"""Makes tests/golden/*.safetensors: one step of small random Llamas by transformers and torch.

Each file holds, in fp32, what tests/model/llama_golden_test.cpp compares with: the weights at the
start, the token ids, the mean loss, every gradient of the mean loss, and the weights after three
steps of torch.optim.AdamW (lr 1e-4, eps 1e-8, betas 0.9 and 0.95) on the same tokens with weight
decay 0 and 0.1. Matrices and the embedding decay, norms do not. The shape of the model is in the
file's metadata.

Needs torch and transformers from PyPI. Usage: make_golden.py [DIRECTORY]
"""

import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

SHAPE = {"layers": 2, "hidden": 32, "heads": 4, "head_dim": 8, "ffn": 56, "vocab": 64,
         "rms_epsilon": 1e-5, "rope_theta": 10000.0}
TOKENS = 45  # no multiple of the chunks that the test uses
CASES = {
    "llama": {"kv_heads": 4, "tied": False},
    "llama-gqa": {"kv_heads": 2, "tied": False},
    "llama-tied": {"kv_heads": 4, "tied": True},
    "llama-gqa-tied": {"kv_heads": 1, "tied": True},
}
STEPS = 3
WEIGHT_DECAYS = (0.0, 0.1)


def make_model(case, seed):
    torch.manual_seed(seed)
    config = LlamaConfig(
        hidden_size=SHAPE["hidden"], intermediate_size=SHAPE["ffn"],
        num_hidden_layers=SHAPE["layers"], num_attention_heads=SHAPE["heads"],
        num_key_value_heads=case["kv_heads"], head_dim=SHAPE["head_dim"],
        vocab_size=SHAPE["vocab"], rms_norm_eps=SHAPE["rms_epsilon"],
        rope_theta=SHAPE["rope_theta"], max_position_embeddings=128,
        tie_word_embeddings=case["tied"], attention_dropout=0.0, use_cache=False,
        attn_implementation="eager")
    model = LlamaForCausalLM(config).float()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            # larger than at a usual start, so that every path carries a gradient worth comparing
            parameter.normal_(1.0 if "norm" in name else 0.0, 0.15)
    return model


def decays(name):
    return "norm" not in name


def optimizer(model, weight_decay):
    named = list(model.named_parameters())
    groups = [{"params": [p for n, p in named if decays(n)], "weight_decay": weight_decay},
              {"params": [p for n, p in named if not decays(n)], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=1e-4, betas=(0.9, 0.95), eps=1e-8)


def loss_of(model, ids):
    # every token predicts the next one; the last predicts nothing
    return model(input_ids=ids, labels=ids).loss


def tensors_of(case, seed):
    ids = torch.randint(0, SHAPE["vocab"], (1, TOKENS),
                        generator=torch.Generator().manual_seed(seed))
    out = {"tokens": ids[0].to(torch.int32)}
    model = make_model(case, seed)
    for name, parameter in model.named_parameters():
        out["weight." + name] = parameter.detach().clone()
    loss = loss_of(model, ids)
    loss.backward()
    out["loss"] = loss.detach().reshape(1)
    for name, parameter in model.named_parameters():
        out["gradient." + name] = parameter.grad.clone()
    for weight_decay in WEIGHT_DECAYS:
        model = make_model(case, seed)
        adamw = optimizer(model, weight_decay)
        for _ in range(STEPS):
            adamw.zero_grad()
            loss_of(model, ids).backward()
            adamw.step()
        for name, parameter in model.named_parameters():
            out[f"decay-{weight_decay}.{name}"] = parameter.detach().clone()
    return out


def main():
    default = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
    directory = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    directory.mkdir(parents=True, exist_ok=True)
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)
    for seed, (name, case) in enumerate(CASES.items(), start=1):
        shape = {**SHAPE, **case, "torch": torch.__version__}
        save_file(tensors_of(case, seed), directory / f"{name}.safetensors",
                  metadata={key: str(value) for key, value in shape.items()})


if __name__ == "__main__":
    main()
