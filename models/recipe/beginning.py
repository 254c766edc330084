"""What training begins with: the base, cross-attention made of its self-attention, and an encoder."""

from pathlib import Path

import torch
from torch import Tensor, nn

from bases import Folder, load_decoder
from cepe import Cepe, CepeConfig, LlamaConfig, MaskedLm, init_weights
from checkpoint import refuse


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
    return LlamaConfig(**(shape.stored() | tokens | {"vocab_size": base.vocab_size + 1}))


def open_llama(folder: Path) -> Folder:
    """@raise SystemExit for other families: the published model has no counterpart to what they do"""
    base = Folder(folder)
    if base.config.biases or base.config.normed_heads:
        raise refuse(folder, "the base must be a LLaMA or a Mistral, without biases and norms of heads")
    return base


def load_base(folder: Path, shape: LlamaConfig, cross_layers: int | None = None, kind: torch.dtype = torch.float32, seed: int = 0) -> Cepe:
    """The base of a Hugging Face folder, in `kind` and frozen, with initial cross-attention in its last layers (in all without
    `cross_layers`), and a random encoder."""
    base = open_llama(folder)
    c = base.config
    with torch.device("meta"):
        model = Cepe(CepeConfig(c, encoder_config(c, shape), c.num_hidden_layers if cross_layers is None else cross_layers))
    load_decoder(model, base, kind)
    model.encoder = new_encoder(model.config.encoder, seed).model
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


def learned(model: nn.Module) -> dict[str, Tensor]:
    """All but the base, whether frozen or not."""
    return {n: p for n, p in model.state_dict().items() if not isinstance(model, Cepe) or "cross_attn" in n or n.startswith("encoder.")}
