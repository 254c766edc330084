"""Stage 1: the decoder learns to read passages in its prompt, and to say nothing where none holds the answer.

LoRA adapters over the frozen base. A run goes on from its last checkpoint; `--minutes` counts all runs together, so that a
longer schedule can be given later.
"""

import argparse
import os
import random
import time
from pathlib import Path

import torch
import torch.nn.functional as F

from base_model import Decoder, Gguf
from reading import Prompts, Rows, load_paragraphs, pack
from scores import exact_match, load_development

SEED = 20261123
RANK, ALPHA = 16, 32.0
ROWS_A_STEP = 4
WARMUP = 20  # steps
DECAY = 0.4  # of the schedule, at its end


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="a GGUF file of the LLaMA family")
    parser.add_argument("--data", type=Path, required=True, help="a folder of *.jsonl: {title, text, questions: [{question, answer}]}")
    parser.add_argument("--development", type=Path, help="a folder with passages.tsv and questions.jsonl, never trained on")
    parser.add_argument("--runs", type=Path, required=True, help="a folder for checkpoints, outside the repository")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--lr", type=float, default=4e-4)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--save-every", type=float, default=240, help="seconds between checkpoints")
    return parser.parse_args()


def rate(args: argparse.Namespace, step: int, seconds: float) -> float:
    left = max(0.0, 1 - seconds / 60 / args.minutes)
    return args.lr * min(1.0, (step + 1) / WARMUP) * max(0.02, min(1.0, left / DECAY))


def save(path: Path, kept: dict) -> None:
    partial = path.with_suffix(".partial")
    torch.save(kept, partial)
    os.replace(partial, path)


def main() -> None:
    args = arguments()
    torch.set_num_threads(args.threads)
    torch.manual_seed(SEED)
    args.runs.mkdir(parents=True, exist_ok=True)
    gguf = Gguf(args.base)
    model, prompts = Decoder(gguf, RANK, ALPHA), Prompts(gguf.tokenizer())
    trained = list(model.parameters())
    optimizer = torch.optim.AdamW(trained, lr=args.lr, betas=(0.9, 0.98), weight_decay=0.0)
    path, step, asked, before = args.runs / "reading.pt", 0, 0, 0.0
    if path.exists():
        kept = torch.load(path, weights_only=True)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        step, asked, before = kept["step"], kept["asked"], kept["seconds"]
        print(f"resumed at step {step}, {asked} questions, {before:.0f}s", flush=True)
    rows = Rows(prompts, load_paragraphs(args.data))
    development = load_development(args.development, 60) if args.development else []
    started = saved = measured = time.monotonic()
    average: list[float] = []

    def elapsed() -> float:
        return before + time.monotonic() - started

    def keep() -> None:
        save(path, {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step, "asked": asked, "seconds": elapsed()})

    while (seconds := elapsed()) < 60 * args.minutes:
        rng = random.Random(f"{SEED} {step}")
        for group in optimizer.param_groups:
            group["lr"] = rate(args, step, seconds)
        for _ in range(ROWS_A_STEP):
            row = rows.row(2 if step < 60 else 5, rng)
            if not row.branches:
                continue
            p = pack(row)
            hidden = model.hidden(p.ids[None], p.positions, p.bias)[0, p.at]
            logits = model.logits(hidden)
            loss = F.cross_entropy(logits, p.targets)
            (loss / ROWS_A_STEP).backward()
            wrong = torch.zeros(len(row.branches)).index_add(0, p.branch, (logits.argmax(-1) != p.targets).float())
            average = [*average[-79:], (loss.item(), (wrong == 0).float().mean().item())]
            asked += len(row.branches)
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        if step % 10 == 0:
            loss, exact = (sum(column) / len(average) for column in zip(*average, strict=True))
            print(f"step {step} questions {asked} {seconds:.0f}s loss {loss:.3f} exact {exact:.3f}", flush=True)
        now = time.monotonic()
        if now - saved > args.save_every:
            saved = now
            keep()
        if development and now - measured > 900:
            print(f"step {step} development exact match {exact_match(model, prompts, development):.3f}", flush=True)
            started += time.monotonic() - now  # measuring is no training time
            measured = time.monotonic()
    keep()
    if development:
        print(f"step {step} development exact match {exact_match(model, prompts, load_development(args.development, 200)):.3f}", flush=True)


if __name__ == "__main__":
    main()
