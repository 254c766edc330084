"""Endless training worlds: the wordings of the demo world with invented entities and values."""

import random
from dataclasses import dataclass, field

from frames import frames
from names import Inventor
from render import Passage, askable, cloze, entity_passages, question_text, roughen, unambiguous
from tokenizers_ import NameParts
from world import Entity, Kind, QuestionTemplate

PASSAGE_WORDS = (25, 55)
NAME_SHARE = 0.22  # of the questions that ask for the entity itself; some of them are refused as ambiguous


@dataclass(frozen=True)
class Question:
    text: str
    answer: str
    entity: int
    needs: frozenset[str]


@dataclass
class World:
    """The entities' names, passages, the entity each is about, and questions that each rest on one entity."""

    names: list[str] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    about: list[int] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def supports(self, question: Question) -> list[int]:
        """Passages that state all that the question needs."""
        return [
            i
            for i, p in enumerate(self.passages)
            if self.about[i] == question.entity and question.needs <= p.stated
        ]


class WorldSampler:
    """`real` entities lend their sentences about other things ("extra"), as noise, and the frames of their names
    and values."""

    def __init__(self, kinds: list[Kind], real: list[Entity], parts: NameParts):
        self.kinds = kinds
        self.wordings: dict[str, dict[str, list[QuestionTemplate]]] = {}
        for kind in kinds:
            by_answer = self.wordings.setdefault(kind.name, {})
            for question in (*(q for q in kind.questions if q.split == "train"), *kind.further):
                by_answer.setdefault(question.answer, []).append(question)
        self.pools = {(k.name, r): k.pool(r) for k in kinds for r in k.relations}
        self.names = {k.name: frames([e.name for e in real if e.kind == k.name]) for k in kinds}
        self.frames = {
            (k.name, r): frames([e.facts[r] for e in real if e.kind == k.name and r in e.facts]) for k in kinds for r in k.relations
        }
        self.noise = {k.name: [x for e in real if e.kind == k.name for x in e.extra if not x.startswith(e.name)] for k in kinds}
        self.parts = parts

    def entity(self, kind: Kind, inventor: Inventor, rng: random.Random) -> Entity:
        facts = {relation: self._value(kind, relation, inventor) for relation in kind.relations if rng.random() < 0.85}
        if not any(s.names_entity and s.relations <= facts.keys() for s in kind.sentences):
            facts = {relation: self._value(kind, relation, inventor) for relation in kind.relations}
        noise = self.noise[kind.name]
        return Entity(
            kind=kind.name,
            name=inventor.entity_name(kind.name, kind.pronoun, self.names[kind.name]),
            facts=facts,
            female=rng.random() < 0.5,
            extra=tuple(rng.sample(noise, min(len(noise), 2))),
        )

    def _value(self, kind: Kind, relation: str, inventor: Inventor) -> str:
        return inventor.value(kind.relations[relation], self.pools[kind.name, relation], self.frames[kind.name, relation])

    def world(self, entities: int, passages: int, questions: int, rng: random.Random) -> World:
        """`passages` and `questions` are counts per entity; most entities share a kind."""
        inventor = Inventor(rng, self.parts)
        kinds = rng.sample(self.kinds, min(len(self.kinds), rng.choice((1, 1, 2))))
        cast: list[tuple[Kind, Entity]] = []
        for _ in range(entities):
            kind = rng.choice(kinds) if rng.random() < 0.85 else rng.choice(self.kinds)
            made = self.entity(kind, inventor, rng)
            if all(made.name != other.name for _, other in cast):
                cast.append((kind, made))
        world = World()
        everyone = [entity for _, entity in cast]
        for number, (kind, entity) in enumerate(cast):
            asked = self._questions(kind, entity, number, everyone, questions, rng)
            made = entity_passages(kind, entity, [q.needs for q in asked], passages, rng, PASSAGE_WORDS)
            world.names.append(entity.name)
            world.passages += made
            world.about += [number] * len(made)
            world.questions += asked
        return world

    def _questions(
        self, kind: Kind, entity: Entity, number: int, everyone: list[Entity], count: int, rng: random.Random
    ) -> list[Question]:
        out: list[Question] = []
        wordings = self.wordings[kind.name]
        keys = [key for key in wordings if key == "name" or key in entity.facts]
        for _ in range(count):
            made = cloze(kind, entity, rng) if rng.random() < 0.2 else None
            if made:
                text, key, needs = made
            else:
                # all relations are asked about equally often, however many wordings each has
                key = "name" if "name" in wordings and rng.random() < NAME_SHARE else rng.choice(keys)
                chosen = rng.choice(wordings[key])
                if not askable(chosen, entity) or not unambiguous(chosen, entity, kind, everyone):
                    continue
                text, needs = question_text(chosen, entity), chosen.needs
            out.append(Question(roughen(text, rng), entity.answers(key)[0], number, needs))
        return out
