"""Stage 2: reading through the encoder, with the decoder of stage 1 frozen and as the teacher: it has the right passage in its prompt.

Three parts of the schedule, each nearer to the end: the keys and values of each layer; what each layer's cross-attention adds, given the
teacher's states; then the whole, states and answers, from half of the schedule on also with passages in the prompt. A run resumes from
its last checkpoint.
"""

import argparse
import random
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from base_files import Base, open_base
from base_model import DEVICE, Decoder, load_adapter
from beginnings import fit_heads, fit_keys_and_values
from cepe_model import Reader, load_cepe
from losses import missing_of, of_attention, of_keys_and_values, of_states, token_weights
from reading import Prompts, Row, Rows, load_paragraphs
from run import Run, parser_of
from scores import load_development, through_encoder
from teacher import Taught, first_states, taught_by
from through_encoder import Asked, Task, Tasks, cross_bias
from train_reading import ALPHA as READING_ALPHA, RANK as READING_RANK

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


SCALE = {"cpu": Scale((4,), (5,), 40, (0, 0, 0, 0, 1, 4), 0), "cuda": Scale((32,), (40,), 200, (0, 0, 1, 2, 5, 9, 19), 8)}[DEVICE]
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


def stage_one(base: Base, args: argparse.Namespace) -> Decoder:
    decoder, checkpoint = Decoder(base, READING_RANK, READING_ALPHA), args.runs / "reading.pt"
    if checkpoint.exists() or not args.adapter:
        decoder.load_state_dict(torch.load(checkpoint, weights_only=True, map_location=DEVICE)["model"])
    else:
        load_adapter(decoder, args.adapter)
    return decoder


class Lessons:
    """The losses of a step in each part, and running averages of what they show."""

    def __init__(self, reader: Reader, tasks: Tasks):
        self.reader, self.tasks = reader, tasks
        self.first = first_states(reader.decoder[0], tasks.prompts.question("")[0])
        self.average: dict[str, Tensor] = {}

    def note(self, **values: float | Tensor) -> None:
        for name, value in values.items():
            value = torch.as_tensor(value).detach()
            self.average[name] = 0.95 * self.average.get(name, value) + 0.05 * value

    def taught(self, asked: Asked) -> Taught:
        return taught_by(self.reader.decoder[0], asked.rows, list(map(len, asked.passages)))

    def begin(self) -> None:
        passages, steps = FITTED
        drawn = (random.Random(f"{SEED} fitted {number}") for number in range(passages // 4))
        fit_keys_and_values(self.reader, (self.keys_of(self.tasks.encoded(self.tasks.passages(4, rng))) for rng in drawn))
        fit_heads(self.reader, (self.heads_of(random.Random(f"{SEED} heads {number}")) for number in range(steps)))

    def keys_of(self, passages: list[list[int]]) -> tuple[Tensor, Tensor, Tensor]:
        kv = taught_by(self.reader.decoder[0], [Row(ids, []) for ids in passages], list(map(len, passages))).kv
        states, owner = self.reader.encode(passages)
        return states, kv, token_weights(owner)

    def heads_of(self, rng: random.Random):
        asked = self.tasks.asked(rng.choice(SCALE.few), SCALE.questions, (0,), rng)
        states, owner = self.reader.encode(asked.passages)
        return missing_of(self.reader, asked.task, self.taught(asked), self.first), states, cross_bias(asked.task, owner), asked.weights

    def keys(self, passages: list[list[int]]) -> Tensor:
        missed = of_keys_and_values(self.reader, *self.keys_of(passages)).mean(0)
        self.note(keys=missed[0], values=missed[1])
        return missed.sum()

    def loss(self, asked: Asked, layerwise: bool) -> tuple[Tensor, Tensor, Tensor]:
        """Also the encoder's states and their passages, for further tasks."""
        reader, task, taught = self.reader, asked.task, self.taught(asked)
        states, owner = reader.encode(asked.passages)
        bias = cross_bias(task, owner)
        missed = of_keys_and_values(reader, states, taught.kv, token_weights(owner)).mean(0)
        self.note(keys=missed[0], values=missed[1])
        if layerwise:
            attention = of_attention(reader, missing_of(reader, task, taught, self.first), states, bias, asked.weights).mean()
            self.note(attention=attention)
            return ATTENTION * attention + missed.sum(), states, owner
        layers = reader.layers(task.ids, task.positions, task.bias, states, bias)
        weights = asked.weights * (task.positions[0] != 0)
        apart = of_states(reader, taught.after, layers, weights / weights.sum())
        self.note(states=apart)
        answers = self.answers(task, reader.normed(layers[-1]), "exact", reader.normed(taught.after[-1]))
        return answers + STATES * apart + KEYS_AND_VALUES * missed.sum(), states, owner

    def prompted(self, task: Task, states: Tensor, owner: Tensor) -> Tensor:
        hidden = self.reader.hidden(task.ids, task.positions, task.bias, states, cross_bias(task, owner))
        return self.answers(task, hidden, "prompted")

    def answers(self, task: Task, hidden: Tensor, name: str, teacher: Tensor | None = None) -> Tensor:
        """The answers' cross-entropy; with the teacher's normed states [N,d] also the divergence from its distributions (Hinton et al. 2015)."""
        decoder = self.reader.decoder[0]
        logits = decoder.logits(hidden.flatten(0, 1)[task.at])
        self.note(**{name: self.exact(task, logits)})
        loss = F.cross_entropy(logits, task.targets)
        if teacher is None:
            return loss
        with torch.no_grad():
            wanted = decoder.logits(teacher[task.at])
            self.note(teacher=self.exact(task, wanted))
        return (loss + F.kl_div(logits.log_softmax(-1), wanted.softmax(-1), reduction="batchmean")) / 2

    def exact(self, task: Task, logits: Tensor) -> Tensor:
        """The share of questions of which each answer token is the likeliest."""
        wrong = torch.zeros(task.branches).index_add(0, task.branch, (logits.argmax(-1) != task.targets).float())
        return (wrong == 0).float().mean()


def main() -> None:
    args = arguments()
    torch.set_num_threads(args.threads)
    torch.manual_seed(SEED)
    base = open_base(args.base)
    prompts, reader = Prompts(base.tokenizer()), Reader(stage_one(base, args), LAYERS, RANK, ALPHA)
    adapters = [p for name, p in reader.named_parameters() if "lora_" in name]
    others = [p for name, p in reader.named_parameters() if "lora_" not in name]
    optimizer = torch.optim.AdamW([{"params": others, "of": 1.0}, {"params": adapters, "of": 2.0}], betas=(0.9, 0.98), weight_decay=0.0)
    run = Run(args, "encoder.pt", reader, optimizer)
    tasks = Tasks(prompts, Rows(prompts, load_paragraphs(args.data)))
    lessons = Lessons(reader, tasks)
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
        rng = random.Random(f"{SEED} {run.step}")
        for group in optimizer.param_groups:
            group["lr"] = args.lr * group["of"] * run.rate(WARMUP, DECAY, 0.02) * (1 if done < LAYERWISE else WHOLE)
        if done < KEYS:
            lessons.keys(tasks.encoded(tasks.passages(SCALE.many[-1], rng))).backward()
        else:
            layerwise = done < LAYERWISE
            asked = tasks.asked(rng.choice(SCALE.few if layerwise else SCALE.many), SCALE.questions, (0,) if layerwise else SCALE.others, rng)
            loss, states, owner = lessons.loss(asked, layerwise)
            if SCALE.prompted_rows and done > PROMPTED and run.step % 3 == 0:
                loss = loss + lessons.prompted(tasks.beside_prompt(asked.shown, SCALE.prompted_rows, 12, rng), states, owner)
            loss.backward()
            run.asked += asked.task.branches
        torch.nn.utils.clip_grad_norm_([*others, *adapters], 20.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        run.end_step(measure if args.development else None)
        if run.step % 10 == 0:
            figures = " ".join(f"{name} {value:.3f}" for name, value in lessons.average.items())
            print(f"step {run.step} questions {run.asked} {run.seconds:.0f}s {figures}", flush=True)
    run.save()
    if args.development:
        print(f"step {run.step} development {measure(200, (1, 3, 10))}", flush=True)


if __name__ == "__main__":
    main()
