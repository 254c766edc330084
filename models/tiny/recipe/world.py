"""The demo world on disk (`world/*.json`): kinds of entities, their facts and their wordings."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

PLACEHOLDER = re.compile(r"\{(a:)?([A-Za-z_]+)\}")
REFERENCES = {"Name", "name", "Sub", "sub", "Poss", "poss"}
VALUE_TYPES = {"person", "place", "country", "title", "org", "year", "date", "number", "pool", "name_like"}
MANNERS = {"nq", "trivia", "popqa"}
UNSTATED = "unstated.json"  # questions that the corpus does not answer, no kind of entity


@dataclass(frozen=True)
class Template:
    """A sentence or question; `relations` are the facts it states or uses."""

    text: str
    relations: frozenset[str]
    names_entity: bool

    @staticmethod
    def parse(text: str) -> "Template":
        keys = {match.group(2) for match in PLACEHOLDER.finditer(text)}
        return Template(text, frozenset(keys - REFERENCES), bool(keys & {"Name", "name"}))


@dataclass(frozen=True)
class QuestionTemplate:
    template: Template
    answer: str
    manner: str
    split: str

    @property
    def needs(self) -> frozenset[str]:
        """The facts that the question and its answer rest on."""
        return self.template.relations | ({self.answer} - {"name"})


@dataclass(frozen=True)
class Entity:
    kind: str
    name: str
    facts: dict[str, str]
    female: bool = False
    aliases: tuple[str, ...] = ()
    value_aliases: dict[str, list[str]] = field(default_factory=dict)
    extra: tuple[str, ...] = ()

    def answers(self, key: str) -> list[str]:
        if key == "name":
            return [self.name, *self.aliases]
        return [self.facts[key], *self.value_aliases.get(key, [])]


@dataclass(frozen=True)
class Kind:
    name: str
    pronoun: str
    nouns: tuple[str, ...]
    relations: dict[str, dict]
    sentences: tuple[Template, ...]
    fillers: tuple[Template, ...]
    questions: tuple[QuestionTemplate, ...]
    entities: tuple[Entity, ...]
    further: tuple[QuestionTemplate, ...] = ()

    def pool(self, relation: str) -> list[str]:
        return sorted({e.facts[relation] for e in self.entities if relation in e.facts})


def load_kind(path: Path) -> Kind:
    """Reads and checks one file, and the file of the same name in `wordings/` with further wordings of
    questions for training; raises ValueError with every problem found."""
    raw = json.loads(path.read_text("utf-8"))
    further = path.parent / "wordings" / path.name
    kind = Kind(
        name=raw["kind"],
        pronoun=raw["pronoun"],
        nouns=tuple(raw["noun"]),
        relations=raw["relations"],
        sentences=tuple(Template.parse(s) for s in raw["sentences"]),
        fillers=tuple(Template.parse(s) for s in raw["fillers"]),
        questions=tuple(
            QuestionTemplate(Template.parse(q["q"]), q["answer"], q["manner"], q["split"]) for q in raw["questions"]
        ),
        entities=tuple(
            Entity(
                kind=raw["kind"],
                name=e["name"],
                facts=e["facts"],
                female=e.get("gender") == "f",
                aliases=tuple(e.get("aliases", [])),
                value_aliases=e.get("value_aliases", {}),
                extra=tuple(e.get("extra", [])),
            )
            for e in raw["entities"]
        ),
        further=tuple(
            QuestionTemplate(Template.parse(q["q"]), q["answer"], q["manner"], "train")
            for q in (json.loads(further.read_text("utf-8")) if further.exists() else [])
        ),
    )
    problems = check_kind(kind)
    if problems:
        raise ValueError("\n".join(f"{path.name}: {problem}" for problem in problems))
    return kind


def plain(wording: str) -> str:
    """The wording's words alone, to compare wordings by."""
    return " ".join(re.findall(r"[a-z_]+", wording.lower()))


def check_kind(kind: Kind) -> list[str]:
    problems: list[str] = []
    known = set(kind.relations)
    if kind.pronoun not in {"person", "thing", "event"}:
        problems.append(f"pronoun '{kind.pronoun}' is not person, thing or event")
    for relation, spec in kind.relations.items():
        if spec["type"] not in VALUE_TYPES:
            problems.append(f"relation '{relation}' has unknown type '{spec['type']}'")
        if not any(relation in s.relations and s.names_entity for s in kind.sentences):
            problems.append(f"relation '{relation}' has no sentence with {{Name}}")
    for template in [*kind.sentences, *kind.fillers, *(q.template for q in (*kind.questions, *kind.further))]:
        for relation in sorted(template.relations - known):
            problems.append(f"unknown placeholder '{relation}' in: {template.text}")
        if '"' in template.text or "\t" in template.text:
            problems.append(f"quote or tab in: {template.text}")
    asked = {plain(q.template.text) for q in kind.questions if q.split == "test"}
    for question in kind.further:
        if plain(question.template.text) in asked:
            problems.append(f"a wording of the test is trained on: {question.template.text}")
    for question in (*kind.questions, *kind.further):
        if question.answer != "name" and question.answer not in known:
            problems.append(f"unknown answer '{question.answer}' of: {question.template.text}")
        if question.manner not in MANNERS or question.split not in {"train", "test"}:
            problems.append(f"bad manner or split of: {question.template.text}")
    names = [e.name for e in kind.entities]
    for name in sorted({n for n in names if names.count(n) > 1}):
        problems.append(f"entity '{name}' appears twice")
    for entity in kind.entities:
        for relation, value in entity.facts.items():
            if relation not in known:
                problems.append(f"entity '{entity.name}' has unknown relation '{relation}'")
            elif not isinstance(value, str) or not value.strip() or '"' in value or "\t" in value:
                problems.append(f"entity '{entity.name}' has a bad value for '{relation}': {value!r}")
    return problems


def load_world(folder: Path) -> list[Kind]:
    return [load_kind(path) for path in sorted(folder.glob("*.json")) if path.name != UNSTATED]


def common_words(kinds: list[Kind]) -> set[str]:
    """The lower-case words of all wordings."""
    templates = [t for k in kinds for t in (*k.sentences, *k.fillers, *(q.template for q in (*k.questions, *k.further)))]
    return {word for t in templates for word in re.findall(r"[a-z]+", PLACEHOLDER.sub(" ", t.text).lower())}
