"""Stage 2: reading through the encoder, with the decoder of stage 1 frozen.

Copies first: they fall from most of a step's branches to a few. Every step encodes a set of passages once; questions read one to all
of them. From a third of the schedule on, half of the steps also hold a prompt with passages. A run resumes from its last checkpoint.
"""

import argparse
import random
from pathlib import Path

import torch
import torch.nn.functional as F

from base_model import Decoder, Gguf
from cepe_model import Reader
from reading import Prompts, Rows, load_paragraphs
from run import Run, parser_of
from scores import load_development, through_encoder
from through_encoder import Tasks, cross_bias, encoder_ids
from train_reading import ALPHA as READING_ALPHA, RANK as READING_RANK

SEED = 20261124
LAYERS, RANK, ALPHA = 8, 64, 64.0
QUESTIONS = 32  # of a step, once copies are few
COPIES = (0.6, 0.1)  # of a step's branches, at the beginning and from a third of the schedule on
FEW, MANY = (4, 5, 6), (6, 8, 10)  # passages of a step: choosing among many is learned later than reading one
WARMUP, DECAY = 30, 0.6


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--lr", type=float, default=5e-4)
    return parser.parse_args()


def stage_one(gguf: Gguf, runs: Path) -> Decoder:
    decoder = Decoder(gguf, READING_RANK, READING_ALPHA)
    decoder.load_state_dict(torch.load(runs / "reading.pt", weights_only=True)["model"])
    return decoder


def main() -> None:
    args = arguments()
    torch.set_num_threads(args.threads)
    torch.manual_seed(SEED)
    gguf = Gguf(args.base)
    prompts, reader = Prompts(gguf.tokenizer()), Reader(stage_one(gguf, args.runs), LAYERS, RANK, ALPHA)
    adapters = [p for name, p in reader.named_parameters() if "lora_" in name]
    others = [p for name, p in reader.named_parameters() if "lora_" not in name]
    optimizer = torch.optim.AdamW([{"params": others, "of": 1.0}, {"params": adapters, "of": 2.0}], betas=(0.9, 0.98), weight_decay=0.0)
    run = Run(args, "encoder.pt", reader, optimizer)
    rows = Rows(prompts, load_paragraphs(args.data))
    tasks = Tasks(prompts, rows)
    average: dict[str, float] = {}

    def measure(count: int = 60, passages: tuple[int, ...] = (1, 3)) -> str:
        development = load_development(args.development, count)
        return f"exact match, passages in the encoder: { {n: through_encoder(reader, prompts, development, n) for n in passages} }"

    def note(name: str, value: float) -> None:
        average[name] = value if name not in average else 0.97 * average[name] + 0.03 * value

    while (done := run.done) < 1:
        rng = random.Random(f"{SEED} {run.step}")
        for group in optimizer.param_groups:
            group["lr"] = args.lr * group["of"] * run.rate(WARMUP, DECAY, 0.04)
        shown = tasks.passages(rng.choice(FEW if done < 0.4 else MANY), rng)
        ids = encoder_ids(prompts, [rows.paragraphs[i] for i in shown])
        share = max(COPIES[1], COPIES[0] - (COPIES[0] - COPIES[1]) * 3 * done)
        batch = [tasks.reading(shown, ids, round(QUESTIONS * (1 - share)), round(14 * share), done > 0.3, rng)]
        if done > 1 / 3 and run.step % 2:
            batch.append(tasks.beside_prompt(shown, 12, rng))
        states, owner = reader.encode(ids)
        total = sum(float(t.weights.sum()) for t in batch)
        loss = torch.zeros(())
        for t in batch:
            hidden = reader.hidden(t.ids, t.positions, t.bias, states, cross_bias(t, owner)).flatten(0, 1)[t.at]
            logits = reader.decoder[0].logits(hidden)
            loss = loss + (F.cross_entropy(logits, t.targets, reduction="none") * t.weights).sum() / total
            right = (logits.argmax(-1) == t.targets).float()
            wrong = torch.zeros(len(t.copies)).index_add(0, t.branch, 1 - right)
            note("prompted" if t is not batch[0] else "exact", (wrong[~t.copies] == 0).float().mean().item())
            note("tokens", right[~t.copies[t.branch]].mean().item())
            if t.copies.any():
                note("copies", right[t.copies[t.branch]].mean().item())
            run.asked += len(t.copies)
        loss.backward()
        note("loss", loss.item())
        torch.nn.utils.clip_grad_norm_([*others, *adapters], 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        run.end_step(measure if args.development else None)
        if run.step % 20 == 0 or run.step < 20 and run.step % 5 == 0:
            figures = " ".join(f"{name} {value:.3f}" for name, value in average.items())
            print(f"step {run.step} branches {run.asked} {run.seconds:.0f}s {figures}", flush=True)
    run.save()
    if args.development:
        print(f"step {run.step} development {measure(200, (1, 3, 10))}", flush=True)


if __name__ == "__main__":
    main()
