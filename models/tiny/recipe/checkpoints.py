"""Shipped checkpoints: Hugging Face layout, f16 safetensors."""

from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import nn

from configs import cepe_from, cepe_json, contriever_from, contriever_json, read_json, write_json
from contriever import Contriever
from model import Cepe
from packing import Prompts
from tokenizers_ import load_tokenizer


def load_cepe(folder: Path) -> tuple[Cepe, Prompts]:
    model = Cepe(cepe_from(read_json(folder / "config.json")))
    model.load_state_dict({k: v.float() for k, v in load_file(folder / "model.safetensors").items()})
    return model.eval(), Prompts(load_tokenizer(folder))


def load_contriever(folder: Path) -> tuple[Contriever, Tokenizer]:
    model = Contriever(contriever_from(read_json(folder / "config.json")))
    model.load_state_dict({k: v.float() for k, v in load_file(folder / "model.safetensors").items()})
    return model.eval(), load_tokenizer(folder)


def save_weights(folder: Path, model: nn.Module, config: dict) -> None:
    """Every tensor is written out, also where two share memory (embedding and output layer)."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {k: v.detach().to("cpu", torch.float16).clone() for k, v in model.state_dict().items()}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    write_json(folder / "config.json", config)


def save_cepe(folder: Path, model: Cepe, qa: dict) -> None:
    save_weights(folder, model, cepe_json(model.config, "float16"))
    write_json(folder / "qa_config.json", qa)


def save_contriever(folder: Path, model: Contriever) -> None:
    save_weights(folder, model, contriever_json(model.config, "float16"))
