"""Stage 5: the whole reader, the decoder included, learns from real paragraphs, from free sentences, from questions
that are made by rule, and to refuse questions that no passage answers.

    python train_more.py --settings cpu --runs RUNS --real-text DIR [DIR] [--checkpoint FOLDER]

It starts from the stage before or, with --checkpoint, from an exported reader: the shipped weights can be continued.
"""

import random
from pathlib import Path

import torch

from checkpoints import cepe_weights
from contexts import choose_contexts
from data import Data, load_data
from losses import answer_loss
from model import Cepe
from packing import collate
from rows import Story
from settings import SEED, SETTINGS, Settings
from train_cepe import read_story, within
from train_decoder import new_model
from training import Optimizers, Run, autocast, prepare_torch, stage_arguments

# The stories of a step, each (entities of an invented world, paragraphs of real text): what a step costs grows with the
# product of its questions and the passages that they see, so most steps read two small stories instead of a large one
MIXES = (((14, 1),), ((14, 1),), ((14, 0),), ((7, 0), (2, 6)), ((5, 3), (5, 3)), ((4, 4), (1, 8)))
PROMPT_SHARE = 0.1  # of the steps show some rows passages in the prompt
ALONE_EVERY = 12  # so often a step is for the decoder alone


def start(model: Cepe, runs: Path, checkpoint: Path | None) -> None:
    """Loads what the stage starts from; a run that was stopped loads its own state later."""
    if checkpoint:
        model.load_state_dict(cepe_weights(checkpoint))
    else:
        model.load_state_dict(torch.load(runs / "cepe-read.pt", weights_only=True)["model"])


def mixed_story(data: Data, sort: tuple[int, int], scale: float, in_prompt: bool, tokens: int, rng: random.Random) -> Story:
    """An invented world and real text, read together; its questions are of about so many tokens."""
    entities, paragraphs = (round(size * scale) for size in sort)
    story = Story()
    if entities or not data.real.articles:
        story.add(data.rows.context_story(max(1, entities), in_prompt, rng))
    if paragraphs and data.real.articles:
        story.add(data.real.story(paragraphs, rng))
    choose_contexts(story, data.prompts, rng)
    story.rows = within(story.rows, tokens, rng)
    return story


def step_stories(data: Data, settings: Settings, step: int, rank: int) -> list[Story]:
    """What one step reads. Sizes are the same for all processes, which wait for the slowest; what fills them is not."""
    sizes, rng = random.Random(f"{SEED} more {step}"), random.Random(f"{SEED} more {step} {rank}")
    mix = sizes.choice(MIXES)
    in_prompt = sizes.random() < PROMPT_SHARE
    tokens = settings.question_tokens // len(mix)
    scale = settings.context_passages / 40
    stories = [mixed_story(data, sort, scale, in_prompt, tokens, rng) for sort in mix]
    stories[0].add(data.rows.copying_story(rng))
    return [story for story in stories if story.rows]


def train(model: Cepe, data: Data, settings: Settings, run: Run) -> None:
    forward = torch.compile(model.hidden, dynamic=True) if settings.compiled else model.hidden
    right: list[float] = []
    while not run.finished():
        if run.step % ALONE_EVERY == ALONE_EVERY - 1:
            with autocast():
                run.update(alone(model, data, settings, random.Random(f"{SEED} alone {run.step} {run.rank}")))
            continue
        stories = step_stories(data, settings, run.step, run.rank)
        with autocast():
            readings = [read_story(model, forward, story) for story in stories]
        right.append(sum(r.exact.float().mean().item() for r in readings) / len(readings))
        run.update(torch.stack([r.loss for r in readings]).mean())
        if run.step % 25 == 1:
            score = sum(right[-25:]) / len(right[-25:])
            run.log(f"{readings[-1]} exact {score:.3f} questions {sum(len(r.exact) for r in readings)}")


def alone(model: Cepe, data: Data, settings: Settings, rng: random.Random) -> torch.Tensor:
    """The loss of the decoder that reads passages in its prompt, without an encoder."""
    passages = rng.choice((2, 4, 6))
    rows = data.rows.reading_row(passages, rng).rows
    while sum(map(len, rows)) < settings.decoder_tokens // 2:
        rows += data.rows.reading_row(passages, rng).rows
    batch = collate([row for row in rows if row.branches])
    return answer_loss(model, model.hidden(batch.ids, batch.positions, batch.bias), batch)[0]


def main() -> None:
    parser = stage_arguments(__doc__)
    parser.add_argument("--checkpoint", type=Path, help="an exported reader to start from")
    args = parser.parse_args()
    settings = SETTINGS[args.settings]
    prepare_torch(settings)
    model = new_model()
    start(model, args.runs, args.checkpoint)
    run = Run(args.runs, "cepe-more", model, Optimizers(list(model.named_parameters())), settings.cepe_more)
    train(model, load_data(args.real_text), settings, run)


if __name__ == "__main__":
    main()
