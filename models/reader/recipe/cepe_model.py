"""CEPE over a frozen decoder: an encoder from the decoder's lower layers, and a cross-attention block in every layer.

Yen, Gao and Chen 2024, section 2. The encoder's matrices are the decoder's own with LoRA adapters. Its attention stays causal: the decoder's
layers use the first token as an attention sink, which a bidirectional encoder would have to learn anew. A cross-attention block begins as
its layer's self-attention without rotation, because passages have no order; `beginnings.py` fits the rest.
"""

from pathlib import Path

import torch
import torch.nn.functional as F
from gguf import GGUFReader, dequantize
from torch import Tensor, nn

from base_model import COMPUTED_IN, DEVICE, Decoder, FrozenLinear, LoraLinear, MATRICES, Shape, VECTORS, rope_of

AWAY = (20, 250)  # tokens between a question and what it reads of a passage, where the decoder learnt it


class CrossAttention(nn.Module):
    def __init__(self, decoder: Decoder, layer: int):
        super().__init__()
        block = decoder.layers[layer]
        self.shape = decoder.shape
        self.layernorm = nn.Parameter(block.norm_attn.clone())
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            weight = block.get_submodule(f"self_attn__{name}").weight.float()
            self.register_parameter(name, nn.Parameter(mean_rotated(decoder.shape, weight) if name == "q_proj" else weight.clone()))

    def forward(self, x: Tensor, states: Tensor, bias: Tensor) -> Tensor:
        """x [B,L,d]; states [T,d] of all passages; bias [1,1,B*L,T]: which of them each token may read."""
        s = self.shape
        linear = lambda t, weight: F.linear(t.to(COMPUTED_IN), weight.to(COMPUTED_IN))
        split = lambda t, heads: t.view(1, -1, heads, s.head_dim).transpose(1, 2)
        q = split(linear(F.rms_norm(x, (s.width,), self.layernorm, s.eps), self.q_proj), s.heads)
        k, v = (split(linear(states, w), s.kv_heads).repeat_interleave(s.heads // s.kv_heads, 1) for w in (self.k_proj, self.v_proj))
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        return x + linear(out.transpose(1, 2).flatten(2), self.o_proj).view(x.shape)


def mean_rotated(shape: Shape, weight: Tensor) -> Tensor:
    """The query matrix [heads*D,d] times the mean rotation over the distances AWAY."""
    half = shape.head_dim // 2
    cos, sin = (t[0, 0].float().mean(0)[:half, None] for t in rope_of(shape, torch.arange(*AWAY)[None]))
    first, second = weight.view(shape.heads, 2, half, -1).unbind(1)
    return torch.stack([first * cos - second * sin, second * cos + first * sin], 1).view(weight.shape)


class Reader(nn.Module):
    """`decoder` has its adapters merged and is frozen; what is trained are the encoder's adapters and norm, and the cross-attention."""

    def __init__(self, decoder: Decoder, layers: int, rank: int, alpha: float):
        super().__init__()
        if decoder.shape.gemma:
            raise SystemExit("stage 2 is not trained over Gemma: its local layers and further norms have no counterpart there")
        freeze(decoder)
        self.shape, self.decoder = decoder.shape, [decoder]  # a list hides it from parameters() and state_dict()
        self.encoder = nn.ModuleList(EncoderBlock(decoder, layer, rank, alpha) for layer in range(layers))
        following = decoder.layers[layers].norm_attn if layers < len(decoder.layers) else decoder.norm
        self.encoder_norm = nn.Parameter(following.clone())
        self.cross = nn.ModuleList(CrossAttention(decoder, layer) for layer in range(len(decoder.layers)))

    def encode(self, passages: list[list[int]]) -> tuple[Tensor, Tensor]:
        """Token ids of passages -> states [T,d] of their tokens, one passage after the other, and the passage [T] of each."""
        decoder, longest = self.decoder[0], max(map(len, passages))
        ids = torch.tensor([p + [0] * (longest - len(p)) for p in passages])
        real = torch.tensor([[1] * len(p) + [0] * (longest - len(p)) for p in passages]).bool()
        bias = torch.full((longest, longest), -1e4, dtype=COMPUTED_IN).triu(1)[None, None]  # padding stands behind
        x, rope = decoder.embedding[ids].float(), rope_of(self.shape, torch.arange(longest)[None])
        for block in self.encoder:
            x = block(x, rope, bias)
        states = F.rms_norm(x, (self.shape.width,), self.encoder_norm, self.shape.eps)[real]
        return states, torch.tensor([number for number, passage in enumerate(passages) for _ in passage])

    def layers(self, ids: Tensor, positions: Tensor, bias: Tensor, states: Tensor, cross_bias: Tensor) -> list[Tensor]:
        """The residual stream [B,L,d] after each layer, for ids and positions [B,L]; states [T,d], cross_bias [1,1,B*L,T]."""
        decoder, out = self.decoder[0], []
        x, rope = decoder.embedding[ids].float(), rope_of(self.shape, positions)
        for layer, cross in zip(decoder.layers, self.cross, strict=True):
            x = layer(x, rope, bias, lambda t, cross=cross: cross(t, states, cross_bias))
            out.append(x)
        return out

    def normed(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, (self.shape.width,), self.decoder[0].norm, self.shape.eps)

    def hidden(self, ids: Tensor, positions: Tensor, bias: Tensor, states: Tensor, cross_bias: Tensor) -> Tensor:
        """Final normed states [B,L,d]."""
        return self.normed(self.layers(ids, positions, bias, states, cross_bias)[-1])


class EncoderBlock(nn.Module):
    """A decoder's block with adapters of its own over the frozen matrices, which are shared."""

    def __init__(self, decoder: Decoder, layer: int, rank: int, alpha: float):
        super().__init__()
        source = decoder.layers[layer]
        self.block = type(source).__new__(type(source))
        nn.Module.__init__(self.block)
        self.block.shape = source.shape
        for name in VECTORS:
            self.block.register_buffer(name, getattr(source, name), persistent=False)
        for name in MATRICES:
            key = name.replace(".", "__")
            self.block.add_module(key, LoraLinear(source.get_submodule(key).weight, rank, alpha))

    def forward(self, x: Tensor, rope: tuple[Tensor, Tensor], bias: Tensor) -> Tensor:
        return self.block(x, rope, bias)


def freeze(decoder: Decoder) -> None:
    """Merges the adapters into the matrices, in place."""
    for layer in decoder.layers:
        for name in MATRICES:
            key = name.replace(".", "__")
            linear = layer.get_submodule(key)
            if isinstance(linear, LoraLinear):
                layer.add_module(key, FrozenLinear(linear.merged()))


def load_cepe(reader: Reader, path: Path) -> None:
    """What `export.py` wrote to `cepe.gguf`. The optimizer begins anew."""
    state = {}
    for found in GGUFReader(path).tensors:
        value = torch.from_numpy(dequantize(found.data, found.tensor_type).copy()).float().to(DEVICE)
        parts = found.name.split(".")
        if found.name == "encoder.norm.weight":
            state["encoder_norm"] = value
        elif parts[0] == "encoder":
            _, _, layer, *module, half = parts
            state[f"encoder.{layer}.block.{'__'.join(module)}.{half.replace('_a', '_A').replace('_b', '_B')}"] = value.t() if half == "lora_b" else value
        else:
            _, _, layer, _, matrix, _ = parts
            state[f"cross.{layer}.{matrix}"] = value
    reader.load_state_dict(state)
