"""Exact match on paragraphs that were never trained on (greedy decoding): the right one alone in the prompt, or in the encoder."""

import csv
import json
import random
import re
import string
from pathlib import Path

import torch

from base_model import COMPUTED_IN, Decoder
from cepe_model import Reader
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
        bias = torch.full((tokens.shape[1],) * 2, -1e4, dtype=COMPUTED_IN).triu(1)[None, None]
        hidden = model.hidden(tokens, torch.arange(tokens.shape[1]), bias)
        token = int(model.logits(hidden[0, -1:]).argmax())
        if token in (newline, 2):
            break
        out.append(token)
    return prompts.tokenizer.decode(out).strip()


def exact_match(model: Decoder, prompts: Prompts, rows: list[tuple[Paragraph, str, list[str]]]) -> float:
    hits = [normalised(answer_of(model, prompts, [p], q)) in {normalised(a) for a in answers} for p, q, answers in rows]
    return sum(hits) / len(hits)


@torch.no_grad()
def through_encoder(reader: Reader, prompts: Prompts, rows: list[tuple[Paragraph, str, list[str]]], passages: int) -> float:
    """The share answered exactly with nothing in the prompt, the right passage among `passages` in the encoder."""
    rng, pool, hits, newline = random.Random(9), [row[0] for row in rows], 0, prompts.ids("\n")[0]
    for passage, question, answers in rows:
        shown = rng.sample([p for p in pool if p.text != passage.text], passages - 1) + [passage]
        states, _ = reader.encode([prompts.prefix([p]) for p in rng.sample(shown, passages)])
        ids, out = prompts.question(question, False), []
        while len(out) < MAX_NEW_TOKENS:
            tokens = torch.tensor([ids + out])
            length = tokens.shape[1]
            bias = torch.full((length, length), -1e4, dtype=COMPUTED_IN).triu(1)[None, None]
            free = torch.zeros(1, 1, length, len(states), dtype=COMPUTED_IN)
            hidden = reader.hidden(tokens, torch.arange(length), bias, states, free)
            token = int(reader.decoder[0].logits(hidden[0, -1:]).argmax())
            if token in (newline, 2):
                break
            out.append(token)
        hits += normalised(prompts.tokenizer.decode(out)) in {normalised(a) for a in answers}
    return hits / len(rows)
