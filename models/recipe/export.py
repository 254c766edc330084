"""Writes a trained stage as a checkpoint that `cepe build` reads: base, cross-attention, encoder, tokenizer.

    python export.py --base BASE --runs RUNS --stage standard --out CHECKPOINT
"""

import argparse
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from bases import OUTPUT, Folder
from beginning import load_base
from cepe import Cepe, LlamaConfig
from checkpoint import cepe_json, read_json, save_weights, write_json
from run import kept_by
from stages import STAGES

COPIED = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "special_tokens_map.json", "generation_config.json")


@torch.no_grad()
def golden(model: Cepe, chunks: int = 3, length: int = 9, generated: int = 6) -> dict[str, Tensor]:
    """Random chunks and a random prompt, with this model's outputs, for `cepe verify --golden`."""
    draw = lambda *shape: torch.randint(3, model.config.decoder.vocab_size, shape, generator=torch.Generator().manual_seed(0))
    ids, mask, prompt = draw(chunks, length), torch.arange(length) < torch.tensor([[length], [2], [5]]), draw(1, length)
    context = model.encode(ids[None], mask[None])
    logits, found, scores = model(prompt, context), [], []
    for _ in range(generated):
        row = model(torch.cat([prompt, torch.tensor([found], dtype=torch.long)], 1), context)[0, -1].log_softmax(-1)
        found, scores = [*found, int(row.argmax())], [*scores, float(row.max())]
    return {
        "encoder_input_ids": ids,
        "encoder_attention_mask": mask.long(),
        "encoder_hidden_states": context.phi.unflatten(1, (chunks, length))[0].contiguous(),
        "input_ids": prompt,
        "logits": logits,
        "stop_ids": torch.tensor([model.config.decoder.vocab_size - 1]),
        "max_new_tokens": torch.tensor([generated]),
        "generated_ids": torch.tensor(found),
        "generated_logprobs": torch.tensor(scores),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("base", "runs", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--stage", choices=[name for name in STAGES if name != "mlm"], default="standard")
    parser.add_argument("--dtype", choices=["float32", "float16", "bfloat16"], default="float16")
    parser.add_argument("--qa", type=Path, help="how the service asks this model: a qa_config.json")
    parser.add_argument("--golden", action="store_true", help="also golden-exported.safetensors for `cepe verify --golden`")
    args = parser.parse_args()
    kind = getattr(torch, args.dtype)
    kept = kept_by(args.runs, args.stage)
    model = load_base(args.base, LlamaConfig(**kept["settings"]["encoder"]), kept["settings"]["cross_layers"], kind)
    model.load_state_dict(kept["model"], strict=False)
    tied = Folder(args.base).tensor(OUTPUT) is None
    weights = {name: weight for name, weight in model.state_dict().items() if not (tied and name == OUTPUT)}
    save_weights(args.out, weights, cepe_json(model.config, args.dtype, tied), kind)
    for name in COPIED:
        if (args.base / name).exists():
            shutil.copyfile(args.base / name, args.out / name)
    if args.golden:
        save_file(golden(model.to(kind).float()), args.out / "golden-exported.safetensors")
    if args.qa:
        write_json(args.out / "qa_config.json", read_json(args.qa))
    print(f"{args.out}: {args.stage}, step {kept['step']}")


if __name__ == "__main__":
    main()
