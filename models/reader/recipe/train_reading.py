"""Stage 1: the decoder learns to read passages in its prompt, and to say nothing where none holds the answer.

LoRA adapters over the frozen base. A run goes on from its last checkpoint; `--minutes` counts all runs together, so that a
longer schedule can be given later.
"""

import argparse
import random

import torch
import torch.nn.functional as F
from torch import Tensor

from base_files import open_base
from base_model import COMPUTED_IN, DEVICE, Decoder, load_adapter
from reading import Prompts, Rows, load_paragraphs, pack
from run import Run, parser_of
from scores import exact_match, load_development

SEED = 20261123
RANK, ALPHA = 16, 32.0
WARMUP = 20  # steps
DECAY = 0.4  # of the schedule, at its end


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--lr", type=float, default=4e-4)
    parser.add_argument("--passages", type=int, default=5, help="of a row, at most: 1 trains a reader of one passage at a time fastest")
    parser.add_argument("--rows", type=int, default={"cpu": 4, "cuda": 32}[DEVICE], help="of a step")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    torch.set_num_threads(args.threads)
    torch.manual_seed(SEED)
    args.runs.mkdir(parents=True, exist_ok=True)
    base = open_base(args.base)
    model, prompts = Decoder(base, RANK, ALPHA), Prompts(base.tokenizer())
    print(f"{args.base.name}: {base.shape.layers} layers, computed in {COMPUTED_IN}", flush=True)
    trained = list(model.parameters())
    optimizer = torch.optim.AdamW(trained, lr=args.lr, betas=(0.9, 0.98), weight_decay=0.0)
    run = Run(args, "reading.pt", model, optimizer)
    if args.adapter and not run.resumed:
        load_adapter(model, args.adapter)
    rows = Rows(prompts, load_paragraphs(args.data))
    average: Tensor | None = None

    def measure(count: int = 60) -> str:
        return f"exact match {exact_match(model, prompts, load_development(args.development, count)):.3f}"

    while run.done < 1:
        rng = random.Random(f"{SEED} {run.step}")
        for group in optimizer.param_groups:
            group["lr"] = args.lr * run.rate(WARMUP, DECAY, 0.02)
        drawn = [rows.row(min(args.passages, 2 if run.step < 60 and not args.adapter else 5), rng) for _ in range(args.rows)]
        asked = [row for row in drawn if row.branches]
        losses = []
        for some in ([asked] if DEVICE == "cuda" else [[row] for row in asked]):
            p = pack(some)
            hidden = model.hidden(p.ids, p.positions, p.bias).flatten(0, 1)[p.at]
            logits, questions = model.logits(hidden), sum(len(row.branches) for row in some)
            loss = F.cross_entropy(logits, p.targets)
            (loss * len(some) / len(asked)).backward()
            wrong = torch.zeros(questions).index_add(0, p.branch, (logits.argmax(-1) != p.targets).float())
            losses.append(torch.stack([loss.detach(), (wrong == 0).float().mean()]))
            run.asked += questions
        shown = torch.stack(losses).mean(0)
        average = shown if average is None else 0.95 * average + 0.05 * shown
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        run.end_step(measure if args.development else None)
        if run.step % 10 == 0:
            loss, exact = average.tolist()
            print(f"step {run.step} questions {run.asked} {run.seconds:.0f}s loss {loss:.3f} exact {exact:.3f}", flush=True)
    run.save()
    if args.development:
        print(f"step {run.step} development {measure(200)}", flush=True)


if __name__ == "__main__":
    main()
