"""What the frozen decoder computes where the right passage stands in its prompt: the way through the encoder is taught to bring about the
same (hidden-state distillation: Jiao et al. 2020, arXiv 1909.10351)."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from base_model import COMPUTED_IN, Decoder, rope_of
from reading import Row, pack


@dataclass(frozen=True)
class Taught:
    """Of all rows' branches' tokens in order: the residual stream before and after each layer and the output of its attention, each
    [layers,N,d]. Of the passages: keys before their rotation, then values, [layers,P,2*kv]."""

    before: Tensor
    after: Tensor
    attended: Tensor
    kv: Tensor


@torch.no_grad()
def taught_by(decoder: Decoder, rows: list[Row], lengths: list[int]) -> Taught:
    """@param lengths: tokens of each row's passage, without the separator behind it"""
    packed = pack(rows)
    kept = (packed.segment > 0).flatten().nonzero()[:, 0]
    prefix = ((packed.segment == 0) & (packed.positions < torch.tensor(lengths)[:, None])).flatten().nonzero()[:, 0]
    s = decoder.shape
    x, rope = decoder.embedding[packed.ids].float(), rope_of(s, packed.positions)
    chosen = lambda t: t.flatten(0, 1)[kept]
    before, after, attended, kv = [], [], [], []
    for layer in decoder.layers:
        h = F.rms_norm(x.flatten(0, 1)[prefix], (s.width,), layer.norm_attn, s.eps)
        kv.append(torch.cat([layer.linear("self_attn__k_proj", h), layer.linear("self_attn__v_proj", h)], -1))
        before.append(chosen(x))
        middle: list[Tensor] = []
        x = layer(x, rope, packed.bias, lambda t: middle.append(chosen(t)) or t)
        attended.append(middle[0] - before[-1])
        after.append(chosen(x))
    return Taught(torch.stack(before), torch.stack(after), torch.stack(attended), torch.stack(kv))


@torch.no_grad()
def first_states(decoder: Decoder, token: int) -> Tensor:
    """[layers,d]: the residual stream before each layer at a text's first token, the attention sink, which sees itself alone."""
    x, rope = decoder.embedding[torch.tensor([[token]])].float(), rope_of(decoder.shape, torch.zeros(1, 1))
    out = []
    for layer in decoder.layers:
        out.append(x[0, 0])
        x = layer(x, rope, torch.zeros(1, 1, 1, 1, dtype=COMPUTED_IN))
    return torch.stack(out)


@torch.no_grad()
def attended_alone(decoder: Decoder, before: Tensor, positions: Tensor, bias: Tensor) -> Tensor:
    """[layers,N,d]: the output of each layer's self-attention over the branches alone, for inputs `before` [layers,N,d] and
    positions [1,N]."""
    rope, out = rope_of(decoder.shape, positions), []
    for layer, x in zip(decoder.layers, before, strict=True):
        q, k, v = layer.queries_keys_values(layer.normed(x[None], layer.norm_attn), rope)
        o = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        out.append(layer.linear("self_attn__o_proj", o.transpose(1, 2).flatten(2))[0].float())
    return torch.stack(out)
