"""Free sentences: facts that no relation of a kind covers, in words of their own, and questions about them written
by hand (`world/free/*.json`)."""

import json
import random
from dataclasses import dataclass
from pathlib import Path

from exchange import exchange
from names import Inventor
from world import Entity


@dataclass(frozen=True)
class FreeQuestion:
    """`{name}` stands for the entity; the first answer stands in the sentence, the others count as right too."""

    text: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class FreeFact:
    """A sentence about an entity, which it calls "he", "she" or "it", and questions about it."""

    kind: str
    entity: str
    text: str
    questions: tuple[FreeQuestion, ...] = ()


def load_free(folder: Path, entities: list[Entity]) -> list[FreeFact]:
    """The facts about these entities; raises ValueError with every problem found."""
    known = {(e.kind, e.name) for e in entities}
    facts, problems = [], []
    for path in sorted(folder.glob("*.json")):
        for row in json.loads(path.read_text("utf-8")):
            questions = tuple(FreeQuestion(text, tuple(answers)) for text, *answers in row["questions"])
            fact = FreeFact(path.stem.replace("_", " "), row["entity"], row["text"], questions)
            if (fact.kind, fact.entity) in known:
                facts.append(fact)
                problems += [f"{path.name}: {problem}" for problem in check(fact)]
    if problems:
        raise ValueError("\n".join(problems))
    return facts


def check(fact: FreeFact) -> list[str]:
    firsts = [question.answers[0] for question in fact.questions]
    missing = [f"'{answer}' does not stand in: {fact.text}" for answer in firsts if answer.lower() not in fact.text.lower()]
    nameless = [f"no {{name}} in: {q.text}" for q in fact.questions if "{name}" not in q.text]
    return [*missing, *nameless, *(["quote or tab in: " + fact.text] if '"' in fact.text or "\t" in fact.text else [])]


def free_sentences(entities: list[Entity], written: list[FreeFact]) -> dict[str, list[FreeFact]]:
    """By kind: the facts with questions, and the entities' further sentences without. Sentences that name their
    entity are left out, since they are lent to invented ones."""
    out: dict[str, list[FreeFact]] = {e.kind: [] for e in entities}
    asked = {fact.text for fact in written}
    bare = [FreeFact(e.kind, e.name, text) for e in entities for text in e.extra if text not in asked]
    for fact in (*written, *bare):
        if fact.entity not in fact.text:
            out[fact.kind].append(fact)
    return out


def exchanged(fact: FreeFact, inventor: Inventor, rng: random.Random) -> FreeFact:
    """The fact with other names and numbers, in its questions and answers too."""
    asked = [part for q in fact.questions for part in (q.text, q.answers[0])]
    text, *rest = exchange([fact.text, *asked], inventor, rng)
    questions = tuple(FreeQuestion(q, (a,)) for q, a in zip(rest[::2], rest[1::2], strict=True))
    return FreeFact(fact.kind, fact.entity, text, questions)
