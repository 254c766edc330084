"""Published decoders as files: a Hugging Face folder, or GGUF. Tensors have Hugging Face's names; a decoder's are f32 when asked for.

GGUF format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from pathlib import Path

import torch
from safetensors import safe_open
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from torch import Tensor

from cepe import Cepe, LlamaConfig
from checkpoint import FAMILIES, family_of, llama_from, read_json, refuse

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
EMBEDDING, OUTPUT = "model.embed_tokens.weight", "lm_head.weight"
WHOLE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
CONTROL = 3  # GGUF's type of special tokens

# llama.cpp's pre-tokenizers
QWEN2 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
BYTES, BYTES_OF_WORDS = (pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=words) for words in (False, True))
PRE_TOKENIZERS = {
    "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), BYTES_OF_WORDS]),
    "qwen2": pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN2), "isolated"), BYTES]),
}


class Folder:
    """config.json, *.safetensors and tokenizer.json."""

    def __init__(self, path: Path):
        self.path, self.config = path, llama_from(read_json(path / "config.json"), path / "config.json")
        self.names = {name: file for file in sorted(path.glob("*.safetensors")) for name in safe_open(file, "pt").keys()}
        self.unread = {name for name in self.names if not name.endswith("inv_freq")}
        if not self.names:
            raise refuse(path, "no *.safetensors: save the model with save_pretrained(..., safe_serialization=True)")

    def tensor(self, name: str) -> Tensor | None:
        """None if the folder has no such tensor. Gemma's folders store norms less 1."""
        if name not in self.names:
            return None
        self.unread.discard(name)
        weight = safe_open(self.names[name], "pt").get_tensor(name)
        return weight.float() + 1 if self.config.gemma and "norm" in name else weight

    def tokenizer(self) -> Tokenizer:
        return Tokenizer.from_file(str(self.path / "tokenizer.json"))


class Gguf:
    def __init__(self, path: Path):
        from gguf import GGUFReader, dequantize  # needed for GGUF alone

        self.path, self.reader, self.dequantize = path, GGUFReader(path), dequantize
        self.tensors = {tensor.name: tensor for tensor in self.reader.tensors}
        self.unread = set(self.tensors)
        self.family = self.value("general.architecture")
        if self.family not in FAMILIES:
            raise refuse(path, f"the architecture is {self.family}; trained are {', '.join(FAMILIES)}")
        if self.of("rope.scaling.type") not in (None, "none") or "rope_freqs.weight" in self.tensors:
            raise refuse(path, "its rotary positions are scaled, which is not read of GGUF; give the model as a Hugging Face folder")
        heads, width, layers, gemma = self.of("attention.head_count"), self.of("embedding_length"), self.of("block_count"), self.family == "gemma3"
        self.config = LlamaConfig(
            vocab_size=int(self.tensors["token_embd.weight"].shape[1]),
            hidden_size=width,
            intermediate_size=int(self.tensors["blk.0.ffn_gate.weight"].shape[1]),
            num_hidden_layers=layers,
            num_attention_heads=heads,
            num_key_value_heads=self.of("attention.head_count_kv"),
            max_position_embeddings=self.of("context_length") or 2048,
            rms_norm_eps=self.of("attention.layer_norm_rms_epsilon"),
            rope_theta=self.of("rope.freq_base") or (1e6 if gemma else 10_000.0),
            head_dim=self.of("attention.key_length") or width // heads,
            **{f"{name}_token_id": self.value(f"tokenizer.ggml.{full}_token_id") for name, full in (("bos", "bos"), ("eos", "eos"), ("pad", "padding"))},
            **family_of(self.family, layers, self.of("attention.sliding_window"), self.of("attention.sliding_window_pattern")),
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
            names = IN_BLOCK | GEMMA if self.config.gemma else IN_BLOCK
            found = self.tensors.get(f"blk.{layer}.{names[part]}.{kind}")
        else:
            part, found = module, self.tensors.get(f"{WHOLE[module]}.{kind}")
        if found is None:
            return None
        self.unread.discard(found.name)
        weight = torch.from_numpy(self.dequantize(found.data, found.tensor_type).copy()).float()
        if self.family == "llama" and part in ("self_attn.q_proj", "self_attn.k_proj"):
            weight = weight.unflatten(0, (-1, self.config.head_dim // 2, 2)).transpose(1, 2).reshape(weight.shape)
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


Base = Gguf | Folder


def open_base(path: Path) -> Base:
    return Folder(path) if path.is_dir() else Gguf(path)


def load_decoder(model: Cepe, base: Base, kind: torch.dtype, device: torch.device | str = "cpu") -> None:
    """The decoder becomes the base, frozen: matrices in `kind`, norms and biases in f32."""
    weights: dict[str, Tensor] = {}
    for name in model.state_dict():
        if "cross_attn" in name or name.startswith("encoder."):
            continue
        found = base.tensor(name)
        if found is not None:
            weights[name] = found.to(device, kind if found.dim() > 1 else torch.float32)
        elif name == OUTPUT:
            weights[name] = weights[EMBEDDING]
        else:
            raise refuse(base.path, f"no tensor {name}")
    if base.unread:
        raise refuse(base.path, f"tensors that this model does not read: {', '.join(sorted(base.unread)[:3])}")
    model.load_state_dict(weights, strict=False, assign=True)
    model.requires_grad_(False)
