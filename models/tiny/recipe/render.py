"""Facts and wordings in, passages and questions out. Pure functions of their `random.Random`."""

import random
import re
from dataclasses import dataclass

from world import PLACEHOLDER, Entity, Kind, QuestionTemplate, Template

PRONOUNS = {"f": ("she", "her"), "m": ("he", "his"), "it": ("it", "its")}
WH_WORDS = {
    "person": ("who", "whom", "which person"),
    "place": ("where", "which place", "what place", "which city"),
    "country": ("which country", "what country", "where"),
    "title": ("what", "which work", "what title"),
    "org": ("what", "which institution"),
    "year": ("when", "which year", "what year"),
    "date": ("when", "which date", "what date"),
    "number": ("how many", "what number", "how much", "what"),
    "pool": ("what", "which", "what kind"),
    "name_like": ("what", "which name"),
}
TYPO_SHARE = 0.06
PREFIXES = (
    "do you know {}", "tell me {}", "can you tell me {}", "i want to know {}", "please answer: {}", "quick question: {}",
    "{}, do you know", "what is the answer: {}", "trivia: {}", "I'm trying to remember {}", "hey, {}", "for a quiz: {}",
    "we were arguing about this yesterday, {}", "my teacher asked {}", "just curious, {}", "one more thing: {}",
    "could you look up {}", "i forgot, {}", "ok so {}", "{} i need it for school", "{} thanks", "{} please",
)


@dataclass(frozen=True)
class Passage:
    title: str
    text: str
    stated: frozenset[str]


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def indefinite(value: str) -> str:
    first = value.lower()
    vowel = first[:1] in "aeio" or (first[:1] == "u" and not re.match(r"un[ia]|us|ur[ai]|ut", first))
    if re.match(r"eu|one\b|once", first):
        vowel = False
    if re.match(r"hour|honest|heir", first):
        vowel = True
    return f"{'an' if vowel else 'a'} {value}"


def fill(template: Template, kind: Kind, entity: Entity, rng: random.Random) -> str:
    """The sentence with facts and references put in; a reference is a pronoun or a noun of the kind."""
    subject, possessive = PRONOUNS[("f" if entity.female else "m") if kind.pronoun == "person" else "it"]
    noun = rng.choice(kind.nouns) if rng.random() < 0.3 else None

    def value(match: re.Match[str]) -> str:
        article, key = match.groups()
        if key in ("Name", "name"):
            return entity.name
        if key in ("Sub", "sub"):
            text = noun or subject
        elif key in ("Poss", "poss"):
            text = f"{noun}'s" if noun else possessive
        else:
            return indefinite(entity.facts[key]) if article else entity.facts[key]
        return capital(text) if key[0].isupper() else text

    return capital(PLACEHOLDER.sub(value, template.text))


def usable(template: Template, entity: Entity) -> bool:
    return template.relations <= entity.facts.keys()


def join_clauses(sentences: list[str], rng: random.Random) -> str:
    """Now and then two short sentences become one."""
    out: list[str] = []
    for sentence in sentences:
        joins = out and sentence.split(" ", 1)[0] in ("It", "He", "She", "Its", "His", "Her") and rng.random() < 0.2
        if joins and len(out[-1].split()) + len(sentence.split()) < 28 and out[-1].endswith("."):
            out[-1] = f"{out[-1][:-1]}{rng.choice((', and', ';'))} {sentence[:1].lower()}{sentence[1:]}"
        else:
            out.append(sentence)
    return " ".join(out)


def passage(
    kind: Kind, entity: Entity, relations: set[str], used: set[str], rng: random.Random, words: tuple[int, int], free: list[str]
) -> Passage:
    """A passage of about words[0] to words[1] words that states at least `relations` of the entity.

    Its first sentence names the entity. `free` sentences stand in it in any case; `used` collects the extras and
    fillers that earlier passages of the entity took, so that they are not repeated.
    """
    target = rng.randint(*words)
    candidates = [s for s in kind.sentences if usable(s, entity)]
    left = set(relations)
    naming = [s for s in candidates if s.names_entity and s.relations & left] or [s for s in candidates if s.names_entity]
    opening = rng.choice(naming)
    left -= opening.relations
    chosen = [opening]
    while left:
        options = [s for s in candidates if s.relations & left and s not in chosen]
        if not options:  # every wording of what is left needs a fact that this entity lacks
            break
        best = rng.choice(options)
        chosen.append(best)
        left -= best.relations
    texts = [fill(s, kind, entity, rng) for s in chosen] + free

    spare = [(e, e) for e in entity.extra if e not in used]
    spare += [(f.text, fill(f, kind, entity, rng)) for f in kind.fillers if f.text not in used and usable(f, entity)]
    more = [s for s in candidates if s not in chosen]
    while sum(len(t.split()) for t in texts) < target:
        if spare and (rng.random() < 0.6 or not more):
            source, text = spare.pop(rng.randrange(len(spare)))
            used.add(source)
        elif more:
            chosen.append(more.pop(rng.randrange(len(more))))
            text = fill(chosen[-1], kind, entity, rng)
        else:
            break
        texts.append(text)
    tail = texts[1:]
    rng.shuffle(tail)
    stated = frozenset().union(*(s.relations for s in chosen))
    return Passage(entity.name, join_clauses([texts[0], *tail], rng), stated)


def plan_passages(entity: Entity, needs: list[frozenset[str]], count: int, rng: random.Random) -> list[set[str]]:
    """Which relations each of `count` passages states: every set of `needs` fits into one passage, and
    every fact of the entity is stated somewhere."""
    plans: list[set[str]] = [set() for _ in range(count)]
    for need in needs:
        if not any(need <= plan for plan in plans):
            smallest = min(plans, key=lambda plan: (len(plan | need), rng.random()))
            smallest |= need
    for relation in rng.sample(sorted(entity.facts), len(entity.facts)):
        if not any(relation in plan for plan in plans):
            min(plans, key=lambda plan: (len(plan), rng.random())).add(relation)
    for plan in plans:
        if not plan and entity.facts:
            plan.add(rng.choice(sorted(entity.facts)))
    return plans


def entity_passages(
    kind: Kind,
    entity: Entity,
    needs: list[frozenset[str]],
    count: int,
    rng: random.Random,
    words: tuple[int, int],
    free: list[list[str]] | None = None,
) -> list[Passage]:
    """`free[i]` are the free sentences of the i-th passage."""
    used: set[str] = set()
    plans = plan_passages(entity, needs, count, rng)
    return [passage(kind, entity, plan, used, rng, words, some) for plan, some in zip(plans, free or [[] for _ in plans], strict=True)]


def question_text(question: QuestionTemplate, entity: Entity) -> str:
    """The question as asked; questions in NQ's manner are lower case throughout."""

    def value(match: re.Match[str]) -> str:
        article, key = match.groups()
        if key in ("Name", "name"):
            return entity.name
        return indefinite(entity.facts[key]) if article else entity.facts[key]

    text = PLACEHOLDER.sub(value, question.template.text)
    return text.lower() if question.manner == "nq" else capital(text)


def askable(question: QuestionTemplate, entity: Entity) -> bool:
    return question.needs <= entity.facts.keys()


def unambiguous(question: QuestionTemplate, entity: Entity, kind: Kind, entities: list[Entity]) -> bool:
    """No other entity of the kind fits the clues and gives another answer."""
    if question.template.names_entity:
        return True
    clues = question.template.relations
    answer = entity.answers(question.answer)[0]
    return all(
        other.name == entity.name
        or any(other.facts.get(clue) != entity.facts[clue] for clue in clues)
        or (question.answer != "name" and other.facts.get(question.answer) == answer)
        for other in entities
        if other.kind == kind.name
    )


def cloze(kind: Kind, entity: Entity, rng: random.Random) -> tuple[str, str, frozenset[str]] | None:
    """A further training question made from a statement: (question, answer key, facts needed), or None.

    "{Name} died in {death_year}." becomes "Verdi died in which year" or, asking for the entity,
    "Which composer died in 1901".
    """
    sentence = rng.choice(kind.sentences)
    if not usable(sentence, entity):
        return None
    parts = [m.group(2) for m in PLACEHOLDER.finditer(sentence.text)]
    if not any(p in ("Name", "name", "Sub", "sub", "Poss", "poss") for p in parts) or not sentence.relations:
        return None
    asks_name = len(sentence.relations) > 1 and rng.random() < 0.4
    answer = "name" if asks_name else rng.choice(sorted(sentence.relations))
    which = f"{rng.choice(('which', 'what'))} {kind.nouns[0].removeprefix('the ')}"
    named = False

    def value(match: re.Match[str]) -> str:
        nonlocal named
        article, key = match.groups()
        if key in ("Name", "name", "Sub", "sub", "Poss", "poss"):
            ending = "'s" if key in ("Poss", "poss") else ""
            first, named = not named, True
            if asks_name:
                return (which if first else "it") + ending
            return (entity.name if first else rng.choice(kind.nouns)) + ending
        if key == answer:
            return rng.choice(WH_WORDS[kind.relations[key]["type"]])
        return indefinite(entity.facts[key]) if article else entity.facts[key]

    text = PLACEHOLDER.sub(value, sentence.text).rstrip(".")
    return f"{text}?", answer, sentence.relations


def mistyped(text: str, rng: random.Random) -> str:
    """One longer word with two letters in the wrong order, one missing or one twice."""
    places = [m for m in re.finditer(r"[A-Za-z]{4,}", text)]
    if not places:
        return text
    word = rng.choice(places)
    at = rng.randrange(word.start() + 1, word.end() - 1)
    wrong = rng.choice((text[at + 1] + text[at], text[at + 1], text[at] + text[at : at + 2]))
    return text[:at] + wrong + text[at + 2 :]


def roughen(text: str, rng: random.Random) -> str:
    """A training question as people type it: other case, no mark, words left out, words around it, typing errors."""
    if rng.random() < TYPO_SHARE:
        text = mistyped(text, rng)
    if rng.random() < 0.25:
        words = text.split()
        kept = [w for w in words if w[:1].isupper() or w[:1].isdigit() or rng.random() > 0.12]
        text = " ".join(kept) or text
    if rng.random() < 0.15:
        text = rng.choice(PREFIXES).format(text)
    shape = rng.random()
    if shape < 0.4:
        text = text.lower().rstrip("?")
    elif shape < 0.5:
        text = text.rstrip("?")
    elif shape < 0.6 and not text.endswith("?"):
        text = capital(text) + "?"
    return text
