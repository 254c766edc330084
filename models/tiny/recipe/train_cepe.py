"""Stages 3 and 4 (section 3 of the paper): the decoder is frozen; the encoder and the cross-attention
learn first to hand passages over word for word, then to answer from many passages at once."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from contexts import choose_contexts
from data import Data, load_data
from losses import answer_loss, attention_loss, name_loss
from model import Cepe, Context, Watch
from packing import Row, answer_places, attending, collate, pad_passages, starts_of, support_places, title_looks
from rows import Story, continuation
from settings import BOS, SEED, SETTINGS, Settings
from train_decoder import NAME_LAYER, new_model
from training import Optimizers, Run, autocast, prepare_torch, stage_arguments

PASSAGE_LAYER = 1  # of the decoder: its cross-attention finds the passage, the last two find the answer in it
ATTENTION_WEIGHT = 1.0
PASSAGE_WEIGHT = 0.5
NAME_WEIGHT = 0.2
Forward = Callable[..., Tensor]


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


def encode(model: Cepe, story: Story) -> tuple[Tensor, Tensor]:
    """Phi of the passages in their own order, encoded in batches of like length, and the loss on whether
    their tokens know their titles."""
    passages = story.passages
    order = sorted(range(len(passages)), key=lambda i: len(passages[i]))
    states: dict[int, Tensor] = {}
    losses: list[Tensor] = []
    for start in range(0, len(order), 16):
        chosen = order[start : start + 16]
        ids, valid = pad_passages([passages[i] for i in chosen])
        looks = title_looks([story.titles[i] for i in chosen], [len(passages[i]) for i in chosen], random.Random(start))
        watch = Watch(looks.rows, looks.places)
        out = model.encoder(ids, valid, watch)
        losses.append(name_loss(watch.weights[NAME_LAYER], looks.targets(ids.shape[1])))
        states |= {i: out[row, valid[row]] for row, i in enumerate(chosen)}
    return torch.cat([states[i] for i in range(len(passages))]), torch.stack(losses).mean()


@dataclass(frozen=True)
class Reading:
    """`answer` is the loss on answers, `attention` on where the last cross-attentions look, `passage` on which
    passages an earlier one does, `name` on where the encoder does, `exact` per question."""

    answer: Tensor
    attention: Tensor
    passage: Tensor
    name: Tensor
    exact: Tensor

    @property
    def loss(self) -> Tensor:
        return self.answer + ATTENTION_WEIGHT * self.attention + PASSAGE_WEIGHT * self.passage + NAME_WEIGHT * self.name

    def __str__(self) -> str:
        parts = {"loss": self.answer, "attention": self.attention, "passage": self.passage, "name": self.name}
        return " ".join(f"{name} {part.item():.3f}" for name, part in parts.items())


def read_story(model: Cepe, forward: Forward, story: Story) -> Reading:
    phi, name = encode(model, story)
    lengths = [len(p) for p in story.passages]
    batch = collate(story.rows)
    tokens, bias, watched = attending(batch, story.rows, lengths)
    watch = Watch(torch.zeros_like(watched), watched)
    hidden = forward(batch.ids, batch.positions, batch.bias, Context(phi, tokens, bias.to(torch.bfloat16), watch))
    answer, exact = answer_loss(model, hidden, batch)
    starts = starts_of(lengths)
    visible = [{passage: starts[passage] for passage in row.contexts} for row in story.rows]
    places, first = answer_places(story.rows, [story.passages] * len(story.rows), visible, len(phi))
    attention = attention_loss(watch.weights[-2:], places, first)
    passage = attention_loss([watch.weights[PASSAGE_LAYER]], support_places(story.rows, lengths, visible, len(phi)), first)
    return Reading(answer, attention, passage, name, exact)


def train_copying(model: Cepe, data: Data, settings: Settings, folder: Path) -> None:
    """The encoder sees the passages that the decoder is to repeat: each row continues one of them from
    a random place, with a few tokens given."""
    run = Run(folder, "cepe-copy", model, Optimizers(trained_parameters(model)), settings.cepe_copy)
    while not run.finished():
        rng = random.Random(f"{SEED} {run.step} {run.rank}")
        world = data.sampler.world(6, 3, 1, rng)
        story = data.rows.story(world.passages)
        spread = 1 + min(len(story.passages) - 1, run.step // 25)  # passages that a row's decoder chooses from
        for number, tokens in enumerate(story.passages):
            start = rng.randint(0, max(0, len(tokens) - 40))
            others = rng.sample([i for i in range(len(story.passages)) if i != number], spread - 1)
            story.rows.append(Row([BOS], [continuation(tokens, start, 40)], {}, [number, *others], [[number]]))
        with autocast():
            reading = read_story(model, model.hidden, story)
        run.update(reading.loss)
        if run.step % 20 == 0:
            run.log(str(reading))


def casts(progress: float, share: int, rng: random.Random) -> list[int]:
    """How many entities each world of a step has, three passages each, about `share` passages in all:
    small worlds first, later mostly ones with passages enough for forty."""
    most = 3 if progress < 0.1 else 7 if progress < 0.2 else 14
    entities = rng.choice([size for size in (2, 5, 7, *[14] * 7) if size <= most])
    return [entities] * max(1, round(share / 3 / entities))


def within(rows: list[Row], tokens: int, rng: random.Random) -> list[Row]:
    """Some of the rows, about `tokens` in all."""
    kept: list[Row] = []
    for row in rng.sample(rows, len(rows)):
        if sum(map(len, kept)) < tokens:
            kept.append(row)
    return kept


def train_reading(model: Cepe, data: Data, settings: Settings, folder: Path) -> None:
    run = Run(folder, "cepe-read", model, Optimizers(trained_parameters(model)), settings.cepe_read)
    forward = torch.compile(model.hidden, dynamic=True) if settings.compiled else model.hidden
    right: list[float] = []
    while not run.finished():
        # sizes are the same for all processes, which wait for the slowest; what fills them is not
        sizes, rng = random.Random(f"{SEED} {run.step}"), random.Random(f"{SEED} {run.step} {run.rank}")
        story = Story()
        share = round(settings.context_passages * sizes.choice((0.4, 0.7, 1)) * (1 if run.progress > 0.12 else 0.5))
        in_prompt = sizes.random() < 0.1
        for entities in casts(run.progress, share, sizes):
            if data.real.articles and rng.random() < settings.real_share:
                story.add(data.real.story(6, rng))
            else:
                story.add(data.rows.context_story(entities, in_prompt, rng))
        choose_contexts(story, data.prompts, rng)
        story.rows = within(story.rows, settings.question_tokens, rng)
        story.add(data.rows.copying_story(rng))
        with autocast():
            reading = read_story(model, forward, story)
        right.append(reading.exact.float().mean().item())
        run.update(reading.loss)
        if run.step % 25 == 0:
            score = sum(right[-25:]) / len(right[-25:])
            run.log(f"{reading} exact {score:.3f} questions {len(reading.exact)} passages {len(story.passages)}")


def main() -> None:
    parser = stage_arguments(__doc__)
    parser.add_argument("stage", choices=["copy", "read"])
    args = parser.parse_args()
    settings = SETTINGS[args.settings]
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
