"""How far the way through the encoder is from its teacher: in keys and values, in each layer's attention alone, and in the residual stream."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from base_model import COMPUTED_IN
from cepe_model import Reader
from teacher import Taught, attended_alone
from through_encoder import Task

SINK = 20.0  # weight of a passage's first token: heads that read nothing attend to it


def token_weights(owner: Tensor) -> Tensor:
    """[T] for passages' tokens of `owner` [T]."""
    first = torch.cat([torch.ones(1, dtype=torch.bool), owner[1:] != owner[:-1]])
    return torch.where(first, SINK, 1.0)


def of_keys_and_values(reader: Reader, states: Tensor, kv: Tensor, weights: Tensor) -> Tensor:
    """The shares of the variance of the teacher's keys and values [layers,T,2*kv] that the cross-attention's miss, [layers,2]."""
    half, ordinary, shares, out = kv.shape[-1] // 2, (weights == 1).nonzero()[:, 0], weights / weights.sum(), []
    for cross, target in zip(reader.cross, kv.float(), strict=True):
        spread = target[ordinary].var(0, correction=0)
        projection = torch.cat([cross.k_proj, cross.v_proj])
        missed = F.linear(states.to(COMPUTED_IN), projection.to(COMPUTED_IN)).float() - target
        squared = shares @ missed.square()
        out.append(torch.stack([squared[:half].sum() / spread[:half].sum(), squared[half:].sum() / spread[half:].sum()]))
    return torch.stack(out)


@dataclass(frozen=True)
class Missing:
    """What the cross-attention of each layer is given, and what it should add, [layers,N,d] both."""

    given: Tensor
    wanted: Tensor


def missing_of(reader: Reader, task: Task, taught: Taught, first: Tensor) -> Missing:
    """The teacher's attention less that of the branches alone. A branch's first token is the sink and stays as it is."""
    sink = task.positions[0] == 0
    before = taught.before.clone()
    before[:, sink] = first[:, None]
    own = attended_alone(reader.decoder[0], before, task.positions, task.bias)
    wanted = taught.attended.float() - own
    wanted[:, sink] = 0
    return Missing(before + own, wanted)


def of_attention(reader: Reader, missing: Missing, states: Tensor, cross_bias: Tensor, weights: Tensor) -> Tensor:
    """[layers]: the share that each layer's cross-attention still misses, given the teacher's states."""
    out = []
    for cross, x, wanted in zip(reader.cross, missing.given, missing.wanted, strict=True):
        added = cross(x[None], states, cross_bias)[0] - x
        out.append((added - wanted).square().sum(-1) @ weights / (wanted.square().sum(-1) @ weights))
    return torch.stack(out)


def of_states(reader: Reader, after: Tensor, layers: list[Tensor], weights: Tensor) -> Tensor:
    """Mean over layers of the squared distance of normalised states [layers,N,d], relative to the teacher's."""
    decoder, total = reader.decoder[0], torch.zeros(())
    norms = [layer.norm_attn for layer in decoder.layers[1:]] + [decoder.norm]
    for target, state, weight in zip(after, layers, norms, strict=True):
        wanted, found = (F.rms_norm(t, (reader.shape.width,), weight, reader.shape.eps) for t in (target, state.flatten(0, 1)))
        total = total + ((found - wanted).square().sum(-1) / wanted.square().sum(-1)) @ weights
    return total / len(norms)
