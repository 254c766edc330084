"""Writes paragraphs about invented entities with questions, in the wordings that the tiny CEPE is trained on: those of the demo corpus'
sentences, and of no question that the demo is tested with."""

import argparse
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tiny/recipe"))

from data import load_data
from samples import UNKNOWN, World

SEED = 20261125
ENTITIES, PASSAGES, ASKED = 5, 2, 6  # of a world; of an entity
QUESTIONS = 8  # of a paragraph, at most


def paragraphs(world: World, rng: random.Random) -> Iterator[dict]:
    """Each passage with the questions that it answers, and one that is about its entity and that no passage answers."""
    for number, passage in enumerate(world.passages):
        asked = [q for q in world.questions if q.answer != UNKNOWN and number in world.supports(q)]
        refused = [q for q in world.questions if q.answer == UNKNOWN and q.entity == world.about[number]]
        chosen = rng.sample(asked, min(len(asked), QUESTIONS - 1)) + refused[:1]
        if asked:
            questions = [{"question": q.text, "answer": "" if q.answer == UNKNOWN else q.answer} for q in chosen]
            yield {"title": passage.title, "text": passage.text, "questions": questions}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the file to write, e.g. DIR/invented.jsonl")
    parser.add_argument("--count", type=int, default=1200, help="of paragraphs")
    args = parser.parse_args()
    sampler, rng, written = load_data([]).sampler, random.Random(SEED), 0
    with open(args.out, "w", encoding="utf-8") as file:
        while written < args.count:
            for paragraph in paragraphs(sampler.world(ENTITIES, PASSAGES, ASKED, rng), rng):
                file.write(json.dumps(paragraph) + "\n")
                written += 1


if __name__ == "__main__":
    main()
