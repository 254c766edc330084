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
from samples import UNKNOWN, Question, World

SEED = 20261125
ENTITIES, PASSAGES, ASKED = 5, 3, 10  # of a world; of an entity
ANSWERED, REFUSED = 6, 2  # questions of a paragraph, at most


def seems_answered(world: World, number: int, question: Question) -> bool:
    """Whether passage `number` lacks the answer and yet is about the question's entity, or tells the same of another one."""
    passage, own = world.passages[number], question.entity == world.about[number]
    if question.answer == UNKNOWN:
        return own
    told = number in world.supports(question) or number in world.stating(question)
    if told or question.answer.lower() in f"{passage.title} {passage.text}".lower():
        return False
    return question.key != "name" if own else question.key == "name" or question.key in passage.stated


def paragraphs(world: World, rng: random.Random) -> Iterator[dict]:
    """Each passage with questions that it answers and some that it does not, although it seems to."""
    for number, passage in enumerate(world.passages):
        answered = [q for q in world.questions if q.answer != UNKNOWN and number in world.supports(q)]
        refused = [q for q in world.questions if seems_answered(world, number, q)]
        if answered:
            questions = [{"question": q.text, "answer": q.answer} for q in rng.sample(answered, min(len(answered), ANSWERED))]
            questions += [{"question": q.text, "answer": ""} for q in rng.sample(refused, min(len(refused), rng.randint(0, REFUSED)))]
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
