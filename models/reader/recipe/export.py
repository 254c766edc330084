"""Writes what was learned as a composed checkpoint: the base's file unchanged, LoRA adapters of the decoder in PEFT's layout and,
where stage 2 was trained, `cepe.gguf` (encoder adapters and cross-attention in 5 bits, norms in 32)."""

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
import torch
from gguf import GGMLQuantizationType as Type, GGUFWriter
from gguf.quants import quantize
from safetensors.numpy import save_file

from base_model import MATRICES
from train_encoder import ALPHA as ENCODER_ALPHA, LAYERS, RANK as ENCODER_RANK
from train_reading import ALPHA, RANK

ENCODER_WINDOW = 512
LEARNED = Type.Q5_0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, help="the GGUF file; without it only the adapters are written, for `cepe build --adapter`")
    parser.add_argument("--runs", type=Path, required=True, help="the folder of the checkpoints")
    parser.add_argument("--adapter", type=Path, help="exported adapters of stage 1, where it has no checkpoint")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--base-revision", help="what `cepe inspect` prints for the base")
    parser.add_argument("--decoder-only", action="store_true", help="leave stage 2 out")
    return parser.parse_args()


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", "utf-8")


def write_adapter(folder: Path, runs: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    state, tensors = torch.load(runs / "reading.pt", weights_only=True, map_location="cpu")["model"], {}
    for name, value in state.items():
        layers, layer, module, part = name.split(".")
        tensors[f"base_model.model.model.{layers}.{layer}.{module.replace('__', '.')}.{part}.weight"] = value.to("cpu", torch.float16).numpy()
    save_file(tensors, folder / "adapter_model.safetensors")
    targets = [name.split(".")[1] for name in MATRICES]
    write_json(folder / "adapter_config.json", {"peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA, "target_modules": targets, "bias": "none"})


def write_cepe(path: Path, state: dict[str, torch.Tensor]) -> None:
    writer = GGUFWriter(path, "cepe")

    def add(name: str, value: torch.Tensor, kind: Type) -> None:
        data = np.ascontiguousarray(value.float().numpy())
        writer.add_tensor(name, data if kind == Type.F32 else quantize(data, kind), raw_dtype=kind)

    for name, value in state.items():
        parts = name.split(".")
        if name == "encoder_norm":
            add("encoder.norm.weight", value, Type.F32)
        elif parts[0] == "encoder":
            _, layer, _, module, half = parts
            turned = value.t() if half == "lora_B" else value
            add(f"encoder.layers.{layer}.{module.replace('__', '.')}.{half.lower()}", turned, LEARNED)
        else:
            _, layer, matrix = parts
            add(f"model.layers.{layer}.cross_attn.{matrix}.weight", value, Type.F32 if matrix == "layernorm" else LEARNED)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    args = arguments()
    if args.base is None:
        return write_adapter(args.out, args.runs)
    args.out.mkdir(parents=True, exist_ok=True)
    if not (args.out / args.base.name).exists():
        shutil.copyfile(args.base, args.out / args.base.name)
    if args.adapter:
        shutil.copytree(args.adapter, args.out / "reading", dirs_exist_ok=True)
    else:
        write_adapter(args.out / "reading", args.runs)
    config = {"base_model": args.base.name, "adapters": ["reading"], "chat_template": False}
    if args.base_revision:
        config["base_revision"] = args.base_revision
    if not args.decoder_only:
        write_cepe(args.out / "cepe.gguf", torch.load(args.runs / "encoder.pt", weights_only=True, map_location="cpu")["model"])
        factor = ENCODER_ALPHA / ENCODER_RANK
        parts = {"encoder_layers": LAYERS, "encoder_window": ENCODER_WINDOW, "causal": True, "lora_factor": factor}
        config["cepe"] = {"file": "cepe.gguf", **parts}
    write_json(args.out / "config.json", config)


if __name__ == "__main__":
    main()
