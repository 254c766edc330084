"""Real text (SQuAD's articles in psgs_w100.tsv shape, CC BY-SA 4.0), read from a folder given by the user."""

import csv
import json
from dataclasses import dataclass
from pathlib import Path

HELD_OUT_ARTICLES = {"Amazon rainforest", "Black Death", "Kenya", "Oxygen", "Rhine", "Steam engine"}


@dataclass(frozen=True)
class RealPassage:
    id: str
    title: str
    text: str
    questions: tuple[tuple[str, tuple[str, ...]], ...]


def load_squad(folder: Path, held_out: bool) -> list[RealPassage]:
    """The passages of the articles kept out of training, or those of all the others."""
    asked: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    with open(folder / "questions.jsonl", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            asked.setdefault(row["passage_id"], []).append((row["question"], tuple(row["answer"])))
    with open(folder / "passages.tsv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [
        RealPassage(r["id"], r["title"], r["text"], tuple(asked.get(r["id"], [])))
        for r in rows
        if (r["title"] in HELD_OUT_ARTICLES) == held_out
    ]
