"""Stage 2: reading through the encoder, with the decoder of stage 1 frozen and as the teacher: it has the right passage in its prompt.

Three parts of the schedule, each nearer to the end: the keys and values of each layer; what each layer's cross-attention adds, given the
teacher's states; then the whole, states and answers, from half of the schedule on also with passages in the prompt. A run resumes from
its last checkpoint.
"""

import argparse
import random
from dataclasses import dataclass
from pathlib import Path

import shared  # noqa: F401

import torch
import torch.nn.functional as F
from torch import Tensor

from bases import Base, open_base
from cepe import Cepe
from distillation import (
    Taught,
    first_states,
    fit_heads,
    fit_keys_and_values,
    missing_of,
    of_attention,
    of_keys_and_values,
    of_states,
    taught_by,
    token_weights,
)
from reader_model import DEVICE, adapted, encode, learned, load_cepe, new_decoder, new_reader
from reading import Prompts, Row, Rows, exact, load_paragraphs, predicted
from run import put, read_run
from schedule import TimedRun, parser_of
from scores import load_development, through_encoder
from through_encoder import Asked, Task, Tasks, context_of

SEED = 20261124
LAYERS, RANK, ALPHA = 18, 24, 24.0


@dataclass(frozen=True)
class Scale:
    """Of a step: its passages, layer by layer and end to end; its questions; how many passages a question reads beside its own, drawn
    from these; its rows with passages in the prompt, in every third step of the last half."""

    few: tuple[int, ...]
    many: tuple[int, ...]
    questions: int
    others: tuple[int, ...]
    prompted_rows: int


SCALE = {"cpu": Scale((4,), (5,), 40, (0, 0, 0, 0, 1, 4), 0), "cuda": Scale((32,), (40,), 200, (0, 0, 1, 2, 5, 9, 19), 8)}[DEVICE.type]
KEYS, LAYERWISE, PROMPTED = 0.02, 0.35, 0.5  # ends of the first two parts; where prompts with passages begin
FITTED = 100, 3  # passages for keys and values, steps' worth of questions for heads
WARMUP, DECAY = 20, 0.6
WHOLE = 0.35  # of the rate, end to end: at the whole rate it first undoes what was learned layer by layer
ATTENTION, KEYS_AND_VALUES, STATES = 3.0, 2.0, 2.0  # weights of the losses


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--lr", type=float, default=6e-4)
    parser.add_argument("--cepe", type=Path, help="an exported cepe.gguf, where there is no checkpoint: trained on end to end")
    return parser.parse_args()


def stage_one(base: Base, args: argparse.Namespace) -> Cepe:
    checkpoint = args.runs / "reading.pt"
    if args.adapter and not checkpoint.exists():
        return adapted(base, args.adapter)
    kept = read_run(checkpoint, "train stage 1 first, or give --adapter")
    decoder = new_decoder(base, kept["settings"]["rank"], kept["settings"]["alpha"])
    put(learned(decoder), kept["model"], checkpoint)
    return decoder


class Lessons:
    """The losses of a step in each part."""

    def __init__(self, reader: Cepe, tasks: Tasks, run: TimedRun):
        self.reader, self.tasks, self.run = reader, tasks, run
        self.first = first_states(reader, tasks.prompts.question("")[0])

    def taught(self, asked: Asked) -> Taught:
        return taught_by(self.reader, asked.rows, list(map(len, asked.passages)))

    def begin(self) -> None:
        passages, steps = FITTED
        drawn = (random.Random(f"{SEED} fitted {number}") for number in range(passages // 4))
        fit_keys_and_values(self.reader, (self.keys_of(self.tasks.encoded(self.tasks.passages(4, rng))) for rng in drawn))
        fit_heads(self.reader, (self.heads_of(random.Random(f"{SEED} heads {number}")) for number in range(steps)))

    def keys_of(self, passages: list[list[int]]) -> tuple[Tensor, Tensor, Tensor]:
        kv = taught_by(self.reader, [Row(ids, []) for ids in passages], list(map(len, passages))).kv
        states, owner = encode(self.reader, passages)
        return states, kv, token_weights(owner)

    def heads_of(self, rng: random.Random):
        asked = self.tasks.asked(rng.choice(SCALE.few), SCALE.questions, (0,), rng)
        states, owner = encode(self.reader, asked.passages)
        bias = context_of(asked.task, states, owner).bias
        return missing_of(self.reader, asked.task, self.taught(asked), self.first), states, bias, asked.weights

    def keys(self, passages: list[list[int]]) -> Tensor:
        missed = of_keys_and_values(self.reader, *self.keys_of(passages)).mean(0)
        self.run.note(keys=missed[0], values=missed[1])
        return missed.sum()

    def loss(self, asked: Asked, layerwise: bool) -> tuple[Tensor, Tensor, Tensor]:
        """Also the encoder's states and their passages, for further tasks."""
        reader, task, taught = self.reader, asked.task, self.taught(asked)
        states, owner = encode(reader, asked.passages)
        context = context_of(task, states, owner)
        missed = of_keys_and_values(reader, states, taught.kv, token_weights(owner)).mean(0)
        self.run.note(keys=missed[0], values=missed[1])
        if layerwise:
            attention = of_attention(reader, missing_of(reader, task, taught, self.first), states, context.bias, asked.weights).mean()
            self.run.note(attention=attention)
            return ATTENTION * attention + missed.sum(), states, owner
        layers = list(reader.model.stream(task.ids, task.positions, task.bias, context))[1:]
        weights = asked.weights * (task.positions[0] != 0)
        apart = of_states(reader, taught.after, layers, weights / weights.sum())
        self.run.note(states=apart)
        logits, wanted = (reader.lm_head(reader.model.norm(x)[task.at]).float() for x in (layers[-1].flatten(0, 1), taught.after[-1]))
        answers = (F.cross_entropy(logits, task.targets) + F.kl_div(logits.log_softmax(-1), wanted.softmax(-1), reduction="batchmean")) / 2
        self.run.note(exact=exact(task, logits), teacher=exact(task, wanted))
        return answers + STATES * apart + KEYS_AND_VALUES * missed.sum(), states, owner

    def prompted(self, task: Task, states: Tensor, owner: Tensor) -> Tensor:
        logits = predicted(self.reader, task, context_of(task, states, owner))
        self.run.note(prompted=exact(task, logits))
        return F.cross_entropy(logits, task.targets)


def main() -> None:
    args = arguments()
    torch.set_num_threads(args.threads)
    torch.manual_seed(SEED)
    base = open_base(args.base)
    layers = min(LAYERS, base.config.num_hidden_layers)
    prompts, reader = Prompts(base.tokenizer()), new_reader(stage_one(base, args), layers, RANK, ALPHA)
    tasks = Tasks(prompts, Rows(prompts, load_paragraphs(args.data)))
    run = TimedRun(args, "encoder.pt", reader, {"layers": layers, "rank": RANK, "alpha": ALPHA}, adapters=2.0)
    lessons = Lessons(reader, tasks, run)
    if args.cepe and not run.resumed:
        load_cepe(reader, args.cepe)
    elif not run.resumed:
        lessons.begin()
    first = LAYERWISE if args.cepe else 0.0  # the part of the schedule that is left out

    def measure(count: int = 60, passages: tuple[int, ...] = (1, 3)) -> str:
        development = load_development(args.development, count)
        return f"exact match, passages in the encoder: { {n: through_encoder(reader, prompts, development, n) for n in passages} }"

    while run.done < 1:
        done = first + (1 - first) * run.done
        rng, rate = random.Random(f"{SEED} {run.step}"), run.rate(WARMUP, DECAY) * (1 if done < LAYERWISE else WHOLE)
        if done < KEYS:
            lessons.keys(tasks.encoded(tasks.passages(SCALE.many[-1], rng))).backward()
        else:
            layerwise = done < LAYERWISE
            asked = tasks.asked(rng.choice(SCALE.few if layerwise else SCALE.many), SCALE.questions, (0,) if layerwise else SCALE.others, rng)
            loss, states, owner = lessons.loss(asked, layerwise)
            if SCALE.prompted_rows and done > PROMPTED and run.step % 3 == 0:
                loss = loss + lessons.prompted(tasks.beside_prompt(asked.shown, SCALE.prompted_rows, 12, rng), states, owner)
            loss.backward()
            run.asked += asked.task.questions
        run.learn(rate, 20.0, measure)
    run.save()
    if args.development:
        print(f"step {run.step} development {measure(200, (1, 3, 10))}", flush=True)


if __name__ == "__main__":
    main()
