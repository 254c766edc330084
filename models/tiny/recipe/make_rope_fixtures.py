"""Outputs of the tiny checkpoint under rotary embeddings that are more than a basis, as their papers write them.

xPos (Sun et al. 2022, section 3.2; the constants of Giraffe, Pal et al. 2023) and the basis that grows with the length
("dynamic NTK": Peng et al. 2023, section 3.3, with cached keys left as they are, as Hugging Face's generation has it).
Rotations are products of complex numbers here. Run after `make_fixtures.py`, whose checkpoint it reads. This model is no
reference itself, see there.

    python make_rope_fixtures.py ../../../test/fixtures/recipe
"""

import sys
from pathlib import Path
from typing import Callable

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from configs import cepe_from, read_json
from model import Cepe, attention_weights, bias_from, merge_heads, split_heads

SEED = 12
FIRST_ID = 3
WINDOW = 256
SCALE_BASE = 64
FACTOR = 2

Turn = Callable[[Tensor, Tensor], Tensor]
"""A turn of x [1,H,n,D] to places [n]."""
Past = list[tuple[Tensor, Tensor]]


def turned(x: Tensor, factors: Tensor, interleaved: bool) -> Tensor:
    """x times complex factors [n,D/2], its pairs being neighbours, or the halves' channels."""
    half = x.shape[-1] // 2
    pairs = x.unflatten(-1, (half, 2)) if interleaved else x.unflatten(-1, (2, half)).transpose(-1, -2)
    out = torch.view_as_real(torch.view_as_complex(pairs.double().contiguous()) * factors)
    return (out if interleaved else out.transpose(-1, -2)).flatten(-2).float()


def frequencies(theta: float, size: int) -> Tensor:
    return theta ** (-torch.arange(0, size, 2).double() / size)


def xpos(theta: float, size: int, interleaved: bool) -> tuple[Turn, Turn]:
    zeta = (torch.arange(0, size, 2).double() + 0.4 * size) / (1.4 * size)

    def side(sign: int) -> Turn:
        def turn(x: Tensor, places: Tensor) -> Tensor:
            power = sign * (places[:, None].double() - WINDOW // 2) / SCALE_BASE
            return turned(x, torch.polar(zeta**power, places[:, None].double() * frequencies(theta, size)), interleaved)

        return turn

    return side(1), side(-1)


def by_length(theta: float, size: int, original: int, length: int) -> tuple[Turn, Turn]:
    if length > original:
        theta = theta * (FACTOR * length / original - (FACTOR - 1)) ** (size / (size - 2))

    def turn(x: Tensor, places: Tensor) -> Tensor:
        angles = places[:, None].double() * frequencies(theta, size)
        return turned(x, torch.polar(torch.ones_like(angles), angles), False)

    return turn, turn


def read(model: Cepe, ids: Tensor, past: Past, turns: tuple[Turn, Turn], by_place: bool = False) -> tuple[Tensor, Past]:
    """Logits [L,V] of ids [L] behind a past. Keys are kept as they were turned when they were read, or (by_place) unturned and
    turned anew at their places in past and piece."""
    query, key = turns
    width = past[0][0].shape[2] if past else 0
    places = torch.arange(width + len(ids))
    x = model.model.embed_tokens(ids[None])
    grown = []
    for index, layer in enumerate(model.model.layers):
        attention = layer.self_attn
        h = layer.input_layernorm(x)
        q = query(split_heads(attention.q_proj(h), attention.heads), places[width:])
        k, v = (split_heads(project(h), attention.kv_heads) for project in (attention.k_proj, attention.v_proj))
        k = k if by_place else key(k, places[width:])
        if past:
            k, v = torch.cat([past[index][0], k], 2), torch.cat([past[index][1], v], 2)
        grown.append((k, v))
        repeat = attention.heads // attention.kv_heads
        now = (key(k, places) if by_place else k).repeat_interleave(repeat, 1)
        weights = attention_weights(q, now, bias_from(places[None, :] <= places[width:, None]))
        x = x + attention.o_proj(merge_heads(weights @ v.repeat_interleave(repeat, 1)))
        x = x + layer.mlp(layer.post_attention_layernorm(x))
    return model.lm_head(model.model.norm(x))[0], grown


def of_tokens(logits: Tensor, ids: Tensor) -> Tensor:
    """Log-probability of ids[1:], each after the row before it."""
    return logits[: len(ids) - 1].log_softmax(-1).gather(1, ids[1:, None])[:, 0]


def greedy(model: Cepe, ids: Tensor, most: int, turns_of: Callable[[int], tuple[Turn, Turn]]) -> dict[str, Tensor]:
    """The prompt at its own length, each token after it at the length that it makes."""
    logits, past = read(model, ids, [], turns_of(len(ids)))
    tokens, logprobs = [], []
    while True:
        best = logits[-1].log_softmax(-1).max(-1)
        tokens.append(best.indices)
        logprobs.append(best.values)
        if len(tokens) == most:
            break
        logits, past = read(model, best.indices[None], past, turns_of(len(ids) + len(tokens)))
    return {"generated_ids": torch.stack(tokens), "generated_logprobs": torch.stack(logprobs)}


def streamed(model: Cepe, ids: Tensor, turns: tuple[Turn, Turn], sinks: int, recent: int, stride: int) -> Tensor:
    past, rows = [], []
    for start in range(0, len(ids), stride):
        logits, past = read(model, ids[start : start + stride], past, turns, by_place=True)
        rows.append(logits)
        if past[0][0].shape[2] > sinks + recent:
            past = [tuple(torch.cat([part[:, :, :sinks], part[:, :, -recent:]], 2) for part in layer) for layer in past]
    return of_tokens(torch.cat(rows), ids)


@torch.no_grad()
def main(target: Path) -> None:
    folder = target / "cepe-tiny-gqa"
    model = Cepe(cepe_from(read_json(folder / "config.json")))
    model.load_state_dict(load_file(folder / "model.safetensors"))
    config = model.config.decoder
    rng = torch.Generator().manual_seed(SEED)
    ids = torch.randint(FIRST_ID, config.vocab_size, (220,), generator=rng)
    theta, size, original = config.rope_theta, config.head_dim, config.max_position_embeddings
    ways = {
        f"xpos-{SCALE_BASE}": lambda _: xpos(theta, size, True),
        f"xpos-halves-{SCALE_BASE}": lambda _: xpos(theta, size, False),
        f"dynamic-{FACTOR}": lambda length: by_length(theta, size, original, length),
    }
    sinks, recent, stride = 4, 28, 32
    for name, turns_of in ways.items():
        case = {
            "input_ids": ids,
            "logprobs": of_tokens(read(model, ids, [], turns_of(len(ids)))[0], ids),
            **greedy(model, ids, 24, turns_of),
        }
        if name.startswith("xpos"):
            sizes = {key: torch.tensor([value]) for key, value in (("sinks", sinks), ("recent", recent), ("stride", stride))}
            case |= {**sizes, "streamed": streamed(model, ids, turns_of(0), sinks, recent, stride)}
        save_file({key: value.contiguous() for key, value in case.items()}, target.parent / "tasks" / f"turns-{name}.safetensors")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
