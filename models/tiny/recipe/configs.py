"""config.json files as the real checkpoints have them, from and to the dataclasses."""

import json
from dataclasses import asdict, fields
from pathlib import Path

from contriever import ContrieverConfig
from model import CepeConfig, LlamaConfig

LLAMA = {
    "attention_bias": False,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "hidden_act": "silu",
    "initializer_range": 0.02,
    "model_type": "llama",
    "pretraining_tp": 1,
    "rope_scaling": None,
}


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


def contriever_json(config: ContrieverConfig, dtype: str) -> dict:
    return {
        "architectures": ["Contriever"],
        "model_type": "bert",
        **asdict(config),
        "attention_probs_dropout_prob": 0.1,
        "hidden_dropout_prob": 0.1,
        "initializer_range": 0.02,
        "position_embedding_type": "absolute",
        "hidden_act": "gelu",
        "pad_token_id": 0,
        "torch_dtype": dtype,
    }


def llama_from(raw: dict) -> LlamaConfig:
    return LlamaConfig(**{f.name: raw[f.name] for f in fields(LlamaConfig)})


def cepe_from(raw: dict) -> CepeConfig:
    return CepeConfig(llama_from(raw), llama_from(raw["encoder_config"]), raw["num_cross_attn_layers"])


def contriever_from(raw: dict) -> ContrieverConfig:
    return ContrieverConfig(**{f.name: raw[f.name] for f in fields(ContrieverConfig)})


def write_json(path: Path, value: dict) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def read_json(path: Path) -> dict:
    return json.loads(path.read_text("utf-8"))
