"""Checkpoints in Hugging Face's layout: config.json as the published models have it, and safetensors."""

import json
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from cepe import CepeConfig, LlamaConfig

LLAMA = {
    "attention_bias": False,
    "hidden_act": "silu",
    "initializer_range": 0.02,
    "model_type": "llama",
    "pretraining_tp": 1,
}
ROPE = ("default", "linear", "llama3")


def write_json(path: Path, value: dict) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def read_json(path: Path) -> dict:
    return json.loads(path.read_text("utf-8"))


def cepe_json(config: CepeConfig, dtype: str, tied: bool = False) -> dict:
    encoder = {
        "architectures": ["LlamaForMLM"],
        **LLAMA,
        **asdict(config.encoder),
        "is_decoder": False,
        "is_encoder": True,
        "do_cross_attention": False,
        "tie_word_embeddings": True,
        "torch_dtype": dtype,
    }
    return {
        "architectures": ["LlamaForCausalContextLM"],
        **LLAMA,
        **asdict(config.decoder),
        "is_decoder": True,
        "do_cross_attention": True,
        "num_cross_attn_layers": config.num_cross_attn_layers,
        "num_cross_attn_hidden_states": 1,
        "encode_mode": "context_only",
        "encoder_is_model": False,
        "encoder_hidden_size": config.encoder.hidden_size,
        "encoder_config": encoder,
        "tie_word_embeddings": tied,
        "torch_dtype": dtype,
        "use_cache": True,
    }


def llama_from(raw: dict) -> LlamaConfig:
    """@raise SystemExit for what differs from LLaMA"""
    rope = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
    kind = rope.get("rope_type", rope.get("type", "default"))
    unlike = {name: raw[name] for name in ("attention_bias", "mlp_bias", "sliding_window") if raw.get(name)}
    if raw.get("model_type", "llama") not in ("llama", "mistral") or raw.get("hidden_act", "silu") != "silu" or unlike or kind not in ROPE:
        raise SystemExit(
            f"config.json: model_type {raw.get('model_type')}, hidden_act {raw.get('hidden_act')}, rope {kind}, {unlike}: "
            f"the base must be a LLaMA without biases and sliding window, its rope one of {', '.join(ROPE)}"
        )
    known = {f.name: raw[f.name] for f in fields(LlamaConfig) if raw.get(f.name) is not None}
    known |= {"rope_theta": raw.get("rope_theta") or rope.get("rope_theta", 10_000.0), "rope_scaling": None if kind == "default" else rope}
    known.setdefault("num_key_value_heads", raw["num_attention_heads"])
    for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
        known.setdefault(name, None)
    return LlamaConfig(**known)


def cepe_from(raw: dict) -> CepeConfig:
    return CepeConfig(llama_from(raw), llama_from(raw["encoder_config"]), raw["num_cross_attn_layers"])


def weights_of(folder: Path) -> Iterator[tuple[str, Tensor]]:
    """The tensors of a folder, one at a time, in their stored type."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise SystemExit(f"{folder} has no *.safetensors: save the model with save_pretrained(..., safe_serialization=True)")
    for file in files:
        with safe_open(file, "pt") as opened:
            for name in opened.keys():
                yield name, opened.get_tensor(name)


def save_weights(folder: Path, weights: dict[str, Tensor], config: dict, kind: torch.dtype = torch.float16) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    stored = {name: weight.detach().to("cpu", kind, copy=True).contiguous() for name, weight in weights.items()}
    save_file(stored, folder / "model.safetensors", {"format": "pt"})
    write_json(folder / "config.json", config)
