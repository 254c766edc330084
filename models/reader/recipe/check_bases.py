"""Compares the decoder with transformers on random weights of each family, read from a folder and from GGUF: check_bases.py (needs transformers)."""

import tempfile
from pathlib import Path

import shared  # noqa: F401

import torch
from gguf import GGUFWriter
from torch import Tensor
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from bases import GEMMA, IN_BLOCK, WHOLE, open_base
from cepe import Projection
from reader_model import new_decoder
from reading import Row, pack, predicted

ALLOWED = 1e-4  # of logits of about 3
SIZES = {"vocab_size": 300, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 7, "num_attention_heads": 4, "num_key_value_heads": 2}
HEAD_DIM, WINDOW = 32, 8
FAMILIES = {
    "llama": (LlamaConfig, LlamaForCausalLM, {}),
    "qwen2": (Qwen2Config, Qwen2ForCausalLM, {"tie_word_embeddings": False}),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM, {"head_dim": HEAD_DIM, "tie_word_embeddings": True}),
    "gemma3": (Gemma3TextConfig, Gemma3ForCausalLM, {"head_dim": HEAD_DIM, "query_pre_attn_scalar": HEAD_DIM, "sliding_window": WINDOW}),
}
ROWS = [
    Row(list(range(3, 40)), [(list(range(50, 60)), [1, 2, 3]), (list(range(70, 75)), [9])]),
    Row(list(range(100, 110)), [([5, 6, 7], [8, 9])]),
]


def random_model(family: str) -> PreTrainedModel:
    config, kind, further = FAMILIES[family]
    model = kind(config(**SIZES, **further)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3) if parameter.dim() == 1 else parameter.mul_(4)
    return model


def stored(family: str, name: str, value: Tensor) -> Tensor:
    """As llama.cpp's converter stores it."""
    if family == "gemma3" and "norm" in name:
        return value + 1
    if family == "llama" and ("q_proj" in name or "k_proj" in name):
        half = SIZES["hidden_size"] // SIZES["num_attention_heads"] // 2
        return value.unflatten(0, (-1, 2, half)).transpose(1, 2).reshape(value.shape)
    return value


def write_gguf(path: Path, family: str, model: PreTrainedModel) -> None:
    writer, config = GGUFWriter(path, family), model.config
    writer.add_block_count(config.num_hidden_layers)
    writer.add_embedding_length(config.hidden_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    if family in ("qwen3", "gemma3"):
        writer.add_key_length(HEAD_DIM)
    if family == "gemma3":
        writer.add_sliding_window(WINDOW)
    names = IN_BLOCK | GEMMA if family == "gemma3" else IN_BLOCK
    for name, value in model.state_dict().items():
        module, kind = name.rsplit(".", 1)
        if module == "lm_head" and config.tie_word_embeddings:
            continue
        if module in WHOLE:
            renamed = WHOLE[module]
        else:
            _, _, layer, part = module.split(".", 3)
            renamed = f"blk.{layer}.{names[part]}"
        writer.add_tensor(f"{renamed}.{kind}", stored(family, name, value).contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@torch.no_grad()
def difference(path: Path, model: PreTrainedModel) -> float:
    """The largest of all logits at the places that predict an answer: packed here, a prompt for each question there."""
    found, wanted = predicted(new_decoder(open_base(path), 4, 8.0), pack(ROWS)), []
    for row in ROWS:
        for question, answer in row.branches:
            prompt = row.prefix + question + answer[:-1]
            wanted.append(model(torch.tensor([prompt])).logits[0, -len(answer) :])
    return (found - torch.cat(wanted)).abs().max().item()


def main() -> None:
    Projection.kind = torch.float32
    torch.manual_seed(1)
    for family in FAMILIES:
        model = random_model(family)
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            write_gguf(file := Path(folder) / "model.gguf", family, model)
            differences = difference(Path(folder), model), difference(file, model)
        print(f"{family}: folder {differences[0]:.1e}, GGUF {differences[1]:.1e}", flush=True)
        assert max(differences) < ALLOWED, family


if __name__ == "__main__":
    main()
