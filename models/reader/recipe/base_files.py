"""Published decoders as files: GGUF, or a Hugging Face folder. Tensors have Hugging Face's names and are f32 when asked for.

GGUF format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from gguf import GGUFReader, dequantize
from safetensors import safe_open
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from torch import Tensor

# Names of GGUF's tensors; Gemma's four norms are named otherwise
IN_BLOCK = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
GEMMA = {"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm"}
WHOLE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
FAMILIES = ("llama", "qwen2", "qwen3", "gemma3")
GEMMA_GLOBAL = 6  # every sixth layer, where the file does not say
CONTROL = 3  # GGUF's type of special tokens

# llama.cpp's pre-tokenizers
QWEN2 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
BYTES, BYTES_OF_WORDS = (pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=words) for words in (False, True))
PRE_TOKENIZERS = {
    "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), BYTES_OF_WORDS]),
    "qwen2": pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN2), "isolated"), BYTES]),
}


@dataclass(frozen=True)
class Shape:
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    rope_theta: float
    eps: float
    gemma: bool = False  # scaled embeddings, norms behind attention and MLP, tanh-approximated GELU
    window: int = 0  # tokens that a local layer sees
    local: tuple[bool, ...] = ()  # for each layer, whether it is local
    local_theta: float = 10_000.0


def refuse(path: Path, problem: str) -> SystemExit:
    return SystemExit(f"{path}: {problem}")


def local_layers(layers: int, kinds: list | int | None) -> tuple[bool, ...]:
    if isinstance(kinds, list):
        return tuple(kind in (True, "sliding_attention") for kind in kinds)
    return tuple((layer + 1) % (kinds or GEMMA_GLOBAL) != 0 for layer in range(layers))


class Gguf:
    def __init__(self, path: Path):
        self.path, self.reader = path, GGUFReader(path)
        self.tensors = {tensor.name: tensor for tensor in self.reader.tensors}
        self.family = self.value("general.architecture")
        if self.family not in FAMILIES:
            raise refuse(path, f"the architecture is {self.family}; trained are {', '.join(FAMILIES)}")
        heads, width, layers = self.of("attention.head_count"), self.of("embedding_length"), self.of("block_count")
        gemma = self.family == "gemma3"
        local = (self.of("attention.sliding_window"), local_layers(layers, self.of("attention.sliding_window_pattern"))) if gemma else (0, ())
        self.shape = Shape(
            layers=layers,
            width=width,
            heads=heads,
            kv_heads=self.of("attention.head_count_kv"),
            head_dim=self.of("attention.key_length") or width // heads,
            rope_theta=self.of("rope.freq_base") or (1e6 if gemma else 10_000.0),
            eps=self.of("attention.layer_norm_rms_epsilon"),
            gemma=gemma,
            window=local[0],
            local=local[1],
        )

    def value(self, key: str):
        field = self.reader.fields.get(key)
        return field and field.contents()

    def of(self, key: str):
        return self.value(f"{self.family}.{key}")

    def tensor(self, name: str) -> Tensor | None:
        """None if the file has no such tensor. LLaMA's files interleave the rows of a query's or key's head; here each half stands
        together, as rotate-half wants."""
        module, kind = name.rsplit(".", 1)
        if module.startswith("model.layers."):
            _, _, layer, part = module.split(".", 3)
            names = IN_BLOCK | GEMMA if self.shape.gemma else IN_BLOCK
            found = self.tensors.get(f"blk.{layer}.{names[part]}.{kind}")
        else:
            part, found = module, self.tensors.get(f"{WHOLE[module]}.{kind}")
        if found is None:
            return None
        weight = torch.from_numpy(dequantize(found.data, found.tensor_type).copy()).float()
        if self.family == "llama" and part in ("self_attn.q_proj", "self_attn.k_proj"):
            half = self.shape.head_dim // 2
            weight = weight.unflatten(0, (-1, half, 2)).transpose(1, 2).reshape(weight.shape)
        return weight

    def tokenizer(self) -> Tokenizer:
        """Byte-level BPE of the metadata; else tokenizer.json in the same folder."""
        beside, named = self.path.with_name("tokenizer.json"), self.value("tokenizer.ggml.pre")
        if beside.exists():
            return Tokenizer.from_file(str(beside))
        if self.value("tokenizer.ggml.model") != "gpt2" or named not in PRE_TOKENIZERS:
            raise refuse(self.path, "its tokenizer is not read of GGUF; put tokenizer.json of the model, or of its built folder, in the same folder")
        tokens, types = self.value("tokenizer.ggml.tokens"), self.value("tokenizer.ggml.token_type")
        merges = [tuple(merge.split(" ")) for merge in self.value("tokenizer.ggml.merges")]
        tokenizer = Tokenizer(models.BPE({token: number for number, token in enumerate(tokens)}, merges))
        tokenizer.pre_tokenizer, tokenizer.decoder = PRE_TOKENIZERS[named], decoders.ByteLevel()
        if named == "qwen2":
            tokenizer.normalizer = normalizers.NFC()
        tokenizer.add_special_tokens([AddedToken(token, special=True) for token, kind in zip(tokens, types, strict=True) if kind == CONTROL])
        return tokenizer


class Folder:
    """config.json, *.safetensors and tokenizer.json."""

    def __init__(self, path: Path):
        self.path = path
        self.files = {name: file for file in sorted(path.glob("*.safetensors")) for name in safe_open(file, "pt").keys()}
        config = json.loads((path / "config.json").read_text("utf-8"))
        family = config["model_type"].removesuffix("_text")
        if family not in FAMILIES:
            raise refuse(path, f"the model_type is {family}; trained are {', '.join(FAMILIES)}")
        rope = config.get("rope_parameters") or {}
        full, sliding = rope.get("full_attention", rope), rope.get("sliding_attention", {})
        scaling = config.get("rope_scaling") or full
        if scaling.get("rope_type", scaling.get("type", "default")) != "default":
            raise refuse(path, "rope_scaling is not trained; give a base without")
        self.gemma, layers = family == "gemma3", config["num_hidden_layers"]
        kinds = config.get("layer_types") or config.get("sliding_window_pattern")
        head_dim = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
        if self.gemma and config.get("query_pre_attn_scalar", head_dim) != head_dim:
            raise refuse(path, "query_pre_attn_scalar is not head_dim, which is not trained; give a smaller model of the family")
        self.shape = Shape(
            layers=layers,
            width=config["hidden_size"],
            heads=config["num_attention_heads"],
            kv_heads=config["num_key_value_heads"],
            head_dim=head_dim,
            rope_theta=config.get("rope_theta") or full["rope_theta"],
            eps=config["rms_norm_eps"],
            gemma=self.gemma,
            window=config["sliding_window"] if self.gemma else 0,
            local=local_layers(layers, kinds) if self.gemma else (),
            local_theta=config.get("rope_local_base_freq") or sliding.get("rope_theta", 10_000.0),
        )

    def tensor(self, name: str) -> Tensor | None:
        """None if the folder has no such tensor. Gemma's folders store norms less 1."""
        if name not in self.files:
            return None
        weight = safe_open(self.files[name], "pt").get_tensor(name).float()
        return weight + 1 if self.gemma and "norm" in name else weight

    def tokenizer(self) -> Tokenizer:
        return Tokenizer.from_file(str(self.path / "tokenizer.json"))


Base = Gguf | Folder


def open_base(path: Path) -> Base:
    return Folder(path) if path.is_dir() else Gguf(path)
