"""What the frozen decoder computes where the right passage stands in its prompt: the way through the encoder is taught to bring about the
same (hidden-state distillation: Jiao et al. 2020, arXiv 1909.10351)."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from cepe import Cepe, CrossAttention, product, rope_tables
from reading import Row, pack


@dataclass(frozen=True)
class Taught:
    """Of all rows' branches' tokens in order: the residual stream before and after each layer and the output of its attention, each
    [layers,N,d]. Of the passages: keys before their rotation, then values, [layers,P,2*kv]."""

    before: Tensor
    after: Tensor
    attended: Tensor
    kv: Tensor


@dataclass(frozen=True)
class Between:
    """Takes the residual stream between attention and MLP of each layer, at the chosen places of a batch, and adds nothing."""

    places: Tensor
    taken: list[Tensor] = field(default_factory=list)

    def added(self, _: CrossAttention, x: Tensor) -> Tensor:
        self.taken.append(x.flatten(0, 1)[self.places])
        return torch.zeros(())


@torch.no_grad()
def taught_by(reader: Cepe, rows: list[Row], lengths: list[int]) -> Taught:
    """@param lengths: tokens of each row's passage, without the separator behind it"""
    packed = pack(rows)
    kept = (packed.segment > 0).flatten().nonzero()[:, 0]
    prefix = ((packed.segment == 0) & (packed.positions < torch.tensor(lengths)[:, None])).flatten().nonzero()[:, 0]
    between, states, kv = Between(kept), [], []
    for number, x in enumerate(reader.model.stream(packed.ids, packed.positions, packed.bias, between)):
        states.append(x.flatten(0, 1)[kept])
        for layer in reader.model.layers[number : number + 1]:
            h = layer.input_layernorm(x.flatten(0, 1)[prefix])
            kv.append(torch.cat([product(h, layer.self_attn.k_proj.weight), product(h, layer.self_attn.v_proj.weight)], -1))
    before, after = torch.stack(states[:-1]), torch.stack(states[1:])
    return Taught(before, after, torch.stack(between.taken) - before, torch.stack(kv))


@torch.no_grad()
def first_states(reader: Cepe, token: int) -> Tensor:
    """[layers,d]: the residual stream before each layer at a text's first token, the attention sink, which sees itself alone."""
    return torch.cat([x[0] for x in reader.model.stream(torch.tensor([[token]]), torch.zeros(1, 1), None)][:-1])


@torch.no_grad()
def attended_alone(reader: Cepe, before: Tensor, positions: Tensor, bias: Tensor) -> Tensor:
    """[layers,N,d]: the output of each layer's self-attention over the branches alone, for inputs `before` [layers,N,d] and
    positions [1,N]."""
    c = reader.config.decoder
    rope = rope_tables(positions, c.head_dim, c.rope_theta, c.rope_scaling)
    layers = zip(reader.model.layers, before, strict=True)
    return torch.cat([layer.self_attn(layer.input_layernorm(x[None]), rope, bias).float() for layer, x in layers])
