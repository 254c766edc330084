"""What training begins with: the base, cross-attention made of its self-attention, and an encoder."""

from pathlib import Path

import torch
from torch import Tensor, nn

from cepe import Cepe, CepeConfig, LlamaConfig, MaskedLm, init_weights
from checkpoint import llama_from, read_json, weights_of

OUTPUT, EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"


def initial_cross_attention(model: Cepe, output: str = "zero") -> None:
    """Cross-attention (section 2): queries are copied from self-attention; of keys and values the first d_enc inputs are, as the encoder's
    states are narrower. The output matrix is zero, so that the model begins as its base; `copy` is the published configurations' choice.
    The norm is a copy of the one before the MLP."""
    width = model.config.encoder.hidden_size
    if width > model.config.decoder.hidden_size:
        raise SystemExit(f"the encoder's hidden_size {width} exceeds the base's {model.config.decoder.hidden_size}: keys begin as parts of the base's")
    for layer in model.model.layers:
        if layer.has_cross:
            own, cross = layer.self_attn, layer.cross_attn
            assign(cross.layernorm, layer.post_attention_layernorm.weight)
            assign(cross.q_proj, own.q_proj.weight)
            assign(cross.k_proj, own.k_proj.weight[:, :width])
            assign(cross.v_proj, own.v_proj.weight[:, :width])
            assign(cross.o_proj, own.o_proj.weight if output == "copy" else torch.zeros_like(own.o_proj.weight))


def assign(module: nn.Module, weight: Tensor) -> None:
    module.weight = nn.Parameter(weight.detach().to(torch.float32, copy=True).contiguous())


def new_encoder(config: LlamaConfig, seed: int) -> MaskedLm:
    """Random, with its head for pre-training."""
    encoder = MaskedLm(config)
    init_weights(encoder, seed)
    if config.padding is not None:
        with torch.no_grad():
            encoder.model.embed_tokens.weight[config.padding] = 0
    return encoder


def encoder_config(base: LlamaConfig, shape: LlamaConfig) -> LlamaConfig:
    """`shape` with the base's tokens and one more, the mask."""
    tokens = {name: getattr(base, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    return LlamaConfig(**(vars(shape) | tokens | {"vocab_size": base.vocab_size + 1}))


def load_base(folder: Path, shape: LlamaConfig, cross_layers: int | None = None, kind: torch.dtype = torch.float32, seed: int = 0) -> Cepe:
    """The base of a Hugging Face folder, in `kind` and frozen, with initial cross-attention in its last layers (in all without
    `cross_layers`), and a random encoder."""
    base = llama_from(read_json(folder / "config.json"))
    config = CepeConfig(base, encoder_config(base, shape), base.num_hidden_layers if cross_layers is None else cross_layers)
    with torch.device("meta"):
        model = Cepe(config)
    weights = {name: weight.to(kind) for name, weight in weights_of(folder) if not name.endswith("inv_freq")}
    weights.setdefault(OUTPUT, weights[EMBEDDING])
    missing, unexpected = model.load_state_dict(weights, strict=False, assign=True)
    lacking = [name for name in missing if "cross_attn" not in name and not name.startswith("encoder.")]
    if lacking or unexpected:
        raise SystemExit(f"{folder}: the base lacks {lacking[:3]} or has unknown tensors {unexpected[:3]}")
    model.encoder = new_encoder(config.encoder, seed).model
    initial_cross_attention(model)
    return model


def trained(model: nn.Module, frozen_encoder: bool = False) -> list[tuple[str, nn.Parameter]]:
    """Cross-attention and encoder; the base is frozen. Of the encoder's pre-training, everything."""
    chosen = []
    for name, parameter in model.named_parameters():
        learns = not isinstance(model, Cepe) or "cross_attn" in name or (name.startswith("encoder.") and not frozen_encoder)
        parameter.requires_grad_(learns)
        if learns:
            chosen.append((name, parameter))
    return chosen
