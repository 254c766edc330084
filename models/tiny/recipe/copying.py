"""Random token sequences that repeat themselves: the warm-up from which copying emerges."""

import torch
from torch import Tensor


def repeated_segments(batch: int, length: int, shortest: int, longest: int, vocab: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """ids [batch,length] and loss mask (bool, True where a token can be known from the past).

    Half of the rows repeat one segment of random tokens; the others string two segments together in
    random order, so that the model must find the earlier occurrence instead of counting back.
    """
    rows, masks = [], []
    for number in range(batch):
        count = 1 + number % 2
        sizes = torch.randint(shortest, longest + 1, (count,), generator=rng, device="cpu").tolist()
        segments = [torch.randint(3, vocab, (size,), generator=rng, device="cpu") for size in sizes]
        row, mask, seen, filled = [], [], set(), 0
        while filled < length:
            pick = int(torch.randint(0, count, (1,), generator=rng, device="cpu"))
            row.append(segments[pick])
            known = torch.full((sizes[pick],), pick in seen, device="cpu")
            known[0] = False
            mask.append(known)
            seen.add(pick)
            filled += sizes[pick]
        rows.append(torch.cat(row)[:length])
        masks.append(torch.cat(mask)[:length])
    device = torch.get_default_device()  # drawn on the CPU, so that a seed means the same on every machine
    return torch.stack(rows).to(device), torch.stack(masks).to(device)
