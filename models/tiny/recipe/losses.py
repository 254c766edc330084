"""Cross-entropy on answers and, at a lower weight, on a sample of the other tokens."""

import torch
import torch.nn.functional as F
from torch import Tensor

from model import Cepe
from packing import Batch


def answer_loss(model: Cepe, hidden: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """Mean loss over the answers' tokens, and for each question whether greedy decoding would give
    exactly the answer (every token of it is the most likely one after the tokens before)."""
    chosen = batch.answers
    logits = model.lm_head(hidden[chosen]).float()
    targets = batch.targets[chosen]
    loss = F.cross_entropy(logits, targets)
    with torch.no_grad():
        wrong = (logits.argmax(-1) != targets).float()
        numbers = batch.branches[chosen]
        misses = torch.zeros(int(numbers.max()) + 1, device=wrong.device).index_add(0, numbers, wrong)
    return loss, misses == 0


def text_loss(model: Cepe, hidden: Tensor, batch: Batch, share: float, rng: torch.Generator) -> Tensor:
    """Mean loss over a random share of the tokens outside answers."""
    keep = torch.rand(batch.ids.shape, generator=rng).to(hidden.device) < share
    chosen = (batch.targets >= 0) & ~batch.answers & keep
    return F.cross_entropy(model.lm_head(hidden[chosen]).float(), batch.targets[chosen])
