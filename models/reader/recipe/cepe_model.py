"""CEPE over a frozen decoder: an encoder from the decoder's lower layers, and a cross-attention block in every layer.

Yen, Gao and Chen 2024, section 2. The encoder sees a passage in both directions; its matrices are the decoder's own with LoRA
adapters. A cross-attention block begins as its layer's self-attention with a small output (no rotation: passages have no order).
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from base_model import Decoder, FrozenLinear, LoraLinear, MATRICES, rope_of

OUTPUT = 0.2  # of the self-attention's output matrix, at the beginning


class CrossAttention(nn.Module):
    def __init__(self, decoder: Decoder, layer: int):
        super().__init__()
        block = decoder.layers[layer]
        self.shape = decoder.shape
        self.layernorm = nn.Parameter(block.norm_attn.clone())
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            weight = block.get_submodule(f"self_attn__{name}").weight.float()
            self.register_parameter(name, nn.Parameter(weight * (OUTPUT if name == "o_proj" else 1.0)))

    def forward(self, x: Tensor, states: Tensor, bias: Tensor) -> Tensor:
        """x [B,L,d]; states [T,d] of all passages; bias [1,1,B*L,T]: which of them each token may read."""
        s = self.shape
        linear = lambda t, weight: F.linear(t.to(torch.bfloat16), weight.to(torch.bfloat16))
        split = lambda t, heads: t.view(1, -1, heads, s.head_dim).transpose(1, 2)
        q = split(linear(F.rms_norm(x, (s.width,), self.layernorm, s.eps), self.q_proj), s.heads)
        k, v = (split(linear(states, w), s.kv_heads).repeat_interleave(s.heads // s.kv_heads, 1) for w in (self.k_proj, self.v_proj))
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        return x + linear(out.transpose(1, 2).flatten(2), self.o_proj).view(x.shape)


class Reader(nn.Module):
    """`decoder` has its adapters merged and is frozen; what is trained are the encoder's adapters and norm, and the cross-attention."""

    def __init__(self, decoder: Decoder, layers: int, rank: int, alpha: float):
        super().__init__()
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
        bias = torch.zeros(real.shape, dtype=torch.bfloat16).masked_fill(~real, -1e4)[:, None, None]
        x, rope = decoder.embedding[ids].float(), rope_of(self.shape, torch.arange(longest))
        for block in self.encoder:
            x = block(x, rope, bias)
        states = F.rms_norm(x, (self.shape.width,), self.encoder_norm, self.shape.eps)[real]
        return states, torch.arange(len(passages)).repeat_interleave(real.sum(1))

    def hidden(self, ids: Tensor, positions: Tensor, bias: Tensor, states: Tensor, cross_bias: Tensor) -> Tensor:
        """Final normed states [B,L,d] of ids [B,L]; states [T,d], cross_bias [1,1,B*L,T]."""
        decoder = self.decoder[0]
        x, rope = decoder.embedding[ids].float(), rope_of(self.shape, positions)
        for layer, cross in zip(decoder.layers, self.cross, strict=True):
            x = layer(x, rope, bias, lambda t, cross=cross: cross(t, states, cross_bias))
        return F.rms_norm(x, (self.shape.width,), decoder.norm, self.shape.eps)


class EncoderBlock(nn.Module):
    """A decoder's block with adapters of its own over the frozen matrices, which are shared."""

    def __init__(self, decoder: Decoder, layer: int, rank: int, alpha: float):
        super().__init__()
        source = decoder.layers[layer]
        self.block = type(source).__new__(type(source))
        nn.Module.__init__(self.block)
        self.block.shape = source.shape
        for name in ("norm_attn", "norm_mlp"):
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
