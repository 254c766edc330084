"""How far the way through the encoder is from its teacher: in keys and values, in each layer's attention alone, and in the residual stream."""

from dataclasses import dataclass

import torch
from torch import Tensor

from cepe import Cepe
from reader_model import crosses
from teacher import Taught, attended_alone
from through_encoder import Task

SINK = 20.0  # weight of a passage's first token: heads that read nothing attend to it


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
