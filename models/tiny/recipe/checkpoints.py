"""Shipped checkpoints: Hugging Face layout, f16 safetensors."""

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from configs import cepe_from, cepe_json, contriever_json, read_json, save_weights, write_json
from contriever import Contriever
from model import Cepe
from packing import Prompts
from tokenizers_ import load_tokenizer


EMBEDDING, OUTPUT = "model.embed_tokens.weight", "lm_head.weight"


def cepe_weights(folder: Path) -> dict[str, Tensor]:
    """In f32, by the model's names; the output layer, which is not stored, is the embedding."""
    weights = {name: weight.float() for name, weight in load_file(folder / "model.safetensors").items()}
    weights.setdefault(OUTPUT, weights[EMBEDDING])
    return weights


def load_cepe(folder: Path) -> tuple[Cepe, Prompts]:
    model = Cepe(cepe_from(read_json(folder / "config.json")))
    model.load_state_dict(cepe_weights(folder))
    return model.eval(), Prompts(load_tokenizer(folder))


def save_cepe(folder: Path, model: Cepe, qa: dict) -> None:
    weights = {name: weight for name, weight in model.state_dict().items() if name != OUTPUT}
    save_weights(folder, weights, cepe_json(model.config, "float16", tied=True))
    write_json(folder / "qa_config.json", qa)


def save_contriever(folder: Path, model: Contriever) -> None:
    save_weights(folder, model.state_dict(), contriever_json(model.config, "float16"))
