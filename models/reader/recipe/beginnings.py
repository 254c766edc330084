"""Beginnings of the cross-attention in closed form: keys and values by least squares, and what of each head's output fits."""

from collections.abc import Iterable

import torch
from torch import Tensor

from cepe import Cepe
from losses import Missing
from reader_model import crosses

RIDGE = 1e-4
LEAST = 0.02  # of a head's output, so that it can still learn


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
