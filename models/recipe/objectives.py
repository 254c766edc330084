"""What is minimised. Logits are of all positions; every loss is a mean."""

import torch
import torch.nn.functional as F
from torch import Tensor

from cepe import Cepe
from stages import TOP

IGNORED = -100


def masked_tokens(logits: Tensor, labels: Tensor) -> Tensor:
    """Pre-training: cross-entropy of the masked tokens. logits [B,L,V]; labels [B,L], IGNORED where the token is shown."""
    total = F.cross_entropy(logits.float().flatten(0, 1), labels.flatten(), ignore_index=IGNORED, reduction="sum")
    return total / (labels != IGNORED).sum().clamp(min=1)


def next_tokens(logits: Tensor, ids: Tensor) -> Tensor:
    """Warm-up and standard training: cross-entropy of each token of the decoder's ids [B,L] given those before; the first is not predicted."""
    return F.cross_entropy(logits[:, :-1].float().flatten(0, 1), ids[:, 1:].flatten())


@torch.no_grad()
def teacher(model: Cepe, context: Tensor, main: Tensor) -> tuple[Tensor, Tensor]:
    """CEPED: the base reads context [B,C] and main [B,L] as one text. Its TOP largest probabilities at each position of main [B,L,TOP],
    falling, and their tokens."""
    hidden = model.hidden(torch.cat([context, main], 1))[:, context.shape[1] :]
    return model.lm_head(hidden).float().softmax(-1).topk(TOP)


def divergence(logits: Tensor, probabilities: Tensor, tokens: Tensor) -> Tensor:
    """CEPED: sum over the teacher's tokens of p (log p - log q), by position. q is the student's whole distribution at these tokens: neither
    side is renormalised, and what the teacher gives to all other tokens is left out."""
    student = logits.float().log_softmax(-1).gather(-1, tokens)
    return (torch.xlogy(probabilities, probabilities) - probabilities * student).sum(-1).mean()
