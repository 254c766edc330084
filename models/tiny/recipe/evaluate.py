"""Retrieval, exact match and confidence as the service computes them, for logs and the model card.

    python evaluate.py --corpus passages.tsv --questions test.jsonl --unanswerable unanswerable.jsonl
"""

import argparse
import csv
import json
import re
import string
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor

from checkpoints import load_cepe, load_contriever
from contriever import Contriever
from generate import Generated, greedy
from model import Cepe
from packing import Prompts, pad_passages
from settings import WINDOW


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


def normalize_answer(text: str) -> str:
    """SQuAD's normalisation: lower case, no punctuation, no articles, single spaces."""
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def exact_match(prediction: str, answers: list[str]) -> bool:
    return any(normalize_answer(prediction) == normalize_answer(a) for a in answers)


def f1(prediction: str, answers: list[str]) -> float:
    def one(answer: str) -> float:
        guess, gold = normalize_answer(prediction).split(), normalize_answer(answer).split()
        common = sum(min(guess.count(w), gold.count(w)) for w in set(guess))
        return 2 * common / (len(guess) + len(gold)) if common else 0.0

    return max(map(one, answers))


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


class Reader:
    """Answers from passages: the first `k_decoder` in the prompt as far as they fit, the others through
    the encoder. Encoder states are kept, since they do not depend on the question."""

    def __init__(self, model: Cepe, prompts: Prompts, corpus: list[CorpusPassage]):
        self.model, self.prompts = model, prompts
        self.corpus = corpus
        self.states: dict[int, Tensor] = {}
        self.stops = {prompts.ids("\n")[0]}

    @torch.no_grad()
    def encoded(self, index: int) -> Tensor:
        if index not in self.states:
            passage = self.corpus[index]
            ids = torch.tensor([self.prompts.passage(passage.title, passage.text)])
            self.states[index] = self.model.encode(ids, torch.ones_like(ids, dtype=torch.bool))
        return self.states[index]

    def answer(self, question: str, found: list[int], k_decoder: int, use_encoder: bool) -> Generated:
        room = WINDOW - 25 - 1 - len(self.prompts.branch(question, True))
        blocks: list[list[int]] = []
        for index in found[:k_decoder]:
            block = self.prompts.passage(self.corpus[index].title, self.corpus[index].text)
            if sum(len(b) + 2 for b in blocks) + len(block) + 2 > room:
                break
            blocks.append(block)
        rest = found[len(blocks) :] if use_encoder else []
        phi = torch.cat([self.encoded(i) for i in rest]) if rest else None
        prompt = self.prompts.prefix(blocks) + self.prompts.branch(question, bool(blocks))
        return greedy(self.model, prompt, phi, self.stops)

    def text(self, generated: Generated) -> str:
        return self.prompts.tokenizer.decode(generated.ids).strip()


def auroc(right: list[float], unanswerable: list[float]) -> float:
    """Chance that a right answer is more confident than an answer to an unanswerable question."""
    pairs = [(a > b) + 0.5 * (a == b) for a in right for b in unanswerable]
    return sum(pairs) / len(pairs)


@dataclass(frozen=True)
class Score:
    em: float
    f1: float
    right: list[float]
    misses: list[tuple[str, str, list[str]]]


def score(reader: Reader, rows: list[dict], found: list[list[int]], k: int, k_decoder: int, use_encoder: bool) -> Score:
    exact, overlap, right, misses = [], [], [], []
    for row, indices in zip(rows, found, strict=True):
        generated = reader.answer(row["question"], indices[:k], k_decoder, use_encoder)
        text = reader.text(generated)
        exact.append(exact_match(text, row["answer"]))
        overlap.append(f1(text, row["answer"]))
        if exact[-1]:
            right.append(generated.confidence)
        else:
            misses.append((row["question"], text, row["answer"]))
    return Score(sum(exact) / len(exact), sum(overlap) / len(overlap), right, misses)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, default=Path(__file__).parent.parent / "checkpoint")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--unanswerable", type=Path)
    parser.add_argument("--limit", type=int, help="only so many questions, spread over the file")
    parser.add_argument("--k", type=int, nargs="+", default=[10, 20, 40])
    parser.add_argument("--k-decoder", type=int, nargs="+", default=[0])
    parser.add_argument("--misses", type=int, default=0, help="wrong answers to print")
    args = parser.parse_args()
    torch.set_num_threads(1)
    corpus, rows = load_corpus(args.corpus), load_questions(args.questions)
    if args.limit:
        rows = rows[:: max(1, len(rows) // args.limit)]
    contriever, words = load_contriever(args.checkpoint / "contriever")
    cepe, prompts = load_cepe(args.checkpoint / "cepe")
    reader = Reader(cepe, prompts, corpus)
    _, top = retrieve(contriever, words, corpus, [r["question"] for r in rows], 50)
    found = top.tolist()
    hits = [[has_answer(f"{corpus[i].title} {corpus[i].text}", r["answer"]) for i in f] for r, f in zip(rows, found, strict=True)]
    print(f"{len(rows)} questions, recall", {k: round(sum(any(h[:k]) for h in hits) / len(hits), 3) for k in (1, 5, 10, 20, 50)})
    closed = score(reader, rows, found, 0, 0, False)
    alone = score(reader, rows, found, 40, 40, False)
    print(f"closed-book EM {closed.em:.3f} F1 {closed.f1:.3f}; decoder-only EM {alone.em:.3f} F1 {alone.f1:.3f}", flush=True)
    for k_decoder in args.k_decoder:
        for k in args.k:
            result = score(reader, rows, found, k, k_decoder, True)
            line = f"k {k} k_decoder {k_decoder} EM {result.em:.3f} F1 {result.f1:.3f}"
            if args.unanswerable and result.right:
                none = load_questions(args.unanswerable)
                _, away = retrieve(contriever, words, corpus, [r["question"] for r in none], k)
                doubts = [reader.answer(r["question"], f, k_decoder, True).confidence for r, f in zip(none, away.tolist(), strict=True)]
                line += f" AUROC {auroc(result.right, doubts):.3f}"
            print(line, flush=True)
            for question, text, answers in result.misses[: args.misses]:
                print(f"    {question} -> {text} (not {answers})")


if __name__ == "__main__":
    main()
