"""Writes the demo corpus and the demo questions from the facts in `world/`.

    python make_demo.py ../../../index/corpus/passages.tsv ../../../eval/questions
"""

import csv
import json
import random
import sys
from dataclasses import dataclass
from pathlib import Path

from configs import read_json
from data import WORLD
from enrich import enriched
from free import FreeFact, FreeQuestion, load_free
from render import Passage, askable, capital, entity_passages, question_text, unambiguous
from settings import SEED
from split import split_entities
from world import UNSTATED, Entity, Kind, QuestionTemplate, load_world, plain

WORDS = (42, 56)
PASSAGES_PER_ENTITY = (3, 4)
TEST_QUESTIONS_PER_ENTITY = 2
UNSTATED_PER_WORDING = 2


@dataclass(frozen=True)
class Asked:
    template: QuestionTemplate
    entity: Entity

    def row(self, sort: str) -> dict:
        return {
            "question": question_text(self.template, self.entity),
            "answer": self.entity.answers(self.template.answer),
            "class": sort,
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


@dataclass(frozen=True)
class Demo:
    """The passages, and the questions by the name of their file."""

    passages: list[Passage]
    questions: dict[str, list[dict]]


def render_demo(kinds: dict[str, Kind]) -> Demo:
    parts = split_entities(list(kinds.values()))
    corpus_entities = parts["dev"] + parts["test"]
    facts = load_free(WORLD / "free", corpus_entities)
    check_wordings(facts, {(entity.kind, entity.name) for entity in parts["dev"]})
    rng = random.Random(SEED)
    asked: dict[str, list[dict]] = {"train": [], "dev": [], "test": [], "free": [], "unanswerable": []}
    passages: list[Passage] = []
    for part in ("dev", "test"):
        for entity in parts[part]:
            kind = kinds[entity.kind]
            mine = choose(kind, entity, "test", TEST_QUESTIONS_PER_ENTITY, corpus_entities, rng)
            pool = choose(kind, entity, "train", 1, corpus_entities, rng) if part == "dev" else []
            count = rng.randint(*PASSAGES_PER_ENTITY)
            made = entity_passages(kind, entity, [a.template.needs for a in mine + pool], count, rng, WORDS)
            own = [fact for fact in facts if (fact.kind, fact.entity) == (entity.kind, entity.name)]
            passages += enriched(kind, entity, made, own)
            asked[part] += [a.row("attribute") for a in mine if supported(a, made)]
            asked["train"] += [a.row("attribute") for a in pool if supported(a, made)]
            if part == "test":
                asked["free"] += [free_row(fact, question) for fact in own for question in fact.questions]
    texts = [f"{p.title} {p.text}" for p in passages]
    for entity in parts["held_out"]:
        for candidate in choose(kinds[entity.kind], entity, "test", 3, corpus_entities, rng):
            if not mentioned_together(candidate, texts):
                asked["unanswerable"].append(candidate.row("entity absent"))
    asked["unanswerable"] += unstated_rows(parts["test"], WORLD / UNSTATED)
    # In wordings of their own: what is fitted on them is tested on the others.
    asked["dev_unanswerable"] = unstated_rows(parts["dev"], WORLD / "wordings" / UNSTATED)
    return Demo(passages, asked)


def check_wordings(facts: list[FreeFact], trained: set[tuple[str, str]]) -> None:
    """Raises ValueError where a question about a free sentence is asked in words that training uses; `trained` are the
    kinds and names of the entities whose questions are trained on."""
    known = {plain(q.text) for f in facts if (f.kind, f.entity) in trained for q in f.questions}
    tested = [q.text for f in facts if (f.kind, f.entity) not in trained for q in f.questions]
    shared = [text for text in tested if plain(text) in known]
    if shared:
        raise ValueError("\n".join(f"a wording of the test is trained on: {text}" for text in shared))


def free_row(fact: FreeFact, question: FreeQuestion) -> dict:
    text = question.text.replace("{name}", fact.entity)
    return {
        "question": capital(text) if text.endswith("?") else text,
        "answer": list(question.answers),
        "class": "free sentence",
        "kind": fact.kind,
        "entity": fact.entity,
    }


def unstated_rows(entities: list[Entity], wordings_file: Path) -> list[dict]:
    """Questions about entities of the corpus that it does not answer: things that it tells of no entity of the kind."""
    rng = random.Random(f"{SEED} unstated")
    rows = []
    for kind, wordings in read_json(wordings_file).items():
        for wording in wordings:
            known = [e for e in entities if e.kind == kind]
            for entity in rng.sample(known, min(len(known), UNSTATED_PER_WORDING)):
                question = wording.replace("{name}", entity.name)
                rows.append({"question": question, "class": "entity present", "kind": kind, "entity": entity.name})
    return rows


def main(corpus_path: Path, questions: Path) -> None:
    kinds = {kind.name: kind for kind in load_world(WORLD)}
    demo = render_demo(kinds)
    with open(corpus_path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["id", "text", "title"])
        writer.writerows([number, p.text, p.title] for number, p in enumerate(demo.passages, 1))
    for name, rows in demo.questions.items():
        write_jsonl(questions / f"{name}.jsonl", rows)
    lengths = sorted(len(p.text.split()) for p in demo.passages)
    titles = {p.title for p in demo.passages}
    print(f"{len(demo.passages)} passages of {lengths[0]} to {lengths[-1]} words about {len(titles)} entities of {len(kinds)} kinds")
    print({name: len(rows) for name, rows in demo.questions.items()})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
