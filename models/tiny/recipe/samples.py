"""Endless training worlds: the wordings of the demo world with invented entities and values."""

import random
from dataclasses import dataclass, field

from cloze import cloze_of
from frames import frames
from free import FreeFact, exchanged, free_sentences
from names import Inventor
from render import Passage, askable, cloze, entity_passages, question_text, roughen, unambiguous
from tokenizers_ import NameParts
from world import Entity, Kind, QuestionTemplate

PASSAGE_WORDS = (25, 55)
FREE_SENTENCES = 3
PLANTED_SHARE = 0.9
CLOZE_SHARE = 0.3  # of the free sentences with questions by hand are asked about by rule too
UNSTATED_SHARE = 0.25  # of the entities are asked for a fact that they lack
UNKNOWN = "unknown"  # never shown to the reader: the question is refused
NAME_SHARE = 0.22  # of the questions that ask for the entity itself; some of them are refused as ambiguous


@dataclass(frozen=True)
class Question:
    text: str
    answer: str
    entity: int
    needs: frozenset[str]
    key: str = ""
    sentence: str = ""  # the free sentence that it asks about, if any


@dataclass
class World:
    """The entities' names, passages, the entity each is about, and questions that each rest on one entity."""

    names: list[str] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    about: list[int] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def supports(self, question: Question) -> list[int]:
        """Passages that state all that the question needs."""
        mine = self.passages_about(question)
        if question.sentence:
            return [i for i in mine if question.sentence[1:-1].lower() in self.passages[i].text.lower()]
        return [i for i in mine if question.needs <= self.passages[i].stated]

    def passages_about(self, question: Question) -> list[int]:
        return [i for i, entity in enumerate(self.about) if entity == question.entity]

    def stating(self, question: Question) -> list[int]:
        """Passages that state what is asked for; or, where the entity itself is, something of what it is known by."""
        sought = question.needs if question.key == "name" else {question.key}
        return [i for i in self.passages_about(question) if sought & self.passages[i].stated]


def scattered(sentences: list[str], passages: int, rng: random.Random) -> list[list[str]]:
    """Most of the sentences, each in one of the passages."""
    out: list[list[str]] = [[] for _ in range(passages)]
    for sentence in sentences:
        if rng.random() < PLANTED_SHARE:
            rng.choice(out).append(sentence)
    return out


class WorldSampler:
    """`real` entities lend their free sentences and the frames of their names and values."""

    def __init__(self, kinds: list[Kind], real: list[Entity], parts: NameParts, free: list[FreeFact] | None = None):
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
        self.free = free_sentences(real, free or [])
        self.parts = parts

    def entity(self, kind: Kind, inventor: Inventor, rng: random.Random) -> Entity:
        facts = {relation: self._value(kind, relation, inventor) for relation in kind.relations if rng.random() < 0.85}
        if not any(s.names_entity and s.relations <= facts.keys() for s in kind.sentences):
            facts = {relation: self._value(kind, relation, inventor) for relation in kind.relations}
        return Entity(
            kind=kind.name,
            name=inventor.entity_name(kind.name, kind.pronoun, self.names[kind.name]),
            facts=facts,
            female=rng.random() < 0.5,
        )

    def _value(self, kind: Kind, relation: str, inventor: Inventor) -> str:
        return inventor.value(kind.relations[relation], self.pools[kind.name, relation], self.frames[kind.name, relation])

    def world(self, entities: int, passages: int, questions: int, rng: random.Random) -> World:
        """`passages` and `questions` are counts per entity; most entities share a kind."""
        inventor = Inventor(rng, self.parts)
        kinds = rng.sample(self.kinds, min(len(self.kinds), rng.choice((1, 1, 2))))
        cast: list[tuple[Kind, Entity, list[FreeFact]]] = []
        for _ in range(entities):
            kind = rng.choice(kinds) if rng.random() < 0.85 else rng.choice(self.kinds)
            free = self._free(kind, inventor, rng)
            made = self.entity(kind, inventor, rng)
            if all(made.name != other.name for _, other, _ in cast):
                cast.append((kind, made, free))
        world = World()
        everyone = [entity for _, entity, _ in cast]
        for number, (kind, entity, free) in enumerate(cast):
            asked = self._questions(kind, entity, number, everyone, questions, rng)
            planted = scattered([fact.text for fact in free], passages, rng)
            made = entity_passages(kind, entity, [q.needs for q in asked], passages, rng, PASSAGE_WORDS, planted)
            world.names.append(entity.name)
            world.passages += made
            world.about += [number] * len(made)
            world.questions += asked
            if questions:
                world.questions += self._free_questions(entity, number, free, rng)
        return world

    def _free(self, kind: Kind, inventor: Inventor, rng: random.Random) -> list[FreeFact]:
        """A few free sentences, mostly with other names and numbers."""
        known = self.free[kind.name]
        chosen = rng.sample(known, min(len(known), FREE_SENTENCES))
        return [exchanged(fact, inventor, rng) if rng.random() < 0.85 else fact for fact in chosen]

    def _free_questions(self, entity: Entity, number: int, free: list[FreeFact], rng: random.Random) -> list[Question]:
        """Questions about the free sentences, by hand where there are any, else by rule."""
        out: list[Question] = []
        for fact in free:
            chosen = rng.sample(fact.questions, min(2, len(fact.questions)))
            asked = [(q.text.replace("{name}", entity.name), q.answers[0]) for q in chosen]
            if not asked or rng.random() < CLOZE_SHARE:
                made = cloze_of(fact.text, entity.name, rng)
                asked += [(made.question, made.answer)] if made else []
            out += [Question(roughen(q, rng), a, number, frozenset(), "", fact.text) for q, a in asked]
        return out

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
            out.append(Question(roughen(text, rng), entity.answers(key)[0], number, needs, key))
        return out + self._unstated(kind, entity, number, rng)

    def _unstated(self, kind: Kind, entity: Entity, number: int, rng: random.Random) -> list[Question]:
        """Now and then a question about the entity that no passage answers: it lacks that fact."""
        missing = sorted(kind.relations.keys() - entity.facts.keys())
        if not missing or rng.random() > UNSTATED_SHARE:
            return []
        key = rng.choice(missing)
        wordings = (q for q in self.wordings[kind.name].get(key, []) if q.template.names_entity)
        fitting = [q for q in wordings if q.template.relations <= entity.facts.keys()]
        if not fitting:
            return []
        chosen = rng.choice(fitting)
        return [Question(roughen(question_text(chosen, entity), rng), UNKNOWN, number, chosen.needs, key)]
