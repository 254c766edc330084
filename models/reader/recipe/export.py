"""Writes what was learned as a composed checkpoint: the base's file unchanged, LoRA adapters of the decoder in PEFT's layout and,
where stage 2 was trained, `cepe.gguf` (encoder adapters and cross-attention in 5 bits, norms in 32)."""

import argparse
import shutil
from pathlib import Path

import shared  # noqa: F401

import numpy as np
import torch
from gguf import GGMLQuantizationType as Type, GGUFWriter
from gguf.quants import quantize
from safetensors.numpy import load_file, save_file

from checkpoint import write_json
from reader_model import MATRICES
from run import read_run
from train_encoder import ALPHA as ENCODER_ALPHA, RANK as ENCODER_RANK

ENCODER_WINDOW = 512
LEARNED = Type.Q5_0
ADAPTER = "adapter_model.safetensors"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, help="the GGUF file; without it only the adapters are written, for `cepe build --adapter`")
    parser.add_argument("--runs", type=Path, required=True, help="the folder of the checkpoints")
    reading = parser.add_mutually_exclusive_group()
    reading.add_argument("--adapter", type=Path, help="exported adapters of stage 1, where it has no checkpoint")
    reading.add_argument("--mean-with", type=Path, help="exported adapters that the run continued: their mean with the run's is written")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--base-revision", help="what `cepe inspect` prints for the base")
    parser.add_argument("--decoder-only", action="store_true", help="leave stage 2 out")
    return parser.parse_args()


def write_adapter(folder: Path, runs: Path, mean_with: Path | None = None) -> None:
    """Writes the adapters of a run, or their mean with those that it continued: Wortsman et al. 2022, Robust fine-tuning of zero-shot
    models (WiSE-FT). A and B are averaged separately. Their product is close to the mean update where the run changed them little."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = read_run(runs / "reading.pt", "train stage 1 first, or give --adapter")
    weights = {f"base_model.model.{name}.weight": value.half().numpy() for name, value in kept["model"].items()}
    if mean_with:
        earlier = load_file(mean_with / ADAPTER)
        weights = {name: ((value.astype(np.float32) + earlier[name].astype(np.float32)) / 2).astype(np.float16) for name, value in weights.items()}
    save_file(weights, folder / ADAPTER)
    targets = [name.split(".")[1] for name in MATRICES]
    size = {"r": kept["settings"]["rank"], "lora_alpha": kept["settings"]["alpha"]}
    write_json(folder / "adapter_config.json", {"peft_type": "LORA", **size, "target_modules": targets, "bias": "none"})


def write_cepe(path: Path, state: dict[str, torch.Tensor]) -> None:
    writer = GGUFWriter(path, "cepe")
    for name, value in state.items():
        kind = Type.F32 if value.dim() == 1 else LEARNED
        data = np.ascontiguousarray((value.t() if name.endswith("lora_B") else value).float().numpy())
        writer.add_tensor(name.replace("lora_A", "lora_a").replace("lora_B", "lora_b"), data if kind == Type.F32 else quantize(data, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    args = arguments()
    if args.base is None:
        return write_adapter(args.out, args.runs, args.mean_with)
    args.out.mkdir(parents=True, exist_ok=True)
    if not (args.out / args.base.name).exists():
        shutil.copyfile(args.base, args.out / args.base.name)
    if args.adapter:
        shutil.copytree(args.adapter, args.out / "reading", dirs_exist_ok=True)
    else:
        write_adapter(args.out / "reading", args.runs, args.mean_with)
    config = {"base_model": args.base.name, "adapters": ["reading"], "chat_template": False}
    if args.base_revision:
        config["base_revision"] = args.base_revision
    if not args.decoder_only:
        kept = read_run(args.runs / "encoder.pt", "train stage 2 first, or give --decoder-only")
        write_cepe(args.out / "cepe.gguf", kept["model"])
        factor = ENCODER_ALPHA / ENCODER_RANK
        parts = {"encoder_layers": kept["settings"]["layers"], "encoder_window": ENCODER_WINDOW, "causal": True, "lora_factor": factor}
        config["cepe"] = {"file": "cepe.gguf", **parts}
    write_json(args.out / "config.json", config)


if __name__ == "__main__":
    main()
