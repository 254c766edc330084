"""Stages 3 and 4 (section 3 of the paper): the decoder is frozen; the encoder and the cross-attention
learn first to hand passages over word for word, then to answer from many passages at once."""

import argparse
import random
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from data import Data, load_data
from losses import answer_loss, attention_loss
from model import Cepe, Context
from packing import Row, answer_places, collate, context_rows, pad_passages
from settings import BOS, SEED, Settings, settings_for
from train_decoder import new_model
from training import Optimizers, Run, autocast, prepare_torch

ATTENTION_WEIGHT = 1.0


def start_from_decoder(model: Cepe) -> None:
    """The encoder begins as the decoder's first layers; each cross-attention as the self-attention of
    its layer, with its output scaled by 0.1 so that the decoder is hardly disturbed at first."""
    decoder = model.model
    with torch.no_grad():
        model.encoder.embed_tokens.load_state_dict(decoder.embed_tokens.state_dict())
        model.encoder.norm.load_state_dict(decoder.norm.state_dict())
        for layer, source in zip(model.encoder.layers, decoder.layers, strict=False):
            kept = {k: v for k, v in source.state_dict().items() if not k.startswith("cross_attn.")}
            layer.load_state_dict(kept)
        for layer in decoder.layers:
            cross, own = layer.cross_attn, layer.self_attn
            cross.layernorm.load_state_dict(layer.input_layernorm.state_dict())
            for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
                getattr(cross, name).load_state_dict(getattr(own, name).state_dict())
            cross.o_proj.weight.mul_(0.1)


def trained_parameters(model: Cepe) -> list[tuple[str, torch.nn.Parameter]]:
    chosen = []
    for name, parameter in model.named_parameters():
        trained = "cross_attn" in name or name.startswith("encoder.")
        parameter.requires_grad_(trained)
        if trained:
            chosen.append((name, parameter))
    return chosen


def encode(model: Cepe, passages: list[list[int]]) -> tuple[Tensor, list[int]]:
    """Phi of the passages in their own order, encoded in batches of like length."""
    order = sorted(range(len(passages)), key=lambda i: len(passages[i]))
    states: dict[int, Tensor] = {}
    for start in range(0, len(order), 16):
        chosen = order[start : start + 16]
        ids, valid = pad_passages([passages[i] for i in chosen])
        out = model.encoder(ids, valid)
        states |= {i: out[row, valid[row]] for row, i in enumerate(chosen)}
    return torch.cat([states[i] for i in range(len(passages))]), [len(p) for p in passages]


@dataclass(frozen=True)
class Reading:
    """`answer` is the loss on answers, `attention` on where cross-attention looks, `exact` per question."""

    answer: Tensor
    attention: Tensor
    exact: Tensor


def read_rows(model: Cepe, passages: list[list[int]], rows: list[Row]) -> Reading:
    phi, lengths = encode(model, passages)
    index, bias = context_rows(rows, lengths)
    batch = collate(rows)
    context = Context(phi, index, bias, batch.answers)
    hidden = model.hidden(batch.ids, batch.positions, batch.bias, context)
    answer, exact = answer_loss(model, hidden, batch)
    places, first = answer_places(rows, passages, index.shape[1])
    return Reading(answer, attention_loss(context.weights[-2:], places, first), exact)


def train_copying(model: Cepe, data: Data, settings: Settings, folder: Path) -> None:
    """The encoder sees the passages that the decoder is to repeat: each row continues one of them from
    a random place, with a few tokens given."""
    run = Run(folder, "cepe-copy", model, Optimizers(trained_parameters(model)), settings.cepe_copy)
    while not run.finished():
        rng = random.Random(SEED * 13 + run.step)
        world = data.sampler.world(4, 3, 1, rng)
        passages = [data.prompts.passage(p.title, p.text) for p in world.passages]
        spread = 1 + min(3, run.step // 60)  # passages that a row's decoder chooses from
        rows: list[Row] = []
        for number, tokens in enumerate(passages):
            start = rng.randint(0, max(0, len(tokens) - 40))
            piece = tokens[start : start + 40]
            others = rng.sample([i for i in range(len(passages)) if i != number], spread - 1)
            rows.append(Row([BOS], [(piece[:4], piece[4:])], [number, *others], [[number]]))
        with autocast():
            reading = read_rows(model, passages, rows)
        run.update(reading.answer + ATTENTION_WEIGHT * reading.attention)
        if run.step % 20 == 0:
            run.log(f"loss {reading.answer.item():.3f} attention {reading.attention.item():.3f}")


def cast_size(step: int, rng: random.Random) -> int:
    """Entities of a world, three passages each: few at first, later now and then enough for forty passages."""
    most = 2 if step < 250 else 4 if step < 600 else 14
    return rng.choice([size for size in (1, 2, 2, 3, 3, 4, 5, 7, 14) if size <= most])


def within(rows: list[Row], work: int, rng: random.Random) -> list[Row]:
    """As many rows as fit into `work` row-context pairs (at least two), the costliest part of a step."""
    kept: list[Row] = []
    for row in rng.sample(rows, len(rows)):
        if len(kept) < 2 or sum(len(r.contexts) for r in kept) + len(row.contexts) <= work:
            kept.append(row)
    return kept


def train_reading(model: Cepe, data: Data, settings: Settings, folder: Path) -> None:
    run = Run(folder, "cepe-read", model, Optimizers(trained_parameters(model)), settings.cepe_read)
    right: list[float] = []
    while not run.finished():
        rng = random.Random(SEED * 17 + run.step)
        in_prompt = rng.random() < 0.4
        entities = cast_size(run.step, rng)
        passages: list[list[int]] = []
        rows: list[Row] = []
        while sum(map(len, passages)) < settings.context_tokens:
            if data.rows.real and rng.random() < settings.real_share:
                more, made = data.rows.real_context_rows(6, rng)
            else:
                more, made = data.rows.context_rows(entities, in_prompt, rng)
            for row in made:
                row.contexts = [c + len(passages) for c in row.contexts]
                row.support = [[p + len(passages) for p in some] for some in row.support]
            passages += more
            rows += [row for row in made if row.branches]
        rows = within(rows, settings.context_work, rng)
        with autocast():
            reading = read_rows(model, passages, rows)
        right.append(reading.exact.float().mean().item())
        run.update(reading.answer + ATTENTION_WEIGHT * reading.attention)
        if run.step % 25 == 0:
            score = sum(right[-25:]) / len(right[-25:])
            run.log(
                f"loss {reading.answer.item():.3f} attention {reading.attention.item():.3f} exact {score:.3f} "
                f"questions {len(reading.exact)} passages {len(passages)}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stage", choices=["copy", "read"])
    parser.add_argument("--settings", default="cpu", choices=["cpu", "gpu", "smoke"])
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--real-text", type=Path)
    args = parser.parse_args()
    settings = settings_for(args.settings)
    prepare_torch(settings)
    model = new_model()
    before = "decoder-read" if args.stage == "copy" else "cepe-copy"
    model.load_state_dict(torch.load(args.runs / f"{before}.pt", weights_only=True)["model"])
    if args.stage == "copy":
        start_from_decoder(model)
        train_copying(model, load_data(args.real_text), settings, args.runs)
    else:
        train_reading(model, load_data(args.real_text), settings, args.runs)


if __name__ == "__main__":
    main()
