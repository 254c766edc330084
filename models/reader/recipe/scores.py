"""Exact match on paragraphs that were never trained on (greedy decoding): the right one alone in the prompt, or in the encoder."""

import csv
import json
import random
import re
import string
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor

from cepe import Cepe
from reader_model import encode
from reading import Paragraph, Prompts, Row, pack, predicted
from through_encoder import context_of, task_of

MAX_NEW_TOKENS = 16
BATCH = 20
NEXT = [0]  # a place for the next token


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


def batches(rows: list) -> Iterator[list]:
    return (rows[i : i + BATCH] for i in range(0, len(rows), BATCH))


@torch.no_grad()
def greedy(prompts: Prompts, asked: list[Row], logits_of: Callable[[list[Row], list[int]], Tensor]) -> list[str]:
    """The answers to rows of one question each; `logits_of` some of them, also by number, gives [rows,vocabulary] at their last tokens."""
    out, open_ = [[] for _ in asked], list(range(len(asked)))
    for _ in range(MAX_NEW_TOKENS):
        rows = [Row(asked[i].prefix, [(asked[i].branches[0][0] + out[i], NEXT)]) for i in open_]
        for i, token in zip(list(open_), logits_of(rows, open_).argmax(-1).tolist(), strict=True):
            out[i].append(token)
            text = prompts.tokenizer.decode([token])
            if text == "" or "\n" in text:  # special tokens are not decoded
                open_.remove(i)
        if not open_:
            break
    return [prompts.tokenizer.decode(tokens).split("\n")[0].strip() for tokens in out]


def share_right(answers: list[str], rows: list[tuple[Paragraph, str, list[str]]]) -> float:
    hits = [normalised(given) in {normalised(a) for a in wanted} for given, (_, _, wanted) in zip(answers, rows, strict=True)]
    return sum(hits) / len(hits)


@torch.no_grad()
def exact_match(model: Cepe, prompts: Prompts, rows: list[tuple[Paragraph, str, list[str]]]) -> float:
    """The right passage alone in the prompt."""
    answers = []
    for some in batches(rows):
        asked = [Row(prompts.prefix([p]), [(prompts.question(q), NEXT)]) for p, q, _ in some]
        answers += greedy(prompts, asked, lambda open_rows, _: predicted(model, pack(open_rows)))
    return share_right(answers, rows)


@torch.no_grad()
def through_encoder(reader: Cepe, prompts: Prompts, rows: list[tuple[Paragraph, str, list[str]]], passages: int) -> float:
    """Nothing in the prompt, the right passage among `passages` in the encoder."""
    rng, pool, answers = random.Random(9), [row[0] for row in rows], []
    for some in batches(rows):
        shown = []
        for passage, _, _ in some:
            shown += rng.sample(rng.sample([p for p in pool if p.text != passage.text], passages - 1) + [passage], passages)
        states, owner = encode(reader, [prompts.encoded(p) for p in shown])
        asked = [Row([], [(prompts.question(q), NEXT)]) for _, q, _ in some]
        own = torch.eye(len(some), dtype=torch.bool).repeat_interleave(passages, 1)

        def logits_of(open_rows: list[Row], numbers: list[int]) -> Tensor:
            task = task_of(open_rows, own[numbers])
            return predicted(reader, task, context_of(task, states, owner))

        answers += greedy(prompts, asked, logits_of)
    return share_right(answers, rows)
