"""Which real entities are for the test, which for development, which stay out of the corpus."""

import random

from settings import SEED
from world import Entity, Kind

HELD_OUT_PER_KIND = 2
DEV_SHARE = 0.3


def split_entities(kinds: list[Kind]) -> dict[str, list[Entity]]:
    """dev, test, and held_out: entities without passages, for questions that have no answer."""
    out: dict[str, list[Entity]] = {"dev": [], "test": [], "held_out": []}
    for kind in kinds:
        entities = list(kind.entities)
        random.Random(f"{SEED} {kind.name}").shuffle(entities)
        dev = HELD_OUT_PER_KIND + round(DEV_SHARE * len(entities))
        out["held_out"] += entities[:HELD_OUT_PER_KIND]
        out["dev"] += entities[HELD_OUT_PER_KIND:dev]
        out["test"] += entities[dev:]
    return out


def training_entities(kinds: list[Kind]) -> list[Entity]:
    """Entities whose extra sentences may appear, out of place, in training passages, and whose names and values
    show how invented ones are built."""
    return split_entities(kinds)["dev"]
