"""Teaching the way through the encoder by the frozen decoder that has the right passage in its prompt (hidden-state distillation: Jiao et al.
2020, arXiv 1909.10351): what the decoder computes; how far the way through the encoder is from it, in keys and values, in each layer's
attention alone, and in the residual stream; and beginnings of the cross-attention in closed form.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from cepe import Cepe, CrossAttention, product, rope_tables
from reader_model import crosses
from reading import Row, pack
from through_encoder import Task

SINK = 20.0  # weight of a passage's first token: heads that read nothing attend to it
RIDGE = 1e-4
LEAST = 0.02  # of a head's output, so that it can still learn


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


def token_weights(owner: Tensor) -> Tensor:
    """[T] for passages' tokens of `owner` [T]."""
    first = torch.cat([torch.ones(1, dtype=torch.bool), owner[1:] != owner[:-1]])
    return torch.where(first, SINK, 1.0)


def of_keys_and_values(reader: Cepe, states: Tensor, kv: Tensor, weights: Tensor) -> Tensor:
    """The shares of the variance of the teacher's keys and values [layers,T,2*kv] that the cross-attention's miss, [layers,2]."""
    half, ordinary, shares, out = kv.shape[-1] // 2, (weights == 1).nonzero()[:, 0], weights / weights.sum(), []
    for cross, target in zip(crosses(reader), kv.float(), strict=True):
        spread = target[ordinary].var(0, correction=0)
        missed = torch.cat([cross.k_proj(states), cross.v_proj(states)], -1).float() - target
        squared = shares @ missed.square()
        out.append(torch.stack([squared[:half].sum() / spread[:half].sum(), squared[half:].sum() / spread[half:].sum()]))
    return torch.stack(out)


@dataclass(frozen=True)
class Missing:
    """What the cross-attention of each layer is given, and what it should add, [layers,N,d] both."""

    given: Tensor
    wanted: Tensor


def missing_of(reader: Cepe, task: Task, taught: Taught, first: Tensor) -> Missing:
    """The teacher's attention less that of the branches alone. A branch's first token is the sink and stays as it is."""
    sink = task.positions[0] == 0
    before = taught.before.clone()
    before[:, sink] = first[:, None]
    own = attended_alone(reader, before, task.positions, task.bias)
    wanted = taught.attended.float() - own
    wanted[:, sink] = 0
    return Missing(before + own, wanted)


def of_attention(reader: Cepe, missing: Missing, states: Tensor, cross_bias: Tensor, weights: Tensor) -> Tensor:
    """[layers]: the share that each layer's cross-attention still misses, given the teacher's states."""
    out = []
    for cross, x, wanted in zip(crosses(reader), missing.given, missing.wanted, strict=True):
        added = cross(x[None], states[None], cross_bias)[0]
        out.append((added - wanted).square().sum(-1) @ weights / (wanted.square().sum(-1) @ weights))
    return torch.stack(out)


def of_states(reader: Cepe, after: Tensor, layers: list[Tensor], weights: Tensor) -> Tensor:
    """Mean over layers of the squared distance of normalised states [layers,N,d], relative to the teacher's."""
    total, norms = torch.zeros(()), [layer.input_layernorm for layer in reader.model.layers[1:]] + [reader.model.norm]
    for target, state, norm in zip(after, layers, norms, strict=True):
        wanted, found = norm(target), norm(state.flatten(0, 1))
        total = total + ((found - wanted).square().sum(-1) / wanted.square().sum(-1)) @ weights
    return total / len(norms)


@torch.no_grad()
def fit_keys_and_values(reader: Cepe, batches: Iterable[tuple[Tensor, Tensor, Tensor]]) -> None:
    """Batches of encoder states [T,d], the teacher's keys and values [layers,T,2*kv], and weights [T]."""
    gram, target = torch.zeros(()), torch.zeros(())
    for states, kv, weights in batches:
        weighted = states.double() * weights.double()[:, None]
        gram, target = gram + weighted.T @ states.double(), target + weighted.T @ kv.double()
    ridge = RIDGE * gram.diagonal().mean() * torch.eye(len(gram))
    fitted = torch.linalg.solve(gram + ridge, target).transpose(1, 2).float()
    for cross, matrix in zip(crosses(reader), fitted, strict=True):
        for name, part in zip(("k_proj", "v_proj"), matrix.chunk(2), strict=True):
            cross.get_submodule(name).weight.copy_(part)


@torch.no_grad()
def fit_heads(reader: Cepe, batches: Iterable[tuple[Missing, Tensor, Tensor, Tensor]]) -> None:
    """Scales each head's output, 0 to 1: most heads read within the question. Batches of what is missing, states, cross bias, weights."""
    c = reader.config.decoder
    layers, heads = c.num_hidden_layers, c.num_attention_heads
    gram, target = torch.zeros(layers, heads, heads), torch.zeros(layers, heads)
    for missing, states, cross_bias, weights in batches:
        each = weights.repeat_interleave(c.hidden_size)
        for number, cross in enumerate(crosses(reader)):
            output, whole, parts = cross.o_proj.weight, cross.o_proj.weight.clone(), []
            for head in torch.arange(heads).repeat_interleave(c.head_dim) == torch.arange(heads)[:, None]:
                output.copy_(whole * head)
                parts.append(cross(missing.given[number][None], states[None], cross_bias)[0].float().flatten())
            output.copy_(whole)
            outputs = torch.stack(parts)
            gram[number] += (outputs * each) @ outputs.T
            target[number] += (outputs * each) @ missing.wanted[number].flatten()
    for cross, products, wanted in zip(crosses(reader), gram, target, strict=True):
        ridge = 10 * RIDGE * products.diagonal().mean() * torch.eye(heads)
        scale = torch.linalg.solve(products + ridge, wanted).clamp(LEAST, 1)
        cross.o_proj.weight.mul_(scale.repeat_interleave(c.head_dim))
