"""The second pass over the demo corpus: half of the sentences that are true of every entity of a kind go, and free
sentences come, so that most of a passage tells something of its own."""

import random
from itertools import product

from free import FreeFact
from render import PRONOUNS, Passage, capital
from settings import SEED
from world import PLACEHOLDER, Entity, Kind, Template

FILLERS_KEPT = 0.2
SHORTEST = 28  # words of a passage below which it keeps its fillers


def renderings(template: Template, kind: Kind, entity: Entity) -> set[str]:
    """Every way in which `fill` may write a sentence without facts."""
    pronoun, possessive = PRONOUNS[("f" if entity.female else "m") if kind.pronoun == "person" else "it"]
    references = [(pronoun, possessive), *((noun, f"{noun}'s") for noun in kind.nouns)]
    out = set()
    for chosen in product(references, repeat=len(PLACEHOLDER.findall(template.text))):
        turns = iter(chosen)

        def value(match, turns=turns) -> str:
            key = match.group(2)
            subject, owner = next(turns)
            if key in ("Name", "name"):
                return entity.name
            text = subject if key in ("Sub", "sub") else owner
            return capital(text) if key[0].isupper() else text

        out.add(capital(PLACEHOLDER.sub(value, template.text)))
    return out


def without_fillers(text: str, fillers: set[str], rng: random.Random) -> str:
    """Some of the fillers that stand as sentences of their own are taken out; never the first sentence."""
    for filler in sorted(fillers):
        shorter = text.replace(f" {filler}", "", 1)
        if len(shorter.split()) >= SHORTEST and rng.random() > FILLERS_KEPT:
            text = shorter
    return text


def enriched(kind: Kind, entity: Entity, passages: list[Passage], facts: list[FreeFact]) -> list[Passage]:
    """The entity's passages with fewer fillers and with all of its free sentences, each in one of the shorter passages."""
    rng = random.Random(f"{SEED} enrich {kind.name} {entity.name}")
    fillers = {text for template in kind.fillers for text in renderings(template, kind, entity)}
    texts = [without_fillers(passage.text, fillers, rng) for passage in passages]
    for sentence in dict.fromkeys([*entity.extra, *(fact.text for fact in facts)]):
        if not any(sentence[1:-1] in text for text in texts):
            shortest = min(range(len(texts)), key=lambda i: len(texts[i].split()))
            texts[shortest] += f" {sentence}"
    return [Passage(p.title, text, p.stated) for p, text in zip(passages, texts, strict=True)]
