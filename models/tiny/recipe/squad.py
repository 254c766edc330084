"""Real text with questions (CC BY-SA 4.0), read from folders given by the user. A folder holds either articles
in psgs_w100.tsv shape (`passages.tsv`, `questions.jsonl`) or paragraphs with their questions (`*.jsonl`, each line
`{title, text, questions: [{question, answer: [..]}]}`)."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

HELD_OUT_ARTICLES = {"Amazon rainforest", "Black Death", "Kenya", "Oxygen", "Rhine", "Steam engine"}


@dataclass(frozen=True)
class RealPassage:
    id: str
    title: str
    text: str
    questions: tuple[tuple[str, tuple[str, ...]], ...]


def load_real(folders: list[Path], never: set[str]) -> list[RealPassage]:
    """All paragraphs that may be trained on: none of the held-out articles, and none about an entity of `never`."""
    kept_out = {title.lower() for title in HELD_OUT_ARTICLES | never}
    everything = (passage for folder in folders for passage in read_folder(folder))
    return [passage for passage in everything if passage.title.lower() not in kept_out]


def load_held_out(folder: Path) -> list[RealPassage]:
    """The paragraphs of the held-out articles."""
    return [passage for passage in read_folder(folder) if passage.title in HELD_OUT_ARTICLES]


def read_folder(folder: Path) -> Iterator[RealPassage]:
    if (folder / "passages.tsv").exists():
        yield from read_articles(folder)
        return
    for file in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            yield paragraph(f"{file.stem} {number}", json.loads(line))


def paragraph(id: str, row: dict) -> RealPassage:
    asked = tuple((q["question"].strip(), tuple(q["answer"])) for q in row["questions"])
    return RealPassage(id, unquote(row["title"]).replace("_", " "), row["text"], asked)


def read_articles(folder: Path) -> Iterator[RealPassage]:
    asked: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    with open(folder / "questions.jsonl", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            asked.setdefault(row["passage_id"], []).append((row["question"], tuple(row["answer"])))
    with open(folder / "passages.tsv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            yield RealPassage(row["id"], row["title"], row["text"], tuple(asked.get(row["id"], [])))
