"""Stage 1 and 2: the decoder learns to copy, then to answer from passages in its own prompt."""

import random
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from copying import repeated_segments
from data import CHECKPOINT, Data, load_data
from losses import answer_loss, attention_loss, name_loss, text_loss
from model import Cepe, Watch, init_weights
from packing import answer_places, collate, name_looks
from rows import Story
from settings import CEPE, CEPE_VOCAB, SEED, SETTINGS, Settings
from tokenizers_ import load_tokenizer
from training import Optimizers, Run, autocast, prepare_torch, stage_arguments, step_rng
from word_vectors import blend_vectors

ATTENTION_WEIGHT = 0.5
NAME_LAYER = 1  # of the decoder and, since it starts as a copy, of the encoder
POOL = 12  # batches that are drawn together, then cut by length


def new_model() -> Cepe:
    """The input embedding also serves as the output layer: what is copied has one code. Its rows have
    unit length on average, so that a matching state gives a clear logit from the start."""
    model = Cepe(CEPE)
    init_weights(model, SEED)
    with torch.no_grad():
        model.model.embed_tokens.weight.mul_(3.0)
    model.lm_head.weight = model.model.embed_tokens.weight
    return model


def decoder_parameters(model: Cepe) -> list[tuple[str, torch.nn.Parameter]]:
    return [(n, p) for n, p in model.named_parameters() if "cross_attn" not in n and not n.startswith("encoder.")]


def train_copying(model: Cepe, settings: Settings, folder: Path) -> None:
    """Random sequences that repeat themselves. The embeddings stay as they are, word vectors and noise,
    and a token is predicted among those of its own row: nothing but copying is learned."""
    blend_vectors(model.model.embed_tokens.weight, load_tokenizer(CHECKPOINT / "cepe"), folder, "Ġ")
    blocks = [(n, p) for n, p in decoder_parameters(model) if "embed_tokens" not in n]
    run = Run(folder, "decoder-copy", model, Optimizers(blocks), settings.decoder_copy)
    model.model.embed_tokens.requires_grad_(False)
    while not run.finished():
        ids, known = repeated_segments(settings.copy_batch, 32, 4, 12, CEPE_VOCAB, step_rng(SEED, run.step))
        with autocast():
            scores = model.hidden(ids) @ model.model.embed_tokens(ids).transpose(1, 2)
        chosen = known[:, 1:]
        first = first_occurrence(ids)
        candidates = first == torch.arange(ids.shape[1])
        logits = scores.float().masked_fill(~candidates[:, None], -1e4)[:, :-1][chosen]
        targets = first[:, 1:][chosen]
        loss = F.cross_entropy(logits, targets)
        run.update(loss)
        if run.step % 50 == 0:
            right = (logits.argmax(-1) == targets).float().mean()
            run.log(f"loss {loss.item():.3f} copied {right:.3f}")
    model.model.embed_tokens.requires_grad_(True)


def first_occurrence(ids: Tensor) -> Tensor:
    """For each token of a row [B,L] the position at which it first stands there."""
    return (ids[:, :, None] == ids[:, None, :]).float().argmax(-1)


def passages_at(progress: float, rng: random.Random) -> int:
    """One passage at first, then more, up to what the window holds. Now and then none, since that is how
    the decoder meets questions whose passages are all in the encoder."""
    if rng.random() < 0.08:
        return 0
    most = 1 if progress < 0.25 else 3 if progress < 0.5 else 6
    return rng.randint(1, most)


def alike(stories: list[Story], tokens: int, rng: random.Random) -> list[list[Story]]:
    """Batches of stories (of one row each) of like length, each of about `tokens`, so that little padding
    is computed, in random order."""
    batches: list[list[Story]] = [[]]
    room = tokens
    for story in sorted(stories, key=lambda story: len(story.rows[0])):
        if room <= 0:
            batches.append([])
            room = tokens
        batches[-1].append(story)
        room -= len(story.rows[0])
    rng.shuffle(batches)
    return batches


def reading_batches(data: Data, settings: Settings, progress: float, rng: random.Random) -> list[list[Story]]:
    """The next few steps' stories."""
    stories: list[Story] = []
    left = POOL * settings.decoder_tokens
    while left > 0:
        real = data.rows.real and rng.random() < settings.real_share and progress > 0.5
        story = data.rows.real_row(rng) if real else data.rows.reading_row(passages_at(progress, rng), rng)
        if story.rows[0].branches:
            stories.append(story)
            left -= len(story.rows[0])
    return alike(stories, settings.decoder_tokens, rng)


def train_reading(model: Cepe, data: Data, settings: Settings, folder: Path) -> None:
    run = Run(folder, "decoder-read", model, Optimizers(decoder_parameters(model)), settings.decoder_read)
    forward = torch.compile(model.hidden, dynamic=True) if settings.compiled else model.hidden
    pool: list[list[Story]] = []
    right: list[float] = []
    while not run.finished():
        if not pool:
            pool = reading_batches(data, settings, run.progress, random.Random(f"{SEED} {run.step} {run.rank}"))
        stories = pool.pop()
        rows = [story.rows[0] for story in stories]
        batch = collate(rows)
        titles = [story.titles for story in stories]
        looks = name_looks(rows, titles, [[len(p) for p in story.passages] for story in stories], random.Random(run.step))
        answers = Watch.at(batch.answers)
        watch = Watch(torch.cat([answers.rows, looks.rows]), torch.cat([answers.places, looks.places]))
        with autocast():
            hidden = forward(batch.ids, batch.positions, batch.bias, watch=watch)
            loss, exact = answer_loss(model, hidden, batch)
            text = text_loss(model, hidden, batch, 0.1, step_rng(SEED, run.step))
        passages = [story.passages for story in stories]
        places, first = answer_places(rows, passages, [row.shown for row in rows], batch.ids.shape[1])
        attention = attention_loss([layer[: len(places)] for layer in watch.weights[-2:]], places, first)
        named = name_loss(watch.weights[NAME_LAYER][len(places) :], looks.targets(batch.ids.shape[1]))
        right.append(exact.float().mean().item())
        run.update(loss + 0.3 * text + ATTENTION_WEIGHT * (attention + named))
        if run.step % 50 == 0:
            score = sum(right[-50:]) / len(right[-50:])
            run.log(
                f"answer {loss.item():.3f} text {text.item():.3f} attention {attention.item():.3f} name {named.item():.3f} exact {score:.3f} "
                f"questions {len(exact)} shape {tuple(batch.ids.shape)}"
            )


def main() -> None:
    parser = stage_arguments(__doc__)
    parser.add_argument("stage", choices=["copy", "read"])
    args = parser.parse_args()
    settings = SETTINGS[args.settings]
    prepare_torch(settings)
    model = new_model()
    if args.stage == "copy":
        train_copying(model, settings, args.runs)
        return
    if not (args.runs / "decoder-read.pt").exists():
        model.load_state_dict(torch.load(args.runs / "decoder-copy.pt", weights_only=True)["model"])
    train_reading(model, load_data(args.real_text), settings, args.runs)


if __name__ == "__main__":
    main()
