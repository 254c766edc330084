"""Optimisation: AdamW under a schedule, clipped; gradients are averaged over the parts of a step."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from stages import BETAS, DECAY, EPSILON, LARGEST_NORM, RISE


def rate_at(step: int, steps: int, peak: float, rise: int | None = None) -> float:
    """The learning rate of step 0, 1, ..: linear from 0 over `rise` steps (4 % of all), then half a cosine to 0."""
    rise = math.ceil(RISE * steps) if rise is None else rise
    if step < rise:
        return peak * step / rise
    return peak * 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1, steps - rise)))


def new_optimiser(parameters: Iterable, betas: tuple[float, float] = BETAS) -> torch.optim.AdamW:
    """@param parameters: or groups of them, whose `of` is a factor of the rate"""
    return torch.optim.AdamW(parameters, lr=0.0, betas=betas, eps=EPSILON, weight_decay=DECAY)


def accumulate(losses: Iterable[Tensor], parts: int) -> float:
    """Gradients of the mean of so many losses, which is returned. Each is dropped before the next is computed."""
    total = 0.0
    for loss in losses:
        (loss / parts).backward()
        total += loss.item() / parts
    return total


def apply(optimiser: torch.optim.AdamW, rate: float, largest_norm: float = LARGEST_NORM) -> float:
    """One step, which is left out where a gradient is not finite: in bf16 one such step would spoil all weights. Returns the gradients' norm
    before clipping."""
    norm = nn.utils.clip_grad_norm_([p for group in optimiser.param_groups for p in group["params"]], largest_norm)
    if not math.isfinite(norm):
        optimiser.zero_grad(set_to_none=True)
        return float(norm)
    for group in optimiser.param_groups:
        group["lr"] = rate * group.get("of", 1.0)
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)
    return float(norm)
