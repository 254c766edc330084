"""Checkpoints in Hugging Face's layout: config.json as the published models have it, and safetensors."""

import json
from pathlib import Path

import torch
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
FAMILIES = ("llama", "mistral", "qwen2", "qwen3", "gemma3")
ROPE = ("default", "linear", "llama3")
GEMMA_GLOBAL = 6  # every sixth layer, where the file does not say


def write_json(path: Path, value: dict) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def read_json(path: Path) -> dict:
    return json.loads(path.read_text("utf-8"))


def cepe_json(config: CepeConfig, dtype: str, tied: bool = False) -> dict:
    encoder = {
        "architectures": ["LlamaForMLM"],
        **LLAMA,
        **config.encoder.stored(),
        "is_decoder": False,
        "is_encoder": True,
        "do_cross_attention": False,
        "tie_word_embeddings": True,
        "torch_dtype": dtype,
    }
    return {
        "architectures": ["LlamaForCausalContextLM"],
        **LLAMA,
        **config.decoder.stored(),
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


def refuse(path: Path, problem: str) -> SystemExit:
    return SystemExit(f"{path}: {problem}")


def family_of(name: str, layers: int, window: int = 0, kinds: list | int | None = None, local_theta: float | None = None) -> dict:
    """What a family does otherwise than LLaMA, as fields of LlamaConfig. `kinds` says of each layer whether it is local, or how many of
    so many layers are not."""
    if name != "gemma3":
        return {"biases": True} if name == "qwen2" else {"normed_heads": True} if name == "qwen3" else {}
    if isinstance(kinds, list):
        local = tuple(kind in (True, "sliding_attention") for kind in kinds)
    else:
        local = tuple((layer + 1) % (kinds or GEMMA_GLOBAL) != 0 for layer in range(layers))
    return {"normed_heads": True, "gemma": True, "window": window, "local": local, "local_theta": local_theta or 10_000.0}


def llama_from(raw: dict, path: Path = Path("config.json")) -> LlamaConfig:
    """@raise SystemExit for what the model does not compute"""
    family = raw.get("model_type", "llama").removesuffix("_text")
    gemma, qwen = family == "gemma3", family in ("qwen2", "qwen3")
    rope = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
    full, near = rope.get("full_attention", rope), rope.get("sliding_attention", {})
    kind = full.get("rope_type", full.get("type", "default"))
    head_dim = raw.get("head_dim") or raw["hidden_size"] // raw["num_attention_heads"]
    unlike = {name: raw[name] for name in ("attention_bias", "mlp_bias") if raw.get(name) and not (name == "attention_bias" and family == "qwen2")}
    if raw.get("sliding_window") and not gemma and raw.get("use_sliding_window", not qwen):
        unlike["sliding_window"] = raw["sliding_window"]
    if gemma and raw.get("query_pre_attn_scalar", head_dim) != head_dim:
        unlike["query_pre_attn_scalar"] = raw["query_pre_attn_scalar"]
    if family not in FAMILIES or raw.get("hidden_act", "silu") != "silu" or unlike or kind not in ROPE:
        raise refuse(
            path,
            f"model_type {family}, hidden_act {raw.get('hidden_act', 'silu')}, rope {kind}, {unlike}: the base must be one of {', '.join(FAMILIES)} "
            f"without biases and sliding window, its rope one of {', '.join(ROPE)}",
        )
    names = (f for f in LlamaConfig.__dataclass_fields__ if raw.get(f) is not None)
    known = {name: raw[name] for name in names} | {"head_dim": head_dim}
    known |= {"rope_theta": raw.get("rope_theta") or full.get("rope_theta", 10_000.0), "rope_scaling": None if kind == "default" else full}
    known |= {name: raw.get(name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    known.setdefault("num_key_value_heads", raw["num_attention_heads"])
    kinds = raw.get("layer_types") or raw.get("sliding_window_pattern")
    local_theta = raw.get("rope_local_base_freq") or near.get("rope_theta")
    return LlamaConfig(**known | family_of(family, raw["num_hidden_layers"], raw.get("sliding_window") or 0, kinds, local_theta))


def cepe_from(raw: dict) -> CepeConfig:
    return CepeConfig(llama_from(raw), llama_from(raw["encoder_config"]), raw["num_cross_attn_layers"])


def save_weights(folder: Path, weights: dict[str, Tensor], config: dict, kind: torch.dtype = torch.float16) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    stored = {name: weight.detach().to("cpu", kind, copy=True).contiguous() for name, weight in weights.items()}
    save_file(stored, folder / "model.safetensors", {"format": "pt"})
    write_json(folder / "config.json", config)
