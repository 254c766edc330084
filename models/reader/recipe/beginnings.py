"""Beginnings of the cross-attention in closed form: keys and values by least squares, and what of each head's output fits."""

from collections.abc import Iterable

import torch
from torch import Tensor

from cepe_model import Reader
from losses import Missing

RIDGE = 1e-4
LEAST = 0.02  # of a head's output, so that it can still learn


@torch.no_grad()
def fit_keys_and_values(reader: Reader, batches: Iterable[tuple[Tensor, Tensor, Tensor]]) -> None:
    """Batches of encoder states [T,d], the teacher's keys and values [layers,T,2*kv], and weights [T]."""
    gram, target = torch.zeros(()), torch.zeros(())
    for states, kv, weights in batches:
        weighted = states.double() * weights.double()[:, None]
        gram, target = gram + weighted.T @ states.double(), target + weighted.T @ kv.double()
    ridge = RIDGE * gram.diagonal().mean() * torch.eye(len(gram))
    fitted = torch.linalg.solve(gram + ridge, target).transpose(1, 2).float()
    for cross, matrix in zip(reader.cross, fitted, strict=True):
        for name, part in zip(("k_proj", "v_proj"), matrix.chunk(2), strict=True):
            getattr(cross, name).copy_(part)


@torch.no_grad()
def fit_heads(reader: Reader, batches: Iterable[tuple[Missing, Tensor, Tensor, Tensor]]) -> None:
    """Scales each head's output, 0 to 1: most heads read within the question. Batches of what is missing, states, cross bias, weights."""
    s = reader.shape
    gram, target = torch.zeros(s.layers, s.heads, s.heads), torch.zeros(s.layers, s.heads)
    for missing, states, cross_bias, weights in batches:
        each = weights.repeat_interleave(s.width)
        for number, cross in enumerate(reader.cross):
            whole, parts = cross.o_proj.clone(), []
            for head in torch.arange(s.heads).repeat_interleave(s.head_dim) == torch.arange(s.heads)[:, None]:
                cross.o_proj.copy_(whole * head)
                parts.append((cross(missing.given[number][None], states, cross_bias)[0] - missing.given[number]).flatten())
            cross.o_proj.copy_(whole)
            outputs = torch.stack(parts)
            gram[number] += (outputs * each) @ outputs.T
            target[number] += (outputs * each) @ missing.wanted[number].flatten()
    for cross, products, wanted in zip(reader.cross, gram, target, strict=True):
        ridge = 10 * RIDGE * products.diagonal().mean() * torch.eye(s.heads)
        scale = torch.linalg.solve(products + ridge, wanted).clamp(LEAST, 1)
        cross.o_proj.mul_(scale.repeat_interleave(s.head_dim))
