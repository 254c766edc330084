"""Training sequences out of token files, and what is hidden in them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from objectives import IGNORED
from stages import MASKED_CHUNKS, MASKED_TOKENS, MIXTURE, SHARES, WHOLE, Stage

RETRIEVED = ".retrieved.npy"


class Domain:
    """The documents of one domain, end to end, as `tokenise.py` writes them."""

    def __init__(self, folder: Path, name: str):
        self.tokens = np.load(folder / f"{name}.npy", mmap_mode="r")
        self.ends = np.load(folder / f"{name}.ends.npy")


class Windows:
    """Sequences of context + main tokens, `main` apart, so that each token is predicted once: within documents that hold a whole one
    (`filtered`), or over all documents end to end (`concatenated`)."""

    def __init__(self, domain: Domain, kind: str, context: int, main: int):
        self.tokens, self.main, self.length = domain.tokens, main, context + main
        ends = domain.ends if kind == "filtered" else domain.ends[-1:]
        self.starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
        self.before = np.cumsum(np.maximum(0, (ends - self.starts - context) // main))

    def __len__(self) -> int:
        return int(self.before[-1])

    def __getitem__(self, number: int) -> np.ndarray:
        document = int(np.searchsorted(self.before, number, "right"))
        earlier = int(self.before[document - 1]) if document else 0
        at = int(self.starts[document]) + (number - earlier) * self.main
        return self.tokens[at : at + self.length]


class Retrieved:
    """Sequences of retrieved passages and main tokens, as `retrieve.py` writes them."""

    def __init__(self, file: Path, context: int, main: int):
        self.rows = np.load(file, mmap_mode="r")
        if self.rows.shape[1] != context + main:
            raise SystemExit(f"{file}: sequences of {self.rows.shape[1]} tokens, {context + main} are trained; they are for standard and ceped, in the sizes that retrieve.py was given")

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: int) -> np.ndarray:
        return self.rows[number]


class Data:
    """`kind` is `mixture`, two filtered sequences to one concatenated, one of both, or `retrieved`."""

    def __init__(self, folder: Path, kind: str, context: int, main: int):
        mixture = MIXTURE if kind == "mixture" else {kind: 1}
        self.drawn: list[tuple[float, Windows | Retrieved]] = []
        for part, weight in mixture.items():
            end = RETRIEVED if part == "retrieved" else ".npy"
            found = {name: share for name, share in SHARES[part].items() if (folder / f"{name}{end}").exists()}
            of = lambda name: Retrieved(folder / f"{name}{end}", context, main) if end == RETRIEVED else Windows(Domain(folder, name), part, context, main)
            windows = [(share, of(name)) for name, share in found.items()]
            kept = [(share, window) for share, window in windows if len(window) > 0]
            if not kept:
                raise SystemExit(f"{folder}: no {part} sequence of {context + main} tokens; its domains are {', '.join(SHARES[part])}")
            total = sum(share for share, _ in kept)
            self.drawn += [(weight * share / total, window) for share, window in kept]
        self.chances = np.array([chance for chance, _ in self.drawn]) / sum(chance for chance, _ in self.drawn)

    def rows(self, count: int, rng: np.random.Generator) -> Tensor:
        """[count, context + main]"""
        chosen = [self.drawn[number][1] for number in rng.choice(len(self.drawn), count, p=self.chances)]
        return torch.from_numpy(np.stack([windows[int(rng.integers(len(windows)))] for windows in chosen]).astype(np.int64))


@dataclass(frozen=True)
class Batch:
    """`chunks` and `mask` (bool) [B,n,C] for the encoder, `main` [B,L] for the decoder."""

    chunks: Tensor
    mask: Tensor
    main: Tensor


def copying(rows: Tensor, stage: Stage) -> Batch:
    """Warm-up: the encoder reads, in chunks, what the decoder reads."""
    main = rows[:, : stage.main]
    chunks = main.unflatten(1, (stage.chunks, stage.chunk))
    return Batch(chunks, torch.ones_like(chunks, dtype=torch.bool), main)


def parallel(context: Tensor, main: Tensor, stage: Stage, rng: np.random.Generator | None = None) -> Batch:
    """Standard training: the last tokens of the context in chunks for the encoder, the first of main for the decoder. Chunks are masked
    if there is a generator."""
    chunks = context[:, -stage.context :].unflatten(1, (stage.chunks, stage.chunk))
    mask = torch.ones_like(chunks, dtype=torch.bool) if rng is None else chunk_mask(tuple(chunks.shape), rng)
    return Batch(chunks, mask, main[:, : stage.main])


def chunk_mask(shape: tuple[int, int, int], rng: np.random.Generator) -> Tensor:
    """Masking of chunks [B,n,C]: of ten chunks, three are masked, a tenth of these whole, the others from a random place (not the first)
    to the end. A row keeps at least one chunk: with none, there is nothing to read."""
    batch, count, length = shape
    drawn = rng.random((batch, count))
    kept = np.where(drawn < MASKED_CHUNKS, length - rng.integers(1, length, (batch, count)), length)
    kept[drawn < MASKED_CHUNKS * WHOLE] = 0
    kept[kept.sum(1) == 0, 0] = length
    return torch.from_numpy(np.arange(length) < kept[..., None])


def masked(ids: Tensor, mask_id: int, special: tuple[int, ...], rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Pre-training: ids [B,L] in which MASKED_TOKENS of those that are not special became the mask token, always; and labels, IGNORED
    where nothing is hidden."""
    hidden = torch.from_numpy(rng.random(tuple(ids.shape)) < MASKED_TOKENS) & ~torch.isin(ids, torch.tensor(special))
    return ids.masked_fill(hidden, mask_id), ids.masked_fill(~hidden, IGNORED)
