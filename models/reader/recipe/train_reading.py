"""Stage 1: the decoder learns to read passages in its prompt, and to say nothing where none holds the answer.

LoRA adapters over the frozen base. A run goes on from its last checkpoint; `--minutes` counts all runs together, so that a
longer schedule can be given later.
"""

import argparse
import random
from collections.abc import Iterator

import shared  # noqa: F401

import torch
import torch.nn.functional as F
from torch import Tensor

from bases import open_base
from cepe import Cepe, Projection
from optimiser import accumulate
from reader_model import DEVICE, load_adapter, new_decoder
from reading import REFUSED, Prompts, Row, Rows, exact, load_paragraphs, pack, predicted
from schedule import TimedRun, parser_of
from scores import exact_match, load_development

SEED = 20261123
FACTOR = 2.0  # of an adapter: alpha over rank
WARMUP = 20  # steps
DECAY = 0.4  # of the schedule, at its end


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--lr", type=float, default=4e-4)
    parser.add_argument("--rank", type=int, default=16, help="of the adapters: their size grows with it")
    parser.add_argument("--passages", type=int, default=5, help="of a row, at most: 1 trains a reader of one passage at a time fastest")
    parser.add_argument("--refused", type=float, default=REFUSED, help="share of the questions that no passage shown answers")
    parser.add_argument("--rows", type=int, default={"cpu": 4, "cuda": 32}[DEVICE.type], help="of a step")
    return parser.parse_args()


def drawn(rows: Rows, count: int, most: int, rng: random.Random) -> list[Row]:
    """Rows that have questions."""
    out: list[Row] = []
    while len(out) < count:
        row = rows.row(most, rng)
        out += [row] if row.branches else []
    return out


def losses(model: Cepe, parts: list[list[Row]], run: TimedRun) -> Iterator[Tensor]:
    for some in parts:
        packed = pack(some)
        logits = predicted(model, packed)
        loss = F.cross_entropy(logits, packed.targets)
        run.note(loss=loss, exact=exact(packed, logits))
        run.asked += packed.questions
        yield loss


def main() -> None:
    args = arguments()
    torch.set_num_threads(args.threads)
    torch.manual_seed(SEED)
    base, paragraphs, alpha = open_base(args.base), load_paragraphs(args.data), FACTOR * args.rank
    model, prompts = new_decoder(base, args.rank, alpha), Prompts(base.tokenizer())
    print(f"{args.base.name}: {base.config.num_hidden_layers} layers, computed in {Projection.kind}", flush=True)
    run = TimedRun(args, "reading.pt", model, {"rank": args.rank, "alpha": alpha})
    if args.adapter and not run.resumed:
        load_adapter(model, args.adapter)
    rows = Rows(prompts, paragraphs, args.refused)
    measure = lambda count=60: f"exact match {exact_match(model, prompts, load_development(args.development, count)):.3f}"
    while run.done < 1:
        most = min(args.passages, 2 if run.step < 60 and not args.adapter else 5)
        asked = drawn(rows, args.rows, most, random.Random(f"{SEED} {run.step}"))
        parts = [asked] if DEVICE.type == "cuda" else [[row] for row in asked]
        accumulate(losses(model, parts, run), len(parts))
        run.learn(run.rate(WARMUP, DECAY), 1.0, measure)
    run.save()
    if args.development:
        print(f"step {run.step} development {measure(200)}", flush=True)


if __name__ == "__main__":
    main()
