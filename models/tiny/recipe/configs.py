"""config.json files as the real checkpoints have them, from and to the dataclasses."""

from dataclasses import asdict, fields

from contriever import ContrieverConfig
from checkpoint import cepe_from, cepe_json, read_json, save_weights, write_json  # noqa: F401 (of models/recipe)


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


def contriever_from(raw: dict) -> ContrieverConfig:
    return ContrieverConfig(**{f.name: raw[f.name] for f in fields(ContrieverConfig)})
