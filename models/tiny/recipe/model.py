"""CEPE and Contriever in one screenful each; parameter names are the checkpoints' own.

CEPE (Yen, Gao, Chen 2024, section 2): a decoder-only LLaMA whose layers carry one cross-attention
block between self-attention and MLP. It attends to the concatenated final states of a small
bidirectional encoder that reads every passage alone, with positions from 0.
"""

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class LlamaConfig:
    """One stack of LLaMA blocks; the decoder's and the encoder's configs share this shape."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    max_position_embeddings: int
    rms_norm_eps: float = 1e-5
    rope_theta: float = 10000.0

    @property
    def head_dim(self) -> int:
        return self.hidden_size // self.num_attention_heads


@dataclass(frozen=True)
class CepeConfig:
    decoder: LlamaConfig
    encoder: LlamaConfig
    num_cross_attn_layers: int


@dataclass(frozen=True)
class ContrieverConfig:
    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12


class RMSNorm(nn.Module):
    def __init__(self, size: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x.float(), self.weight.shape, self.weight, self.eps)


def rope_tables(positions: Tensor, head_dim: int, theta: float) -> tuple[Tensor, Tensor]:
    """cos and sin, each [.., L, head_dim], for positions [.., L] (rotate-half form)."""
    inverse = theta ** (-torch.arange(0, head_dim, 2, device=positions.device).float() / head_dim)
    angles = positions[..., None].float() * inverse
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos(), angles.sin()


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


def attention_weights(q: Tensor, k: Tensor, bias: Tensor | None) -> Tensor:
    """softmax(q k^T / sqrt(D) + bias) [B,H,L,m] for q [B,H,L,D] and k [B,H,m,D].

    Written out because PyTorch's fused kernel has a slow backward pass for short rows on CPUs.
    """
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
    if bias is not None:
        scores = scores + bias.to(scores.dtype)
    return torch.softmax(scores, dim=-1)


def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
    """The values v [B,H,m,D] under these weights: [B,L,H*D]."""
    return merge_heads(attention_weights(q, k, bias).to(v.dtype) @ v)


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

    def see(self, weights: Tensor) -> None:
        """`weights` [B,H,L,m]."""
        self.weights.append(weights[self.rows, :, self.places])


def bias_from(allowed: Tensor) -> Tensor:
    """0 where allowed (bool) is True, a large negative number elsewhere."""
    return torch.zeros(allowed.shape, device=allowed.device).masked_fill(~allowed, -1e4)


@dataclass(frozen=True)
class Context:
    """Phi [m, d_enc], shared by a batch. In training, `tokens` (long, [T]) are the places of the batch, counted
    through all rows, that attend to it (the others are padding), `bias` [T,m] hides parts of Phi from them,
    and `watch` takes each layer's weights as if the T were one row."""

    phi: Tensor
    tokens: Tensor | None = None
    bias: Tensor | None = None
    watch: Watch | None = None


class SelfAttention(nn.Module):
    def __init__(self, c: LlamaConfig):
        super().__init__()
        self.heads, self.kv_heads = c.num_attention_heads, c.num_key_value_heads
        kv_size = self.kv_heads * c.head_dim
        self.q_proj = nn.Linear(c.hidden_size, c.hidden_size, bias=False)
        self.k_proj = nn.Linear(c.hidden_size, kv_size, bias=False)
        self.v_proj = nn.Linear(c.hidden_size, kv_size, bias=False)
        self.o_proj = nn.Linear(c.hidden_size, c.hidden_size, bias=False)

    def forward(self, x: Tensor, rope: tuple[Tensor, Tensor], bias: Tensor, watch: Watch | None = None) -> Tensor:
        q = rotate(split_heads(self.q_proj(x), self.heads), *rope)
        k = rotate(split_heads(self.k_proj(x), self.kv_heads), *rope)
        v = split_heads(self.v_proj(x), self.kv_heads)
        repeat = self.heads // self.kv_heads
        if repeat > 1:
            k, v = k.repeat_interleave(repeat, dim=1), v.repeat_interleave(repeat, dim=1)
        weights = attention_weights(q, k, bias)
        if watch is not None:
            watch.see(weights)
        return self.o_proj(merge_heads(weights.to(v.dtype) @ v))


class CrossAttention(nn.Module):
    """No RoPE, no bias, scale 1/sqrt(head_dim); the decoder side has its own RMSNorm."""

    def __init__(self, dec: LlamaConfig, encoder_size: int):
        super().__init__()
        self.heads, self.kv_heads = dec.num_attention_heads, dec.num_key_value_heads
        size, kv_size = dec.hidden_size, self.kv_heads * dec.head_dim
        self.layernorm = RMSNorm(size, dec.rms_norm_eps)
        self.q_proj = nn.Linear(size, size, bias=False)
        self.k_proj = nn.Linear(encoder_size, kv_size, bias=False)
        self.v_proj = nn.Linear(encoder_size, kv_size, bias=False)
        self.o_proj = nn.Linear(size, size, bias=False)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        # the rows of a batch share keys and values, so they are one long row to the matrix products
        rows = x.flatten(0, 1)
        if context.tokens is not None:
            rows = rows[context.tokens]
        q = split_heads(self.q_proj(self.layernorm(rows))[None], self.heads)
        k, v = (split_heads(p(context.phi)[None], self.kv_heads) for p in (self.k_proj, self.v_proj))
        repeat = self.heads // self.kv_heads
        if repeat > 1:
            k, v = k.repeat_interleave(repeat, dim=1), v.repeat_interleave(repeat, dim=1)
        weights = attention_weights(q, k, context.bias).to(v.dtype)
        if context.watch is not None:
            context.watch.see(weights)
        out = self.o_proj(merge_heads(weights @ v))[0]
        if context.tokens is not None:
            out = torch.zeros_like(x, dtype=out.dtype).flatten(0, 1).index_copy(0, context.tokens, out)
        return out.view(x.shape)


class Mlp(nn.Module):
    def __init__(self, c: LlamaConfig):
        super().__init__()
        self.gate_proj = nn.Linear(c.hidden_size, c.intermediate_size, bias=False)
        self.up_proj = nn.Linear(c.hidden_size, c.intermediate_size, bias=False)
        self.down_proj = nn.Linear(c.intermediate_size, c.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    """A LLaMA block; with `cross` it is CEPE's decoder block."""

    def __init__(self, c: LlamaConfig, cross: CrossAttention | None = None):
        super().__init__()
        self.input_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        self.self_attn = SelfAttention(c)
        if cross is not None:
            self.cross_attn = cross
        self.has_cross = cross is not None
        self.post_attention_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        self.mlp = Mlp(c)

    def forward(
        self,
        x: Tensor,
        rope: tuple[Tensor, Tensor],
        bias: Tensor,
        context: Context | None = None,
        watch: Watch | None = None,
    ) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), rope, bias, watch)
        if self.has_cross and context is not None and context.phi.shape[0] > 0:
            x = x + self.cross_attn(x, context)
        return x + self.mlp(self.post_attention_layernorm(x))


class Encoder(nn.Module):
    def __init__(self, c: LlamaConfig):
        super().__init__()
        self.config = c
        self.embed_tokens = nn.Embedding(c.vocab_size, c.hidden_size)
        self.layers = nn.ModuleList(Block(c) for _ in range(c.num_hidden_layers))
        self.norm = RMSNorm(c.hidden_size, c.rms_norm_eps)

    def forward(self, ids: Tensor, valid: Tensor, watch: Watch | None = None) -> Tensor:
        """ids and valid (bool) [n,L], padded on either side; returns states [n,L,d_enc]."""
        positions = (valid.long().cumsum(1) - 1).clamp(min=0)
        rope = rope_tables(positions, self.config.head_dim, self.config.rope_theta)
        x = self.embed_tokens(ids)
        bias = bias_from(valid[:, None, None, :])
        for layer in self.layers:
            x = layer(x, rope, bias, watch=watch)
        return self.norm(x)


class Decoder(nn.Module):
    def __init__(self, config: CepeConfig):
        super().__init__()
        c = config.decoder
        self.config = c
        self.embed_tokens = nn.Embedding(c.vocab_size, c.hidden_size)
        first_cross = c.num_hidden_layers - config.num_cross_attn_layers
        self.layers = nn.ModuleList(
            Block(c, CrossAttention(c, config.encoder.hidden_size) if i >= first_cross else None)
            for i in range(c.num_hidden_layers)
        )
        self.norm = RMSNorm(c.hidden_size, c.rms_norm_eps)


class Cepe(nn.Module):
    def __init__(self, config: CepeConfig):
        super().__init__()
        self.config = config
        self.model = Decoder(config)
        self.encoder = Encoder(config.encoder)
        self.lm_head = nn.Linear(config.decoder.hidden_size, config.decoder.vocab_size, bias=False)

    def encode(self, ids: Tensor, valid: Tensor) -> Tensor:
        """Phi [m, d_enc]: the valid states of all passages [n,L], in passage order."""
        return self.encoder(ids, valid)[valid]

    def hidden(
        self,
        ids: Tensor,
        positions: Tensor | None = None,
        bias: Tensor | None = None,
        context: Context | None = None,
        watch: Watch | None = None,
    ) -> Tensor:
        """Final normed decoder states [B,L,d]; attention is causal unless a bias [B,1,L,L] is given."""
        length = ids.shape[1]
        if positions is None:
            positions = torch.arange(length, device=ids.device)[None]
        if bias is None:
            bias = bias_from(torch.ones(length, length, dtype=torch.bool, device=ids.device).tril())
        rope = rope_tables(positions, self.model.config.head_dim, self.model.config.rope_theta)
        x = self.model.embed_tokens(ids)
        for layer in self.model.layers:
            x = layer(x, rope, bias, context, watch)
        return self.model.norm(x)

    def forward(self, ids: Tensor, phi: Tensor | None = None) -> Tensor:
        """Logits [B,L,V] of a plain causal pass, cross-attending to phi [m,d_enc] if given."""
        return self.lm_head(self.hidden(ids, context=None if phi is None else Context(phi)))


def init_weights(module: nn.Module, seed: int) -> None:
    """N(0, 0.02) for matrices and embeddings, zeros for biases; norms stay at one."""
    generator = torch.Generator("cpu").manual_seed(seed)
    for name, parameter in module.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(parameter)
        elif parameter.dim() > 1:
            with torch.no_grad():
                parameter.copy_(torch.randn(parameter.shape, generator=generator, device="cpu") * 0.02)


class BertSelfAttention(nn.Module):
    def __init__(self, size: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(size, size) for _ in range(3))

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        q, k, v = (split_heads(p(x), self.heads) for p in (self.query, self.key, self.value))
        return attend(q, k, v, bias)


class DenseNorm(nn.Module):
    """dense, then residual and LayerNorm (post-norm, as BERT)."""

    def __init__(self, inner: int, size: int, eps: float):
        super().__init__()
        self.dense = nn.Linear(inner, size)
        self.LayerNorm = nn.LayerNorm(size, eps=eps)

    def forward(self, x: Tensor, residual: Tensor) -> Tensor:
        return self.LayerNorm(self.dense(x) + residual)


class BertLayer(nn.Module):
    def __init__(self, c: ContrieverConfig):
        super().__init__()
        size, eps = c.hidden_size, c.layer_norm_eps
        self.attention = nn.ModuleDict(
            {"self": BertSelfAttention(size, c.num_attention_heads), "output": DenseNorm(size, size, eps)}
        )
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(size, c.intermediate_size)})
        self.output = DenseNorm(c.intermediate_size, size, eps)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        x = self.attention["output"](self.attention["self"](x, bias), x)
        return self.output(F.gelu(self.intermediate["dense"](x)), x)


class BertEmbeddings(nn.Module):
    def __init__(self, c: ContrieverConfig):
        super().__init__()
        self.word_embeddings = nn.Embedding(c.vocab_size, c.hidden_size)
        self.position_embeddings = nn.Embedding(c.max_position_embeddings, c.hidden_size)
        self.token_type_embeddings = nn.Embedding(c.type_vocab_size, c.hidden_size)
        self.LayerNorm = nn.LayerNorm(c.hidden_size, eps=c.layer_norm_eps)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.word_embeddings(ids) + self.position_embeddings.weight[: ids.shape[1]]
        return self.LayerNorm(x + self.token_type_embeddings.weight[0])


class Contriever(nn.Module):
    """BERT with mean pooling over unmasked tokens; relevance is the dot product."""

    def __init__(self, config: ContrieverConfig):
        super().__init__()
        self.config = config
        self.embeddings = BertEmbeddings(config)
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(BertLayer(config) for _ in range(config.num_hidden_layers))})

    def forward(self, ids: Tensor, valid: Tensor) -> Tensor:
        """ids and valid (bool) [B,L] -> embedding [B,d]."""
        x = self.embeddings(ids)
        bias = bias_from(valid[:, None, None, :])
        for layer in self.encoder["layer"]:
            x = layer(x, bias)
        weights = valid[..., None].to(x.dtype)
        return (x * weights).sum(1) / weights.sum(1)
