"""A published decoder (LLaMA, Qwen, Gemma 3) with LoRA adapters over its frozen matrices (Hu et al. 2021, arXiv 2106.09685)."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

from base_files import Base, Shape

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
torch.set_default_device(DEVICE)

MATRICES = (
    *("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"),
    *("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
)


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


# Norms and biases of a block; what a base lacks is None
VECTORS = {
    "norm_attn": "input_layernorm.weight",
    "norm_mlp": "post_attention_layernorm.weight",
    **{f"bias_{part}": f"self_attn.{part}_proj.bias" for part in "qkv"},
    **{f"norm_{part}": f"self_attn.{part}_norm.weight" for part in "qk"},
    "after_attn": None,
    "after_mlp": None,
}
GEMMA = VECTORS | {
    "norm_mlp": "pre_feedforward_layernorm.weight",
    "after_attn": "post_attention_layernorm.weight",
    "after_mlp": "post_feedforward_layernorm.weight",
}


class Block(nn.Module):
    def __init__(self, base: Base, layer: int, rank: int, alpha: float):
        super().__init__()
        self.shape, named = base.shape, f"model.layers.{layer}."
        for name, stored in (GEMMA if base.shape.gemma else VECTORS).items():
            found = stored and base.tensor(named + stored)
            self.register_buffer(name, None if found is None else found.to(DEVICE), persistent=False)
        for name in MATRICES:
            self.add_module(name.replace(".", "__"), LoraLinear(base.tensor(f"{named}{name}.weight").to(DEVICE), rank, alpha))

    def linear(self, name: str, x: Tensor) -> Tensor:
        return self.get_submodule(name)(x)

    def normed(self, x: Tensor, weight: Tensor | None) -> Tensor:
        return x if weight is None else F.rms_norm(x.float(), weight.shape, weight, self.shape.eps).to(x.dtype)

    def queries_keys_values(self, h: Tensor, rope: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """[B,heads,L,D] each of normed states [B,L,d]; heads that share keys and values have copies of them."""
        s = self.shape

        def heads_of(part: str, count: int) -> Tensor:
            t, bias = self.linear(f"self_attn__{part}_proj", h), getattr(self, f"bias_{part}")
            return (t if bias is None else t + bias.to(t.dtype)).view(*h.shape[:2], count, s.head_dim).transpose(1, 2)

        q = rotate(self.normed(heads_of("q", s.heads), self.norm_q), rope)
        k = rotate(self.normed(heads_of("k", s.kv_heads), self.norm_k), rope)
        k, v = (t.repeat_interleave(s.heads // s.kv_heads, 1) for t in (k, heads_of("v", s.kv_heads)))
        return q, k, v

    def forward(self, x: Tensor, rope: tuple[Tensor, Tensor], bias: Tensor, cross: Callable[[Tensor], Tensor] | None = None) -> Tensor:
        """x [B,L,d] f32; rope cos and sin [B,1,L,D]; bias [1,1,L,L], [B,1,1,L] or [B,1,L,L]; `cross` stands between attention and MLP."""
        q, k, v = self.queries_keys_values(self.normed(x, self.norm_attn), rope)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = x + self.normed(self.linear("self_attn__o_proj", out.transpose(1, 2).flatten(2)).float(), self.after_attn)
        x = x if cross is None else cross(x)
        h = self.normed(x, self.norm_mlp).to(COMPUTED_IN)
        gate = self.linear("mlp__gate_proj", h)
        gated = (F.gelu(gate, approximate="tanh") if self.shape.gemma else F.silu(gate)) * self.linear("mlp__up_proj", h)
        return x + self.normed(self.linear("mlp__down_proj", gated).float(), self.after_mlp)


def rotate(x: Tensor, rope: tuple[Tensor, Tensor]) -> Tensor:
    cos, sin = rope
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-second, first], -1) * sin


def rope_of(shape: Shape, positions: Tensor, theta: float | None = None) -> tuple[Tensor, Tensor]:
    """cos and sin [B,1,L,D] of positions [B,L]; `theta` in place of the shape's."""
    powers = -torch.arange(0, shape.head_dim, 2).float() / shape.head_dim
    angles = positions[:, None, :, None].float() * (theta or shape.rope_theta) ** powers
    angles = torch.cat([angles, angles], -1)
    return angles.cos().to(COMPUTED_IN), angles.sin().to(COMPUTED_IN)


class Decoder(nn.Module):
    def __init__(self, base: Base, rank: int, alpha: float):
        super().__init__()
        self.shape, output = base.shape, base.tensor("lm_head.weight")
        self.register_buffer("embedding", base.tensor("model.embed_tokens.weight").to(DEVICE, COMPUTED_IN), persistent=False)
        self.register_buffer("output", self.embedding if output is None else output.to(DEVICE, COMPUTED_IN), persistent=False)
        self.register_buffer("norm", base.tensor("model.norm.weight").to(DEVICE), persistent=False)
        self.layers = nn.ModuleList(Block(base, layer, rank, alpha) for layer in range(base.shape.layers))

    def hidden(self, ids: Tensor, positions: Tensor, bias: Tensor) -> Tensor:
        """Final normed states [B,L,d] for ids [B,L], positions [B,L] and an additive bias."""
        s, x = self.shape, self.embedding[ids].float()
        x = x * s.width**0.5 if s.gemma else x
        sees = whole = rope_of(s, positions), bias
        if any(s.local):
            far = positions[:, None, :, None] - positions[:, None, None] >= s.window
            sees = rope_of(s, positions, s.local_theta), bias.masked_fill(far, -1e4)
        for number, layer in enumerate(self.layers):
            x = layer(x, *(sees if number < len(s.local) and s.local[number] else whole))
        return F.rms_norm(x, (s.width,), self.norm, s.eps)

    def logits(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden.to(COMPUTED_IN), self.output).float()


def load_adapter(model: Decoder, folder: Path) -> None:
    """Adapters as `export.py` writes them. The optimizer begins anew."""
    state = {}
    for name, value in load_file(folder / "adapter_model.safetensors").items():
        layers, layer, module, part = re.fullmatch(r"base_model\.model\.model\.(\w+)\.(\d+)\.(.+)\.(lora_[AB])\.weight", name).groups()
        state[f"{layers}.{layer}.{module.replace('.', '__')}.{part}"] = value.float()
    model.load_state_dict(state)
