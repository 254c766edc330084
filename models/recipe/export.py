"""Writes a trained stage as a checkpoint that `cepe build` reads: base, cross-attention, encoder, tokenizer.

    python export.py --base BASE --runs RUNS --stage standard --out CHECKPOINT
"""

import argparse
import shutil
from pathlib import Path

import torch

from beginning import OUTPUT, load_base
from cepe import LlamaConfig
from checkpoint import cepe_json, read_json, save_weights, write_json
from run import kept_by
from stages import STAGES

COPIED = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "special_tokens_map.json", "generation_config.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("base", "runs", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--stage", choices=[name for name in STAGES if name != "mlm"], default="standard")
    parser.add_argument("--dtype", choices=["float32", "float16", "bfloat16"], default="float16")
    parser.add_argument("--qa", type=Path, help="how the service asks this model: a qa_config.json")
    args = parser.parse_args()
    kept = kept_by(args.runs, args.stage)
    model = load_base(args.base, LlamaConfig(**kept["settings"]["encoder"]), kept["settings"]["cross_layers"])
    model.load_state_dict(kept["model"], strict=False)
    tied = bool(read_json(args.base / "config.json").get("tie_word_embeddings"))
    weights = {name: weight for name, weight in model.state_dict().items() if not (tied and name == OUTPUT)}
    save_weights(args.out, weights, cepe_json(model.config, args.dtype, tied), getattr(torch, args.dtype))
    for name in COPIED:
        if (args.base / name).exists():
            shutil.copyfile(args.base / name, args.out / name)
    if args.qa:
        write_json(args.out / "qa_config.json", read_json(args.qa))
    print(f"{args.out}: {args.stage}, step {kept['step']}")


if __name__ == "__main__":
    main()
