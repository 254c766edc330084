"""Writes factors of channels into an exported checkpoint: with them the model computes the same, and its activations lose less when they are
rounded to 8 bits.

Xiao et al. 2023, SmoothQuant, section 4: a channel's factor is its size in the activations to the power of STRENGTH over its size in the
weights to the rest. It divides the rows of the module that makes the channel and multiplies the columns of those that read it.
"""

import argparse
import random
from pathlib import Path

import shared  # noqa: F401

import torch
from safetensors.torch import save_file
from torch import Tensor

from bases import open_base
from cepe import Block, LlamaConfig
from checkpoint import read_json, write_json
from reader_model import adapted, encode, load_cepe, new_reader
from reading import Prompts, Row, load_paragraphs, pack
from train_encoder import ALPHA as ENCODER_ALPHA, RANK as ENCODER_RANK

SEED = 20261125
STRENGTH = 0.7
PARAGRAPHS = 32
FILE = "smoothing.safetensors"

# The module that makes channels, and those that read them
READ_BY = {
    "input_layernorm": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "post_attention_layernorm": ("mlp.gate_proj", "mlp.up_proj"),
    "self_attn.v_proj": ("self_attn.o_proj",),
    "mlp.up_proj": ("mlp.down_proj",),
}


class Sizes:
    """The mean absolute value of each channel that the modules of a block read."""

    def __init__(self, block: Block, config: LlamaConfig):
        self.block, self.config, self.sums, self.tokens = block, config, {}, 0
        for readers in READ_BY.values():
            block.get_submodule(readers[0]).register_forward_pre_hook(lambda _, inputs, name=readers[0]: self.add(name, inputs[0]))

    def add(self, name: str, x: Tensor) -> None:
        self.sums[name] = self.sums.get(name, 0) + x.float().abs().flatten(0, -2).sum(0)
        self.tokens += x[..., 0].numel() if name == "self_attn.q_proj" else 0

    def factors(self, maker: str) -> Tensor:
        readers, c = READ_BY[maker], self.config
        activations = self.sums[readers[0]] / self.tokens
        weights = torch.stack([self.block.get_submodule(name).merged().abs().amax(0) for name in readers]).amax(0)
        if maker == "self_attn.v_proj":  # query heads that share a value head share its factors
            by_head = lambda t: t.view(c.num_key_value_heads, -1, c.head_dim).amax(1).flatten()
            activations, weights = by_head(activations), by_head(weights)
        sizes = activations.clamp(min=1e-5) ** STRENGTH / weights.clamp(min=1e-5) ** (1 - STRENGTH)
        return sizes / sizes.log().mean().exp()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, required=True, help="what export.py wrote")
    parser.add_argument("--data", type=Path, required=True, help="a folder of *.jsonl, as for training")
    args = parser.parse_args()
    settings = args.checkpoint / "config.json"
    config = read_json(settings)
    base = open_base(args.checkpoint / config["base_model"])
    decoder, prompts = adapted(base, args.checkpoint / config["adapters"][0]), Prompts(base.tokenizer())
    parts = {"model": decoder.model}
    if "cepe" in config:
        reader = new_reader(decoder, config["cepe"]["encoder_layers"], ENCODER_RANK, ENCODER_ALPHA)
        load_cepe(reader, args.checkpoint / config["cepe"]["file"])
        parts = {"model": reader.model, "encoder": reader.encoder}
    sizes = {f"{part}.layers.{number}": Sizes(block, base.config) for part, stack in parts.items() for number, block in enumerate(stack.layers)}
    asked = [p for p in load_paragraphs(args.data) if p.questions]
    with torch.no_grad():
        for paragraph in random.Random(SEED).sample(asked, PARAGRAPHS):
            question, answers = paragraph.questions[0]
            p = pack([Row(prompts.prefix([paragraph]), [(prompts.question(question), prompts.answer(answers[0]))])])
            parts["model"].states(p.ids, p.positions, p.bias)
            if "encoder" in parts:
                encode(reader, [prompts.encoded(paragraph)])
    factors = {f"{layer}.{maker}.smoothing": s.factors(maker).half().contiguous() for layer, s in sizes.items() for maker in READ_BY}
    save_file(factors, args.checkpoint / FILE)
    write_json(settings, {**config, "smoothing": FILE})


if __name__ == "__main__":
    main()
