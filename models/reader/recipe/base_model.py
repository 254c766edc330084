"""A LLaMA-family decoder read from a GGUF file, with LoRA adapters over its frozen matrices.

GGUF format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. LoRA: Hu et al. 2021, arXiv 2106.09685.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from gguf import GGUFReader, dequantize
from safetensors.torch import load_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor, nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
torch.set_default_device(DEVICE)

# GGUF's name of each matrix of a block, and the checkpoint's
MATRICES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def faster_kind() -> torch.dtype:
    """bf16 where the GPU or the processor multiplies it: elsewhere it is converted for each product, many times slower than f32."""
    if DEVICE == "cuda":
        return torch.bfloat16

    def seconds(kind: torch.dtype) -> float:
        a, b = torch.ones(512, 576, dtype=kind), torch.ones(1536, 576, dtype=kind)
        runs = []
        for _ in range(5):
            began = time.perf_counter()
            F.linear(a, b)
            runs.append(time.perf_counter() - began)
        return min(runs)

    return min((torch.bfloat16, torch.float32), key=seconds)


COMPUTED_IN = faster_kind()


@dataclass(frozen=True)
class Shape:
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    rope_theta: float
    eps: float


class Gguf:
    """Tensors and metadata of one file; tensors are dequantised to f32 when asked for."""

    def __init__(self, path: Path):
        self.reader = GGUFReader(path)
        self.tensors = {tensor.name: tensor for tensor in self.reader.tensors}
        if self.value("general.architecture") != "llama":
            raise SystemExit(f"{path}: the architecture is {self.value('general.architecture')}; only llama can be trained here")
        heads, width = int(self.value("llama.attention.head_count")), int(self.value("llama.embedding_length"))
        self.shape = Shape(
            layers=int(self.value("llama.block_count")),
            width=width,
            heads=heads,
            kv_heads=int(self.value("llama.attention.head_count_kv")),
            head_dim=width // heads,
            rope_theta=float(self.value("llama.rope.freq_base")),
            eps=float(self.value("llama.attention.layer_norm_rms_epsilon")),
        )

    def value(self, key: str):
        return self.reader.fields[key].contents()

    def tensor(self, name: str) -> Tensor:
        found = self.tensors[name]
        return torch.from_numpy(dequantize(found.data, found.tensor_type).copy()).float().to(DEVICE)

    def matrix(self, layer: int, name: str) -> Tensor:
        """[out,in]. GGUF interleaves the rows of query and key heads; here each half of a head stands together, as rotate-half wants."""
        weight = self.tensor(f"blk.{layer}.{MATRICES[name]}.weight")
        if name in ("self_attn.q_proj", "self_attn.k_proj"):
            rows, columns = weight.shape
            weight = weight.view(rows // self.shape.head_dim, self.shape.head_dim // 2, 2, columns).transpose(1, 2).reshape(rows, columns)
        return weight

    def tokenizer(self) -> Tokenizer:
        """The byte-level BPE of the metadata with SmolLM's pre-tokeniser: single digits, then GPT-2's expression."""
        tokens = self.value("tokenizer.ggml.tokens")
        merges = [tuple(merge.split(" ")) for merge in self.value("tokenizer.ggml.merges")]
        tokenizer = Tokenizer(models.BPE({token: number for number, token in enumerate(tokens)}, merges))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]
        )
        tokenizer.decoder = decoders.ByteLevel()
        return tokenizer


class LoraLinear(nn.Module):
    """x W^T + (alpha / rank) x A^T B^T with W frozen in COMPUTED_IN; B begins at zero."""

    def __init__(self, weight: Tensor, rank: int, alpha: float):
        super().__init__()
        self.register_buffer("weight", weight.to(COMPUTED_IN), persistent=False)
        self.lora_A = nn.Parameter(torch.randn(rank, weight.shape[1]) * weight.shape[1] ** -0.5)
        self.lora_B = nn.Parameter(torch.zeros(weight.shape[0], rank))
        self.scale = alpha / rank

    def forward(self, x: Tensor) -> Tensor:
        x = x.to(COMPUTED_IN)
        return F.linear(x, self.weight) + F.linear(F.linear(x, self.lora_A.to(x.dtype)), self.lora_B.to(x.dtype)) * self.scale

    def merged(self) -> Tensor:
        """The matrix [out,in] with the adapter's product added, f32."""
        return self.weight.float() + self.scale * self.lora_B.detach() @ self.lora_A.detach()


class FrozenLinear(nn.Module):
    def __init__(self, weight: Tensor):
        super().__init__()
        self.register_buffer("weight", weight.to(COMPUTED_IN), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x.to(COMPUTED_IN), self.weight)


class Block(nn.Module):
    def __init__(self, gguf: Gguf, layer: int, rank: int, alpha: float):
        super().__init__()
        self.shape = gguf.shape
        self.register_buffer("norm_attn", gguf.tensor(f"blk.{layer}.attn_norm.weight"), persistent=False)
        self.register_buffer("norm_mlp", gguf.tensor(f"blk.{layer}.ffn_norm.weight"), persistent=False)
        for name in MATRICES:
            self.add_module(name.replace(".", "__"), LoraLinear(gguf.matrix(layer, name), rank, alpha))

    def linear(self, name: str, x: Tensor) -> Tensor:
        return self.get_submodule(name)(x)

    def forward(self, x: Tensor, rope: tuple[Tensor, Tensor], bias: Tensor, cross: Callable[[Tensor], Tensor] | None = None) -> Tensor:
        """x [B,L,d] f32; rope cos and sin [B,1,L,D]; bias [1,1,L,L], [B,1,1,L] or [B,1,L,L]; `cross` stands between attention and MLP."""
        s = self.shape
        h = F.rms_norm(x, (s.width,), self.norm_attn, s.eps)
        split = lambda t, heads: t.view(*t.shape[:2], heads, s.head_dim).transpose(1, 2)
        q = rotate(split(self.linear("self_attn__q_proj", h), s.heads), rope)
        k = rotate(split(self.linear("self_attn__k_proj", h), s.kv_heads), rope)
        v = split(self.linear("self_attn__v_proj", h), s.kv_heads)
        k, v = (t.repeat_interleave(s.heads // s.kv_heads, 1) for t in (k, v))
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = x + self.linear("self_attn__o_proj", out.transpose(1, 2).flatten(2))
        x = x if cross is None else cross(x)
        h = F.rms_norm(x, (s.width,), self.norm_mlp, s.eps)
        gated = F.silu(self.linear("mlp__gate_proj", h)) * self.linear("mlp__up_proj", h)
        return x + self.linear("mlp__down_proj", gated)


def rotate(x: Tensor, rope: tuple[Tensor, Tensor]) -> Tensor:
    cos, sin = rope
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-second, first], -1) * sin


def rope_of(shape: Shape, positions: Tensor) -> tuple[Tensor, Tensor]:
    """cos and sin [B,1,L,D] of positions [B,L]."""
    angles = positions[:, None, :, None].float() * shape.rope_theta ** (-torch.arange(0, shape.head_dim, 2).float() / shape.head_dim)
    angles = torch.cat([angles, angles], -1)
    return angles.cos().to(COMPUTED_IN), angles.sin().to(COMPUTED_IN)


class Decoder(nn.Module):
    def __init__(self, gguf: Gguf, rank: int, alpha: float):
        super().__init__()
        self.shape = gguf.shape
        self.register_buffer("embedding", gguf.tensor("token_embd.weight").to(COMPUTED_IN), persistent=False)
        output = "output.weight"
        self.register_buffer(
            "output", gguf.tensor(output).to(COMPUTED_IN) if output in gguf.tensors else self.embedding, persistent=False
        )
        self.register_buffer("norm", gguf.tensor("output_norm.weight"), persistent=False)
        self.layers = nn.ModuleList(Block(gguf, layer, rank, alpha) for layer in range(gguf.shape.layers))

    def hidden(self, ids: Tensor, positions: Tensor, bias: Tensor) -> Tensor:
        """Final normed states [B,L,d] for ids [B,L], positions [B,L] and an additive bias."""
        x, rope = self.embedding[ids].float(), rope_of(self.shape, positions)
        for layer in self.layers:
            x = layer(x, rope, bias)
        return F.rms_norm(x, (self.shape.width,), self.norm, self.shape.eps)

    def logits(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden.to(COMPUTED_IN), self.output).float()


def load_adapter(model: Decoder, folder: Path) -> None:
    """Adapters as `export.py` writes them. The optimizer begins anew."""
    state = {}
    for name, value in load_file(folder / "adapter_model.safetensors").items():
        layers, layer, module, part = re.fullmatch(r"base_model\.model\.model\.(\w+)\.(\d+)\.(.+)\.(lora_[AB])\.weight", name).groups()
        state[f"{layers}.{layer}.{module.replace('.', '__')}.{part}"] = value.float()
    model.load_state_dict(state)
