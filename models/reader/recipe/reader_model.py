"""A published decoder with LoRA adapters over its frozen matrices, and CEPE over it: an encoder from the decoder's lower layers, and a
cross-attention block in every layer (Yen, Gao and Chen 2024, section 2).

The encoder's matrices are the decoder's own with other adapters. Its attention stays causal: the decoder's layers use the first token as an
attention sink, which a bidirectional encoder would have to learn anew. A cross-attention block begins as its layer's self-attention without
rotation, because passages have no order; `distillation.py` fits the rest.
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import torch.nn.functional as F
from gguf import GGUFReader, dequantize
from safetensors.torch import load_file
from torch import Tensor

from bases import Base, load_decoder
from cepe import Cepe, CepeConfig, CrossAttention, LlamaConfig, Projection, Stack, rope_tables
from checkpoint import read_json
from run import DEVICE, put

AWAY = (20, 250)  # tokens between a question and what it reads of a passage, where the decoder learnt it
MATRICES = (
    *("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"),
    *("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
)


def faster_kind() -> torch.dtype:
    """bf16 where the GPU or the processor multiplies it: elsewhere it is converted for each product, many times slower than f32."""
    if DEVICE.type == "cuda":
        return torch.bfloat16

    def seconds(kind: torch.dtype) -> float:
        a, b = torch.ones(512, 576, dtype=kind), torch.ones(1536, 576, dtype=kind)
        runs = []
        for _ in range(5):
            began = time.perf_counter()
            F.linear(a, b)
            runs.append(time.perf_counter() - began)
        return min(runs)

    return min((torch.bfloat16, torch.float32), key=seconds)


torch.set_default_device(DEVICE)
Projection.kind = faster_kind()


def new_decoder(base: Base, rank: int, alpha: float) -> Cepe:
    with torch.device("meta"):
        decoder = Cepe(CepeConfig(base.config))
    load_decoder(decoder, base, Projection.kind, DEVICE)
    adapt(decoder.model, rank, alpha)
    return decoder


def adapt(stack: Stack, rank: int, alpha: float) -> None:
    for layer in stack.layers:
        for name in MATRICES:
            layer.get_submodule(name).adapt(rank, alpha)


def learned(model: Cepe) -> dict[str, Tensor]:
    return {name: parameter.detach() for name, parameter in model.named_parameters() if parameter.requires_grad}


def load_adapter(decoder: Cepe, folder: Path) -> None:
    """Adapters as `export.py` writes them. The optimiser begins anew."""
    state = load_file(folder / "adapter_model.safetensors")
    put(learned(decoder), {name.removeprefix("base_model.model.").removesuffix(".weight"): value for name, value in state.items()}, folder)


def adapted(base: Base, folder: Path) -> Cepe:
    """The decoder with adapters as `export.py` writes them, of their rank."""
    config = read_json(folder / "adapter_config.json")
    decoder = new_decoder(base, config["r"], config["lora_alpha"])
    load_adapter(decoder, folder)
    return decoder


def new_reader(decoder: Cepe, layers: int, rank: int, alpha: float) -> Cepe:
    """The decoder with its adapters merged, in place, and frozen; what is trained are the encoder's adapters and norm, and cross-attention."""
    c = decoder.config.decoder
    if c.gemma:
        raise SystemExit("stage 2 is not trained over Gemma: its local layers and further norms have no counterpart there")
    for module in decoder.modules():
        if isinstance(module, Projection):
            module.merge()
    with torch.device("meta"):
        reader = Cepe(CepeConfig(c, replace(c, num_hidden_layers=layers), c.num_hidden_layers))
    weights, blocks = decoder.state_dict(), decoder.model.layers
    following = blocks[layers].input_layernorm if layers < len(blocks) else decoder.model.norm
    weights |= {name.replace("model.", "encoder.", 1): weight for name, weight in weights.items() if name.startswith("model.")}
    weights["encoder.norm.weight"] = following.weight.clone()
    for number, block in enumerate(blocks):
        named = f"model.layers.{number}.cross_attn"
        weights[f"{named}.layernorm.weight"] = block.input_layernorm.weight.clone()
        for part in "qkvo":
            matrix = block.self_attn.get_submodule(f"{part}_proj").weight.detach().float().clone()
            weights[f"{named}.{part}_proj.weight"] = mean_rotated(c, matrix) if part == "q" else matrix
    reader.load_state_dict(weights, strict=False, assign=True)
    reader.requires_grad_(False)
    reader.encoder.causal = True
    for module in (reader.encoder.norm, *(layer.cross_attn for layer in reader.model.layers)):
        module.requires_grad_(True)
    adapt(reader.encoder, rank, alpha)
    return reader


def mean_rotated(c: LlamaConfig, weight: Tensor) -> Tensor:
    """The query matrix [heads*D,d] times the mean rotation over the distances AWAY."""
    half = c.head_dim // 2
    cos, sin = (t.mean(0)[:half, None] for t in rope_tables(torch.arange(*AWAY), c.head_dim, c.rope_theta, c.rope_scaling))
    first, second = weight.view(c.num_attention_heads, 2, half, -1).unbind(1)
    return torch.stack([first * cos - second * sin, second * cos + first * sin], 1).view(weight.shape)


def crosses(reader: Cepe) -> list[CrossAttention]:
    return [layer.cross_attn for layer in reader.model.layers]


@dataclass(frozen=True)
class Shared:
    """States [T,d] of passages that all rows of a batch share, and bias [1,1,B*L,T]: which of them each token may read."""

    states: Tensor
    bias: Tensor

    def added(self, attention: CrossAttention, x: Tensor) -> Tensor:
        return attention(x.flatten(0, 1)[None], self.states[None], self.bias).view(x.shape)


def encode(reader: Cepe, passages: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Token ids of passages -> states [T,d] of their tokens, one passage after the other, and the passage [T] of each."""
    longest = max(map(len, passages))
    ids = torch.tensor([p + [0] * (longest - len(p)) for p in passages])
    real = torch.arange(longest) < torch.tensor([[len(p)] for p in passages])
    return reader.encoder(ids, real)[real], torch.tensor([number for number, passage in enumerate(passages) for _ in passage])


def load_cepe(reader: Cepe, path: Path) -> None:
    """What `export.py` wrote to `cepe.gguf`. The optimiser begins anew."""
    state = {}
    for found in GGUFReader(path).tensors:
        value = torch.from_numpy(dequantize(found.data, found.tensor_type).copy())
        name = found.name.replace("lora_a", "lora_A").replace("lora_b", "lora_B")
        state[name] = value.t() if name.endswith("lora_B") else value
    put(learned(reader), state, path)
