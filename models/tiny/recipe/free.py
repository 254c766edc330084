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
class FreeFact:
    """A sentence about an entity, which it names "he", "she" or "it", and (question, answer) pairs in which
    `{name}` stands for the entity. The answers stand in the sentence."""

    kind: str
    entity: str
    text: str
    questions: tuple[tuple[str, str], ...] = ()


def load_free(folder: Path, entities: list[Entity]) -> list[FreeFact]:
    """The facts about these entities; raises ValueError with every problem found."""
    known = {(e.kind, e.name) for e in entities}
    facts, problems = [], []
    for path in sorted(folder.glob("*.json")):
        for row in json.loads(path.read_text("utf-8")):
            fact = FreeFact(path.stem, row["entity"], row["text"], tuple((q, a) for q, a in row["questions"]))
            if (fact.kind, fact.entity) in known:
                facts.append(fact)
                problems += [f"{path.name}: {problem}" for problem in check(fact)]
    if problems:
        raise ValueError("\n".join(problems))
    return facts


def check(fact: FreeFact) -> list[str]:
    missing = [f"'{a}' does not stand in: {fact.text}" for _, a in fact.questions if a.lower() not in fact.text.lower()]
    nameless = [f"no {{name}} in: {q}" for q, _ in fact.questions if "{name}" not in q]
    return [*missing, *nameless, *(["quote or tab in: " + fact.text] if '"' in fact.text or "\t" in fact.text else [])]


def free_sentences(entities: list[Entity], written: list[FreeFact]) -> dict[str, list[FreeFact]]:
    """By kind: the facts with questions, and the entities' further sentences without. Sentences that name their
    entity are left out, since they are lent to invented ones."""
    out: dict[str, list[FreeFact]] = {e.kind: [] for e in entities}
    asked = {fact.text for fact in written}
    bare = [FreeFact(e.kind, e.name, text) for e in entities for text in e.extra if text not in asked]
    for fact in (*written, *bare):
        if fact.entity not in fact.text:
            out.setdefault(fact.kind, []).append(fact)
    return out


def exchanged(fact: FreeFact, inventor: Inventor, rng: random.Random) -> FreeFact:
    """The fact with other names and numbers, in its questions and answers too."""
    text, *rest = exchange([fact.text, *(part for pair in fact.questions for part in pair)], inventor, rng)
    return FreeFact(fact.kind, fact.entity, text, tuple(zip(rest[::2], rest[1::2], strict=True)))
