"""CEPE and the decoders that it extends; parameter names are the checkpoints' own.

CEPE (Yen, Gao, Chen 2024, section 2): a decoder-only LLaMA whose layers carry one cross-attention block between
self-attention and MLP. It attends to the concatenated final states of a small bidirectional encoder that reads every
passage alone, with positions from 0. A decoder can also be a Qwen or a Gemma 3, and any matrix can carry a LoRA adapter.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

Watch = Callable[[Tensor], None]  # is called with each layer's attention weights [B,H,L,m]
FUSED = 256  # keys of a row, from which a CPU too computes attention in one kernel


@dataclass(frozen=True)
class LlamaConfig:
    """One stack of LLaMA blocks, by the names of config.json. The decoder's and the encoder's configs share this shape."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    max_position_embeddings: int
    rms_norm_eps: float = 1e-5
    rope_theta: float = 10000.0
    head_dim: int = 0
    rope_scaling: dict | None = None
    bos_token_id: int | None = 1
    eos_token_id: int | list[int] | None = 2
    pad_token_id: int | None = 0
    # Other families. Qwen 2: biases of queries, keys and values; Qwen 3, Gemma 3: norms of queries' and keys' heads
    biases: bool = False
    normed_heads: bool = False
    gemma: bool = False  # scaled embeddings, norms behind attention and MLP, tanh-approximated GELU
    window: int = 0  # tokens that a local layer sees
    local: tuple[bool, ...] = ()  # for each layer, whether it is local
    local_theta: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "head_dim", self.head_dim or self.hidden_size // self.num_attention_heads)

    @property
    def padding(self) -> int | None:
        """The row of the embeddings that is not trained through the lookup; -1 in a config.json means none."""
        return self.pad_token_id if self.pad_token_id is not None and 0 <= self.pad_token_id < self.vocab_size else None

    def stored(self) -> dict:
        """By the names of config.json, which has none for what other families do."""
        further = [f.name for f in fields(self)[-6:] if getattr(self, f.name) == f.default]
        return {name: value for name, value in asdict(self).items() if name not in further}


@dataclass(frozen=True)
class CepeConfig:
    decoder: LlamaConfig
    encoder: LlamaConfig | None = None
    num_cross_attn_layers: int = 0


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + b, in the type of Projection.kind."""
    kind = Projection.kind
    return F.linear(x.to(kind), weight.to(kind), None if bias is None else bias.to(kind))


class Projection(nn.Linear):
    """x W^T + b; adapted (LoRA, Hu et al. 2021, arXiv 2106.09685) also (alpha / rank) x A^T B^T, with W frozen."""

    kind = torch.float32  # of all products of a process: bfloat16 where a device multiplies it
    scale = 0.0

    def __init__(self, inputs: int, outputs: int, bias: bool = False):
        super().__init__(inputs, outputs, bias)

    def adapt(self, rank: int, alpha: float) -> None:
        """B begins at zero."""
        self.lora_A = nn.Parameter(torch.randn(rank, self.in_features) * self.in_features**-0.5)
        self.lora_B = nn.Parameter(torch.zeros(self.out_features, rank))
        self.scale = alpha / rank

    def merged(self) -> Tensor:
        """The matrix with the adapter's product added, f32."""
        return self.weight.detach().float() + (self.scale * self.lora_B.detach() @ self.lora_A.detach() if self.scale else 0)

    def merge(self) -> None:
        """The adapter becomes a part of the matrix, in place."""
        if self.scale:
            self.weight = nn.Parameter(self.merged().to(self.weight.dtype), requires_grad=False)
            del self.lora_A, self.lora_B
            self.scale = 0.0

    def forward(self, x: Tensor) -> Tensor:
        x = x.to(self.kind)
        out = product(x, self.weight, self.bias)
        return out + product(product(x, self.lora_A), self.lora_B) * self.scale if self.scale else out


class RMSNorm(nn.Module):
    def __init__(self, size: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x.float(), self.weight.shape, self.weight.float(), self.eps)


def rope_tables(positions: Tensor, head_dim: int, theta: float, scaling: dict | None = None) -> tuple[Tensor, Tensor]:
    """cos and sin, each [.., L, head_dim], for positions [.., L] (rotate-half form)."""
    inverse = theta ** (-torch.arange(0, head_dim, 2, device=positions.device).float() / head_dim)
    if scaling is not None:
        inverse = scaled(inverse, scaling)
    angles = positions[..., None].float() * inverse
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos(), angles.sin()


def scaled(inverse: Tensor, scaling: dict) -> Tensor:
    """Frequencies by `rope_scaling`: linear (Chen et al. 2023), or LLaMA 3.1's, which stretches waves that are long for the original window."""
    slow = inverse / scaling["factor"]
    if scaling.get("rope_type", scaling.get("type")) == "linear":
        return slow
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    turns = scaling["original_max_position_embeddings"] * inverse / (2 * math.pi)
    kept = ((turns - low) / (high - low)).clamp(0, 1)
    return kept * inverse + (1 - kept) * slow


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x [B,H,L,D]; cos and sin [B or 1,L,D]."""
    first, second = x.chunk(2, dim=-1)
    turned = torch.cat([-second, first], dim=-1)
    return x * cos[:, None].to(x.dtype) + turned * sin[:, None].to(x.dtype)


def split_heads(x: Tensor, heads: int) -> Tensor:
    """[B,L,H*D] -> [B,H,L,D]"""
    return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(2)


def causal_bias(length: int, device: torch.device | None = None) -> Tensor:
    return bias_from(torch.ones(length, length, dtype=torch.bool, device=device).tril())


def bias_from(allowed: Tensor) -> Tensor:
    """0 where allowed (bool) is True, a large negative number elsewhere."""
    return torch.zeros(allowed.shape, device=allowed.device).masked_fill(~allowed, -1e4)


def attention_weights(q: Tensor, k: Tensor, bias: Tensor | None) -> Tensor:
    """softmax(q k^T / sqrt(D) + bias) [B,H,L,m] for q [B,H,L,D] and k [B,H,m,D]."""
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
    return torch.softmax(scores if bias is None else scores + bias.to(scores.dtype), dim=-1)


def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, causal: bool = False, watch: Watch | None = None) -> Tensor:
    """The values v [B,G,m,D] under the weights of q [B,H,L,D] and k [B,G,m,D], merged [B,L,H*D]; H/G heads share a key's.

    Weights of short rows are written out on CPUs: PyTorch's fused kernel has a slow backward pass for them there.
    """
    if q.shape[1] > k.shape[1]:
        k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for t in (k, v))
    if watch is None and (q.is_cuda or k.shape[2] >= FUSED):
        bias = None if bias is None else bias.to(q.dtype)
        return merge_heads(F.scaled_dot_product_attention(q, k.to(q.dtype), v.to(q.dtype), attn_mask=bias, is_causal=causal))
    weights = attention_weights(q, k, causal_bias(q.shape[2], q.device) if causal else bias)
    if watch is not None:
        watch(weights)
    return merge_heads(weights.to(v.dtype) @ v)


class SelfAttention(nn.Module):
    def __init__(self, c: LlamaConfig):
        super().__init__()
        self.heads, self.kv_heads = c.num_attention_heads, c.num_key_value_heads
        size, kv_size = self.heads * c.head_dim, self.kv_heads * c.head_dim
        self.q_proj = Projection(c.hidden_size, size, c.biases)
        self.k_proj = Projection(c.hidden_size, kv_size, c.biases)
        self.v_proj = Projection(c.hidden_size, kv_size, c.biases)
        self.o_proj = Projection(size, c.hidden_size)
        self.normed_heads = c.normed_heads
        if c.normed_heads:
            self.q_norm, self.k_norm = RMSNorm(c.head_dim, c.rms_norm_eps), RMSNorm(c.head_dim, c.rms_norm_eps)

    def forward(self, x: Tensor, rope: tuple[Tensor, Tensor], bias: Tensor | None, watch: Watch | None = None) -> Tensor:
        """Causal without a bias."""
        q, k = split_heads(self.q_proj(x), self.heads), split_heads(self.k_proj(x), self.kv_heads)
        if self.normed_heads:
            q, k = self.q_norm(q).to(q.dtype), self.k_norm(k).to(k.dtype)
        q, k, v = rotate(q, *rope), rotate(k, *rope), split_heads(self.v_proj(x), self.kv_heads)
        return self.o_proj(attend(q, k, v, bias, causal=bias is None, watch=watch))


class CrossAttention(nn.Module):
    """No RoPE, scale 1/sqrt(head_dim); the decoder side has its own RMSNorm."""

    def __init__(self, dec: LlamaConfig, encoder_size: int):
        super().__init__()
        self.heads, self.kv_heads = dec.num_attention_heads, dec.num_key_value_heads
        size, kv_size = self.heads * dec.head_dim, self.kv_heads * dec.head_dim
        self.layernorm = RMSNorm(dec.hidden_size, dec.rms_norm_eps)
        self.q_proj = Projection(dec.hidden_size, size)
        self.k_proj = Projection(encoder_size, kv_size)
        self.v_proj = Projection(encoder_size, kv_size)
        self.o_proj = Projection(size, dec.hidden_size)

    def forward(self, x: Tensor, phi: Tensor, bias: Tensor | None, watch: Watch | None = None) -> Tensor:
        """x [B,L,d]; phi [B,m,d_enc]; bias [..,m] that adds to the scores [B,H,L,m]."""
        q = split_heads(self.q_proj(self.layernorm(x)), self.heads)
        k, v = (split_heads(p(phi), self.kv_heads) for p in (self.k_proj, self.v_proj))
        return self.o_proj(attend(q, k, v, bias, watch=watch))


class Reads(Protocol):
    """What a batch reads through cross-attention."""

    def added(self, attention: CrossAttention, x: Tensor) -> Tensor:
        """What it adds to the states x [B,L,d]."""


@dataclass(frozen=True)
class Context:
    """Each row's own phi [B,m,d_enc], and where it may be read: mask [B,m], bool."""

    phi: Tensor
    mask: Tensor

    def added(self, attention: CrossAttention, x: Tensor) -> Tensor:
        return attention(x, self.phi, bias_from(self.mask)[:, None, None])


class Mlp(nn.Module):
    def __init__(self, c: LlamaConfig):
        super().__init__()
        self.gate_proj = Projection(c.hidden_size, c.intermediate_size)
        self.up_proj = Projection(c.hidden_size, c.intermediate_size)
        self.down_proj = Projection(c.intermediate_size, c.hidden_size)
        self.activation = partial(F.gelu, approximate="tanh") if c.gemma else F.silu

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(self.activation(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    """A LLaMA block; with `cross` it is CEPE's decoder block. Gemma's has norms behind attention and MLP."""

    def __init__(self, c: LlamaConfig, cross: CrossAttention | None = None):
        super().__init__()
        self.input_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        self.self_attn = SelfAttention(c)
        if cross is not None:
            self.cross_attn = cross
        self.has_cross = cross is not None
        self.post_attention_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        self.mlp = Mlp(c)
        self.gemma = c.gemma
        if c.gemma:
            self.pre_feedforward_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps)
            self.post_feedforward_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps)

    def forward(
        self,
        x: Tensor,
        rope: tuple[Tensor, Tensor],
        bias: Tensor | None,
        context: Reads | None = None,
        watch: Watch | None = None,
    ) -> Tensor:
        attended = self.self_attn(self.input_layernorm(x), rope, bias, watch)
        x = x + (self.post_attention_layernorm(attended) if self.gemma else attended)
        if self.has_cross and context is not None:
            x = x + context.added(self.cross_attn, x)
        if self.gemma:
            return x + self.post_feedforward_layernorm(self.mlp(self.pre_feedforward_layernorm(x)))
        return x + self.mlp(self.post_attention_layernorm(x))


class Stack(nn.Module):
    """Embeddings, blocks and final norm: the encoder, and the decoder without its output matrix."""

    def __init__(self, c: LlamaConfig, cross: Callable[[int], CrossAttention | None] = lambda layer: None):
        super().__init__()
        self.config = c
        self.embed_tokens = nn.Embedding(c.vocab_size, c.hidden_size, padding_idx=c.padding)
        self.layers = nn.ModuleList(Block(c, cross(layer)) for layer in range(c.num_hidden_layers))
        self.norm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        self.recomputed = False  # layers keep their inputs alone for the backward pass

    def stream(self, ids: Tensor, positions: Tensor, bias: Tensor | None, context: Reads | None = None, watch: Watch | None = None) -> Iterator[Tensor]:
        """The residual stream [B,L,d] before the first layer and behind each, for ids [B,L] at positions [B or 1,L]."""
        c = self.config
        bias = None if bias is None else bias.to(Projection.kind)
        sees = whole = rope_tables(positions, c.head_dim, c.rope_theta, c.rope_scaling), bias
        if any(c.local):
            far = positions[:, None, :, None] - positions[:, None, None] >= c.window
            near = (causal_bias(ids.shape[1], ids.device) if bias is None else bias).masked_fill(far, -1e4)
            sees = rope_tables(positions, c.head_dim, c.local_theta), near
        x = self.embed_tokens(ids).float() * (c.hidden_size**0.5 if c.gemma else 1)
        yield x
        for number, layer in enumerate(self.layers):
            run = partial(checkpoint, layer, use_reentrant=False) if self.recomputed and torch.is_grad_enabled() else layer
            x = run(x, *(sees if number < len(c.local) and c.local[number] else whole), context, watch)
            yield x

    def states(self, ids: Tensor, positions: Tensor, bias: Tensor | None, context: Reads | None = None, watch: Watch | None = None) -> Tensor:
        """Normed final states [B,L,d]."""
        for x in self.stream(ids, positions, bias, context, watch):
            pass
        return self.norm(x)


class Encoder(Stack):
    causal = False  # as an encoder of a decoder's layers stays; padding is behind then

    def forward(self, ids: Tensor, valid: Tensor, watch: Watch | None = None) -> Tensor:
        """ids and valid (bool) [n,L], padded on either side; returns states [n,L,d_enc]."""
        positions = (valid.long().cumsum(1) - 1).clamp(min=0)
        return self.states(ids, positions, None if self.causal else bias_from(valid[:, None, None, :]), watch=watch)


class MaskedLm(nn.Module):
    """The encoder with the head that its pre-training needs; CEPE drops the head. The output matrix is the embedding."""

    def __init__(self, c: LlamaConfig):
        super().__init__()
        self.model = Encoder(c)
        self.lm_dense = Projection(c.hidden_size, c.hidden_size, bias=True)
        self.lm_layer_norm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        self.lm_bias = nn.Parameter(torch.zeros(c.vocab_size))

    def forward(self, ids: Tensor, valid: Tensor) -> Tensor:
        """Logits [B,L,V]."""
        states = self.lm_layer_norm(F.silu(self.lm_dense(self.model(ids, valid))))
        return product(states, self.model.embed_tokens.weight, self.lm_bias)


class Cepe(nn.Module):
    """Without an encoder and cross-attention it is a plain decoder."""

    def __init__(self, config: CepeConfig):
        super().__init__()
        self.config = config
        c, e = config.decoder, config.encoder
        first = c.num_hidden_layers - config.num_cross_attn_layers
        self.model = Stack(c, lambda layer: CrossAttention(c, e.hidden_size) if e and layer >= first else None)
        if e:
            self.encoder = Encoder(e)
        self.lm_head = Projection(c.hidden_size, c.vocab_size)

    def encode(self, chunks: Tensor, mask: Tensor) -> Context:
        """Chunks and mask (bool) [B,n,C], each encoded alone; their states are laid end to end."""
        states = self.encoder(chunks.flatten(0, 1), mask.flatten(0, 1))
        return Context(states.unflatten(0, chunks.shape[:2]).flatten(1, 2), mask.flatten(1))

    def hidden(
        self,
        ids: Tensor,
        positions: Tensor | None = None,
        bias: Tensor | None = None,
        context: Reads | None = None,
        watch: Watch | None = None,
    ) -> Tensor:
        """Final normed decoder states [B,L,d]; attention is causal unless a bias [B,1,L,L] is given."""
        if positions is None:
            positions = torch.arange(ids.shape[1], device=ids.device)[None]
        return self.model.states(ids, positions, bias, context, watch)

    def forward(self, ids: Tensor, context: Reads | None = None) -> Tensor:
        """Logits [B,L,V] of a plain causal pass."""
        return self.lm_head(self.hidden(ids, context=context)).float()


def init_weights(module: nn.Module, seed: int) -> None:
    """N(0, 0.02) for matrices and embeddings, zeros for biases; norms stay at one."""
    generator = torch.Generator("cpu").manual_seed(seed)
    for name, parameter in module.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(parameter)
        elif parameter.dim() > 1:
            with torch.no_grad():
                parameter.copy_(torch.randn(parameter.shape, generator=generator, device="cpu") * 0.02)
