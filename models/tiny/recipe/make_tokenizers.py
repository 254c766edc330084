"""Trains the reader's tokenizer on the demo corpus, invented worlds and the real text that may be trained on.

    python make_tokenizers.py --corpus ../../../index/corpus/passages.tsv --real-text FOLDER
"""

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

from configs import write_json
from data import CHECKPOINT, WORLD, never_trained
from samples import WorldSampler
from settings import CEPE_VOCAB, SEED, WINDOW
from split import training_entities
from squad import load_real
from evaluate import load_corpus
from tokenizers_ import NameParts, numbers, train_cepe_tokenizer
from world import load_world

WORLDS = 120
CORPUS_WEIGHT = 6


def texts(corpus: Path, real_text: list[Path]) -> Iterator[str]:
    for passage in load_corpus(corpus):
        yield from (f"Document (Title: {passage.title}): {passage.text}" for _ in range(CORPUS_WEIGHT))
    kinds = load_world(WORLD)
    noise = training_entities(kinds)
    sampler = WorldSampler(kinds, noise, NameParts([], []))
    rng = random.Random(SEED)
    for _ in range(WORLDS):
        world = sampler.world(4, 3, 3, rng)
        yield from (f"Document (Title: {p.title}): {p.text}" for p in world.passages)
        yield from (f"Question: {q.text}\nAnswer: {q.answer}\n" for q in world.questions)
    for kind in kinds:
        pools = [r for r, spec in kind.relations.items() if spec["type"] == "pool"]
        yield from (value for r in pools for value in kind.pool(r) for _ in range(3 * CORPUS_WEIGHT))
    for entity in noise:
        yield from entity.extra
    for passage in load_real(real_text, never_trained(kinds)):
        yield f"{passage.title} {passage.text}"
        yield from (question for question, _ in passage.questions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True, help="passages.tsv of the demo corpus")
    parser.add_argument("--real-text", type=Path, nargs="+", default=[], help="folders with real text and questions (squad.py)")
    args = parser.parse_args()
    everything = list(texts(args.corpus, args.real_text))
    cepe = CHECKPOINT / "cepe"
    cepe.mkdir(parents=True, exist_ok=True)
    train_cepe_tokenizer([*everything, *numbers()], CEPE_VOCAB).save(str(cepe / "tokenizer.json"))
    write_json(
        cepe / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": "<s>",
            "eos_token": "</s>",
            "pad_token": "<pad>",
            "add_bos_token": True,
            "add_eos_token": False,
            "clean_up_tokenization_spaces": False,
            "model_max_length": WINDOW,
        },
    )


if __name__ == "__main__":
    main()
