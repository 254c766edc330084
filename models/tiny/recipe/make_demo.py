"""Writes the demo corpus and the demo questions from the facts in `world/`.

    python make_demo.py ../../../index/corpus/passages.tsv ../../../eval/questions
"""

import csv
import json
import random
import sys
from dataclasses import dataclass
from pathlib import Path

from data import WORLD
from render import Passage, askable, entity_passages, question_text, unambiguous
from settings import SEED
from split import split_entities
from world import Entity, Kind, QuestionTemplate, load_world

WORDS = (42, 56)
PASSAGES_PER_ENTITY = (3, 4)
TEST_QUESTIONS_PER_ENTITY = 2


@dataclass(frozen=True)
class Asked:
    template: QuestionTemplate
    entity: Entity

    def row(self) -> dict:
        return {
            "question": question_text(self.template, self.entity),
            "answer": self.entity.answers(self.template.answer),
            "manner": self.template.manner,
            "kind": self.entity.kind,
            "relation": self.template.answer,
            "entity": self.entity.name,
        }


def choose(kind: Kind, entity: Entity, split: str, count: int, corpus: list[Entity], rng: random.Random) -> list[Asked]:
    """Questions about different relations, the three manners in turn."""
    options = [
        q
        for q in kind.questions
        if q.split == split and askable(q, entity) and unambiguous(q, entity, kind, corpus)
    ]
    out: list[Asked] = []
    manners = rng.sample(["nq", "trivia", "popqa"], 3)
    for number in range(count):
        taken = {asked.template.answer for asked in out}
        fitting = [q for q in options if q.manner == manners[number % 3] and q.answer not in taken]
        if fitting:
            out.append(Asked(rng.choice(fitting), entity))
    return out


def supported(asked: Asked, passages: list[Passage]) -> bool:
    return any(p.title == asked.entity.name and asked.template.needs <= p.stated for p in passages)


def mentioned_together(asked: Asked, texts: list[str]) -> bool:
    """Whether some passage mentions an entity without passages together with the answer."""
    name = asked.entity.name
    answers = asked.entity.answers(asked.template.answer)
    return any(name in text and any(answer in text for answer in answers) for text in texts)


def write_jsonl(path: Path, rows: list[dict]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def main(corpus_path: Path, questions: Path) -> None:
    kinds = {kind.name: kind for kind in load_world(WORLD)}
    parts = split_entities(list(kinds.values()))
    corpus_entities = parts["dev"] + parts["test"]
    rng = random.Random(SEED)
    asked: dict[str, list[Asked]] = {"train": [], "dev": [], "test": [], "unanswerable": []}
    passages: list[Passage] = []
    for part in ("dev", "test"):
        for entity in parts[part]:
            kind = kinds[entity.kind]
            mine = choose(kind, entity, "test", TEST_QUESTIONS_PER_ENTITY, corpus_entities, rng)
            pool = choose(kind, entity, "train", 1, corpus_entities, rng) if part == "dev" else []
            count = rng.randint(*PASSAGES_PER_ENTITY)
            made = entity_passages(kind, entity, [a.template.needs for a in mine + pool], count, rng, WORDS)
            passages += made
            asked[part] += [a for a in mine if supported(a, made)]
            asked["train"] += [a for a in pool if supported(a, made)]
    texts = [f"{p.title} {p.text}" for p in passages]
    for entity in parts["held_out"]:
        for candidate in choose(kinds[entity.kind], entity, "test", 3, corpus_entities, rng):
            if not mentioned_together(candidate, texts):
                asked["unanswerable"].append(candidate)

    with open(corpus_path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["id", "text", "title"])
        writer.writerows([number, p.text, p.title] for number, p in enumerate(passages, 1))
    for name, rows in asked.items():
        write_jsonl(questions / f"{name}.jsonl", [a.row() for a in rows])
    lengths = sorted(len(p.text.split()) for p in passages)
    print(f"{len(passages)} passages of {lengths[0]} to {lengths[-1]} words about {len(corpus_entities)} entities of {len(kinds)} kinds")
    print({name: len(rows) for name, rows in asked.items()})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
