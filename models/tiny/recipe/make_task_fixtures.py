"""Outputs of the tiny checkpoint for evaluation tasks, beside its folder, as this model computes them written out plainly.

Losses of long texts by each method, a streaming cache whose keys are rotated at their places in it (as StreamingLLM
describes it: the service rotates the keys that it keeps), options after a prompt, and other rotary bases. Run after
`make_fixtures.py`, whose checkpoint it reads. This model is no reference itself, see there.

    python make_task_fixtures.py ../../../test/fixtures/recipe
"""

import math
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from configs import cepe_from, read_json
from model import Cepe, attention_weights, bias_from, merge_heads, rotate, split_heads

SEED = 11
FIRST_ID = 3
BOS = 1
Past = list[tuple[Tensor, Tensor]]


def base_frequencies(head_dim: int, theta: float) -> Tensor:
    return theta ** (-torch.arange(0, head_dim, 2).double() / head_dim)


def changed(frequencies: Tensor, scale: float = 1, power: float | None = None, truncate: int | None = None) -> Tensor:
    """Scaled, then raised, then truncated (Giraffe, Pal et al. 2023, section 3, pairs counted from 0)."""
    pairs = torch.arange(len(frequencies)).double()
    out = frequencies / scale
    if power is not None:
        out = out * (1 - pairs / len(frequencies)) ** power
    if truncate is not None:
        cutoff = 2 * math.pi / truncate
        middle = torch.where(out >= cutoff / 8, torch.full_like(out, cutoff / 16), torch.zeros_like(out))
        out = torch.where(out >= cutoff, out, middle)
    return out


def waves(positions: Tensor, frequencies: Tensor) -> tuple[Tensor, Tensor]:
    angles = positions[None, :, None].double() * frequencies
    angles = torch.cat([angles, angles], -1)
    return angles.cos().float(), angles.sin().float()


def read(model: Cepe, ids: Tensor, past: Past, frequencies: Tensor) -> tuple[Tensor, Past]:
    """Logits [L,V] of ids [L] behind a past of keys without rotation; every key is rotated at its place in past and piece."""
    width = past[0][0].shape[2] if past else 0
    places = torch.arange(width + len(ids))
    allowed = places[None, :] <= places[width:, None]
    x = model.model.embed_tokens(ids[None])
    grown = []
    for index, layer in enumerate(model.model.layers):
        attention = layer.self_attn
        h = layer.input_layernorm(x)
        q = split_heads(attention.q_proj(h), attention.heads)
        k, v = (split_heads(project(h), attention.kv_heads) for project in (attention.k_proj, attention.v_proj))
        if past:
            k, v = torch.cat([past[index][0], k], 2), torch.cat([past[index][1], v], 2)
        grown.append((k, v))
        repeat = attention.heads // attention.kv_heads
        turned = rotate(k, *waves(places, frequencies)).repeat_interleave(repeat, 1)
        weights = attention_weights(rotate(q, *waves(places[width:], frequencies)), turned, bias_from(allowed))
        x = x + attention.o_proj(merge_heads(weights @ v.repeat_interleave(repeat, 1)))
        x = x + layer.mlp(layer.post_attention_layernorm(x))
    return model.lm_head(model.model.norm(x))[0], grown


def of_tokens(logits: Tensor, ids: Tensor) -> Tensor:
    """Log-probability of ids[1:], each after the row before it."""
    return logits[: len(ids) - 1].log_softmax(-1).gather(1, ids[1:, None])[:, 0]


def streamed(model: Cepe, ids: Tensor, sinks: int, recent: int, stride: int) -> Tensor:
    past, rows = [], []
    for start in range(0, len(ids), stride):
        logits, past = read(model, ids[start : start + stride], past, decoder_frequencies(model))
        rows.append(logits)
        if past[0][0].shape[2] > sinks + recent:
            past = [tuple(torch.cat([part[:, :, :sinks], part[:, :, -recent:]], 2) for part in layer) for layer in past]
    return of_tokens(torch.cat(rows), ids)


def decoder_frequencies(model: Cepe) -> Tensor:
    config = model.config.decoder
    return base_frequencies(config.head_dim, config.rope_theta)


def scored(model: Cepe, ids: Tensor, phi: Tensor | None = None) -> Tensor:
    return of_tokens(model(ids[None], phi)[0], ids)


def loss_case(logprobs: Tensor, window: int, **inputs: Tensor) -> dict[str, Tensor]:
    kept = logprobs[-window:]
    return {**inputs, "eval_window": torch.tensor([window]), "logprobs": kept, "loss": -kept.mean()[None]}


def language_cases(model: Cepe, draw) -> dict[str, dict[str, Tensor]]:
    ids, contexts = draw(48), draw(5, 12)
    phi = model.encode(contexts, torch.ones_like(contexts, dtype=torch.bool))
    long = draw(48 + 5 * 12)
    stream, sinks, recent, stride = draw(200), 4, 28, 32
    sizes = {name: torch.tensor([value]) for name, value in (("sinks", sinks), ("recent", recent), ("stride", stride))}
    return {
        "lm-cepe": loss_case(scored(model, ids, phi), 16, input_ids=ids[None], encoder_input_ids=contexts),
        "lm-full-context": loss_case(scored(model, long), 16, input_ids=long[None]),
        "lm-streaming": loss_case(streamed(model, stream, sinks, recent, stride), 16, input_ids=stream[None], **sizes),
    }


def retrieval_cases(model: Cepe, draw) -> dict[str, dict[str, Tensor]]:
    ids, window, width = draw(56), 48, 16
    lengths = torch.tensor([16, 9, 12, 5])
    mask = torch.arange(width)[None] < lengths[:, None]
    contexts = draw(len(lengths), width) * mask
    inputs = {"input_ids": ids[None], "encoder_input_ids": contexts, "encoder_attention_mask": mask.long()}
    cases = {"lm-retrieval-cepe": loss_case(scored(model, ids, model.encode(contexts, mask)), window, **inputs)}
    rows = torch.stack([scored(model, torch.cat([row[kept], ids]))[-window:] for row, kept in zip(contexts, mask)])
    for name, scores in (("scores", torch.tensor([1.3, 0.7, 1.1, 0.2])), ("uniform", torch.ones(4))):
        mixed = (rows + scores.log_softmax(0)[:, None]).logsumexp(0)
        cases[f"lm-retrieval-replug-{name}"] = loss_case(mixed, window, **inputs, context_scores=scores)
    return cases


def options_case(model: Cepe, draw) -> dict[str, Tensor]:
    ids, contexts, lengths = draw(21), draw(5, 14), torch.tensor([2, 3, 4, 1])
    phi = model.encode(contexts, torch.ones_like(contexts, dtype=torch.bool))
    options = draw(len(lengths), 4) * (torch.arange(4)[None] < lengths[:, None])
    bos = torch.tensor([BOS])

    def sums(prompt: Tensor, states: Tensor | None) -> Tensor:
        rows = zip(options, lengths.tolist())
        return torch.stack([scored(model, torch.cat([prompt, row[:length]]), states)[-length:].sum() for row, length in rows])

    total, calibration = sums(ids, phi), sums(bos, None)
    calibrated = total - calibration
    ways = [total, total / lengths, calibrated, calibrated / lengths]
    return {
        "input_ids": ids[None],
        "encoder_input_ids": contexts,
        "options": options,
        "lengths": lengths,
        "sum": total,
        "calibration": calibration,
        "predictions": torch.stack([way.argmax() for way in ways]),
    }


def rope_cases(model: Cepe, draw) -> dict[str, dict[str, Tensor]]:
    base, ids = decoder_frequencies(model), draw(64)
    bases = {
        "none": base,
        "linear-4": changed(base, scale=4),
        "power-0.5": changed(base, power=0.5),
        "truncated-64": changed(base, truncate=64),
        "truncated-64-linear-2": changed(base, scale=2, truncate=64),
    }
    return {
        f"rope-{name}": {"input_ids": ids[None], "frequencies": f.float(), "logits": read(model, ids, [], f)[0][None]}
        for name, f in bases.items()
    }


@torch.no_grad()
def main(target: Path) -> None:
    folder = target / "cepe-tiny-gqa"
    model = Cepe(cepe_from(read_json(folder / "config.json")))
    model.load_state_dict(load_file(folder / "model.safetensors"))
    rng = torch.Generator().manual_seed(SEED)
    most = model.config.decoder.vocab_size

    def draw(*shape: int) -> Tensor:
        return torch.randint(FIRST_ID, most, shape, generator=rng)

    cases = language_cases(model, draw) | retrieval_cases(model, draw) | rope_cases(model, draw)
    cases["icl-options"] = options_case(model, draw)
    tasks = target.parent / "tasks"
    tasks.mkdir(exist_ok=True)
    for name, tensors in cases.items():
        save_file({key: value.contiguous() for key, value in tensors.items()}, tasks / f"{name}.safetensors")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
