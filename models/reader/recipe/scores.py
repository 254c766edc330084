"""Exact match on paragraphs that were never trained on, the right one alone in the prompt (greedy decoding)."""

import csv
import json
import random
import re
import string
from pathlib import Path

import torch

from base_model import Decoder
from reading import Paragraph, Prompts

MAX_NEW_TOKENS = 16


def normalised(text: str) -> str:
    """SQuAD's normalisation: lower case, no punctuation, no articles, single spaces."""
    bare = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


def load_development(folder: Path, count: int) -> list[tuple[Paragraph, str, list[str]]]:
    with open(folder / "passages.tsv", encoding="utf-8", newline="") as file:
        passages = {r["id"]: Paragraph(r["title"], r["text"], ()) for r in csv.DictReader(file, delimiter="\t")}
    rows = [json.loads(line) for line in (folder / "questions.jsonl").read_text("utf-8").splitlines()]
    random.Random(5).shuffle(rows)
    return [(passages[row["passage_id"]], row["question"], row["answer"]) for row in rows[:count]]


@torch.no_grad()
def answer_of(model: Decoder, prompts: Prompts, passages: list[Paragraph], question: str) -> str:
    ids = prompts.prefix(passages) + prompts.question(question, bool(passages))
    newline, out = prompts.ids("\n")[0], []
    while len(out) < MAX_NEW_TOKENS:
        tokens = torch.tensor([ids + out])
        bias = torch.full((tokens.shape[1],) * 2, -1e4, dtype=torch.bfloat16).triu(1)[None, None]
        hidden = model.hidden(tokens, torch.arange(tokens.shape[1]), bias)
        token = int(model.logits(hidden[0, -1:]).argmax())
        if token in (newline, 2):
            break
        out.append(token)
    return prompts.tokenizer.decode(out).strip()


def exact_match(model: Decoder, prompts: Prompts, rows: list[tuple[Paragraph, str, list[str]]]) -> float:
    hits = [normalised(answer_of(model, prompts, [p], q)) in {normalised(a) for a in answers} for p, q, answers in rows]
    return sum(hits) / len(hits)
