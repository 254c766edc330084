"""Greedy decoding with cached keys and values, one question at a time."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from model import Block, Cepe, attend, rope_tables, rotate, split_heads
from settings import EOS

MAX_NEW_TOKENS = 25


@dataclass(frozen=True)
class Generated:
    """`confidence` is exp of the mean log-probability over all tokens, the stop token included."""

    ids: list[int]
    confidence: float


class Decoding:
    """The decoder's state while it answers: per layer the keys and values seen so far."""

    def __init__(self, model: Cepe, phi: Tensor | None):
        self.model = model
        self.length = 0
        self.past: list[tuple[Tensor, Tensor] | None] = [None] * len(model.model.layers)
        self.cross: list[tuple[Tensor, Tensor] | None] = []
        for layer in model.model.layers:
            used = phi is not None and layer.has_cross
            c = layer.cross_attn if used else None
            self.cross.append(
                (split_heads(c.k_proj(phi)[None], c.heads), split_heads(c.v_proj(phi)[None], c.heads)) if c else None
            )

    def step(self, ids: list[int]) -> Tensor:
        """Log-probabilities [V] of the token after `ids`."""
        positions = torch.arange(self.length, self.length + len(ids))[None]
        config = self.model.config.decoder
        rope = rope_tables(positions, config.head_dim, config.rope_theta)
        x = self.model.model.embed_tokens(torch.tensor([ids]))
        for number, layer in enumerate(self.model.model.layers):
            x = self._layer(number, layer, x, rope)
        self.length += len(ids)
        return self.model.lm_head(self.model.model.norm(x[:, -1])).float().log_softmax(-1)[0]

    def _layer(self, number: int, layer: Block, x: Tensor, rope: tuple[Tensor, Tensor]) -> Tensor:
        a = layer.self_attn
        normed = layer.input_layernorm(x)
        q = rotate(split_heads(a.q_proj(normed), a.heads), *rope)
        k = rotate(split_heads(a.k_proj(normed), a.kv_heads), *rope)
        v = split_heads(a.v_proj(normed), a.kv_heads)
        past = self.past[number]
        if past:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        self.past[number] = (k, v)
        new, total = q.shape[2], k.shape[2]
        bias = torch.full((new, total), -1e4).triu(total - new + 1)
        x = x + a.o_proj(attend(q, k, v, bias))
        cross = self.cross[number]
        if cross:
            c = layer.cross_attn
            x = x + c.o_proj(attend(split_heads(c.q_proj(c.layernorm(x)), c.heads), *cross, None))
        return x + layer.mlp(layer.post_attention_layernorm(x))


@torch.no_grad()
def greedy(model: Cepe, prompt: list[int], phi: Tensor | None, stops: set[int]) -> Generated:
    """Stops at a newline or EOS, or where the window ends; the stop token is not among `ids`."""
    state = Decoding(model, phi)
    room = model.config.decoder.max_position_embeddings - len(prompt)
    ids: list[int] = []
    total, tokens = 0.0, prompt
    for count in range(1, min(MAX_NEW_TOKENS, room) + 1):
        logprobs = state.step(tokens)
        best = int(logprobs.argmax())
        total += float(logprobs[best])
        if best in stops or best == EOS:
            break
        ids.append(best)
        tokens = [best]
    return Generated(ids, math.exp(total / count))
