"""Contriever in one screenful: a BERT with mean pooling; parameter names are the checkpoint's own."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model import attend, bias_from, split_heads


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
