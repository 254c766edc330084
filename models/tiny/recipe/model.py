"""The model of `models/recipe/cepe.py`, with contexts that all rows of a batch share and a look at attention weights."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

sys.path.append(str(Path(__file__).resolve().parents[2] / "recipe"))

import cepe
from cepe import *  # noqa: F403 (this recipe's files import the model from here)
from cepe import CrossAttention


@dataclass(frozen=True)
class Watch:
    """In training: each attention adds its weights [chosen,H,m] at some positions of the batch, given by
    the rows and the places in them (long, [chosen])."""

    rows: Tensor
    places: Tensor
    weights: list[Tensor] = field(default_factory=list)

    @staticmethod
    def at(chosen: Tensor) -> "Watch":
        """`chosen` bool [B,L]."""
        return Watch(*chosen.nonzero(as_tuple=True))

    def __call__(self, weights: Tensor) -> None:
        """`weights` [B,H,L,m]."""
        self.weights.append(weights[self.rows, :, self.places])


@dataclass(frozen=True)
class Context:
    """Phi [m, d_enc], shared by a batch. In training, `tokens` (long, [T]) are the places of the batch, counted
    through all rows, that attend to it (the others are padding), `bias` [T,m] hides parts of Phi from them,
    and `watch` takes each layer's weights as if the T were one row."""

    phi: Tensor
    tokens: Tensor | None = None
    bias: Tensor | None = None
    watch: Watch | None = None

    def added(self, attention: CrossAttention, x: Tensor) -> Tensor:
        if self.phi.shape[0] == 0:
            return torch.zeros_like(x)
        # the rows of a batch share keys and values, so they are one long row to the matrix products
        rows = x.flatten(0, 1)
        if self.tokens is None:
            return attention(rows[None], self.phi[None], self.bias, self.watch).view(x.shape)
        out = attention(rows[None, self.tokens], self.phi[None], self.bias, self.watch)[0]
        return torch.zeros_like(x, dtype=out.dtype).flatten(0, 1).index_copy(0, self.tokens, out).view(x.shape)


class Cepe(cepe.Cepe):
    def encode(self, ids: Tensor, valid: Tensor) -> Tensor:
        """Phi [m, d_enc]: the valid states of all passages [n,L], in passage order."""
        return self.encoder(ids, valid)[valid]

    def forward(self, ids: Tensor, phi: Tensor | None = None) -> Tensor:
        """Logits [B,L,V] of a plain causal pass, cross-attending to phi [m,d_enc] if given."""
        return super().forward(ids, None if phi is None else Context(phi))
