"""Cross-entropy on answers and, at a lower weight, on a sample of the other tokens."""

import torch
import torch.nn.functional as F
from torch import Tensor

from model import Cepe
from packing import Batch

REFUSAL_WEIGHT = 0.4


def answer_loss(model: Cepe, hidden: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """Mean loss over the answers' tokens, and for each question whether greedy decoding would give
    exactly the answer (every token of it is the most likely one after the tokens before). A refusal, an answer of one
    token, counts less: else the reader refuses whatever it finds hard."""
    chosen = batch.answers
    logits = model.lm_head(hidden[chosen]).float()
    targets, numbers = batch.targets[chosen], batch.branches[chosen]
    weights = torch.where(torch.bincount(numbers)[numbers] == 1, REFUSAL_WEIGHT, 1.0)
    loss = (F.cross_entropy(logits, targets, reduction="none") * weights).sum() / weights.sum()
    with torch.no_grad():
        wrong = (logits.argmax(-1) != targets).float()
        misses = torch.zeros(int(numbers.max()) + 1, device=wrong.device).index_add(0, numbers, wrong)
    return loss, misses == 0


def text_loss(model: Cepe, hidden: Tensor, batch: Batch, share: float, rng: torch.Generator) -> Tensor:
    """Mean loss over a random share of the tokens outside answers."""
    keep = torch.rand(batch.ids.shape, generator=rng, device="cpu").to(hidden.device) < share
    chosen = (batch.targets >= 0) & ~batch.answers & keep
    return F.cross_entropy(model.lm_head(hidden[chosen]).float(), batch.targets[chosen])


def attention_loss(weights: list[Tensor], places: Tensor, first: Tensor) -> Tensor:
    """How far attention is from looking at the answer: -log of the weight on the right places (the token to be
    copied, or the passages that hold it), for half of the heads of each given layer (supervised attention, as Mi et al. 2016 for translation)."""
    known = places.any(1)
    if not known.any():
        return torch.zeros(())
    # an answer's first token is the one that has to be found, the others only follow it
    share = torch.where(first[known], 1.0, 0.2)
    losses = []
    for layer in weights:
        half = layer[known, : layer.shape[1] // 2].float().mean(1)
        loss = -(half * places[known]).sum(1).clamp(min=1e-6).log()
        losses.append((loss * share).sum() / share.sum())
    return torch.stack(losses).mean()


def name_loss(weights: Tensor, targets: Tensor) -> Tensor:
    """-log of the weight [n,H,m] of one head (the first) on the name's tokens [n,m]: with it, the tokens of a
    passage and of a question about it carry the same name in the same place of their states, where they can
    be compared."""
    if len(weights) == 0:
        return torch.zeros(())
    return -(weights[:, 0].float() * targets).sum(1).clamp(min=1e-6).log().mean()
