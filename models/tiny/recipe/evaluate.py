"""Retrieval as the service computes it, for the log of the retriever's training. The reader is evaluated through the service."""

import csv
import json
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor

from contriever import Contriever
from packing import pad_passages


@dataclass(frozen=True)
class CorpusPassage:
    id: str
    title: str
    text: str


def load_corpus(path: Path) -> list[CorpusPassage]:
    with open(path, encoding="utf-8", newline="") as file:
        return [CorpusPassage(r["id"], r["title"], r["text"]) for r in csv.DictReader(file, delimiter="\t")]


def load_questions(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def span_tokens(text: str) -> list[str]:
    return re.findall(r"[\w]+|[^\w\s]", unicodedata.normalize("NFD", text).lower())


def has_answer(text: str, answers: list[str]) -> bool:
    """Token-span match after NFD normalisation, as DPR and Contriever count it."""
    tokens = span_tokens(text)
    for answer in map(span_tokens, answers):
        if any(tokens[i : i + len(answer)] == answer for i in range(len(tokens) - len(answer) + 1)):
            return True
    return False


@torch.no_grad()
def embed_all(model: Contriever, tokenizer: Tokenizer, texts: list[str], longest: int = 256) -> Tensor:
    """[n,d], batched by length."""
    ids = [e.ids if len(e.ids) <= longest else e.ids[: longest - 1] + e.ids[-1:] for e in tokenizer.encode_batch(texts)]
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    out = torch.zeros(len(ids), model.config.hidden_size)
    for start in range(0, len(order), 64):
        chosen = order[start : start + 64]
        out[chosen] = model(*pad_passages([ids[i] for i in chosen])).float()
    return out


def retrieve(
    model: Contriever, tokenizer: Tokenizer, corpus: list[CorpusPassage], questions: list[str], k: int
) -> tuple[Tensor, Tensor]:
    """Scores and indices [questions,k] of the best passages, best first."""
    passages = embed_all(model, tokenizer, [f"{p.title} {p.text}" for p in corpus])
    top = (embed_all(model, tokenizer, questions) @ passages.T).topk(min(k, len(corpus)))
    return top.values, top.indices


def recall(model: Contriever, tokenizer: Tokenizer, corpus: list[CorpusPassage], path: Path, ks: tuple[int, ...]) -> dict[int, float]:
    rows = load_questions(path)
    _, found = retrieve(model, tokenizer, corpus, [r["question"] for r in rows], max(ks))
    hits = []
    for row, indices in zip(rows, found.tolist(), strict=True):
        hits.append([has_answer(f"{corpus[i].title} {corpus[i].text}", row["answer"]) for i in indices])
    return {k: round(sum(any(h[:k]) for h in hits) / len(hits), 3) for k in ks}
