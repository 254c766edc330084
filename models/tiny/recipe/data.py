"""What the training stages read: the world, the tokenizers and real text."""

from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from free import load_free
from packing import Prompts
from real_rows import RealStories
from rows import RowMaker
from samples import WorldSampler
from split import split_entities, training_entities
from squad import RealPassage, load_real
from tokenizers_ import load_tokenizer, name_parts
from world import Kind, common_words, load_world

WORLD = Path(__file__).parent / "world"
CHECKPOINT = Path(__file__).parent.parent / "checkpoint"


@dataclass(frozen=True)
class Data:
    kinds: list[Kind]
    tokenizer: Tokenizer
    prompts: Prompts
    sampler: WorldSampler
    rows: RowMaker
    real_text: list[RealPassage]
    real: RealStories


def never_trained(kinds: list[Kind]) -> set[str]:
    """The names of the entities that the demo questions are tested on."""
    parts = split_entities(kinds)
    return {name for e in (*parts["test"], *parts["held_out"]) for name in (e.name, *e.aliases)}


def load_data(real_text: list[Path]) -> Data:
    kinds = load_world(WORLD)
    tokenizer = load_tokenizer(CHECKPOINT / "cepe")
    prompts = Prompts(tokenizer)
    known, parts = training_entities(kinds), name_parts(tokenizer, common_words(kinds))
    sampler = WorldSampler(kinds, known, parts, load_free(WORLD / "free", known))
    real = load_real(real_text, never_trained(kinds))
    return Data(kinds, tokenizer, prompts, sampler, RowMaker(prompts, sampler, real), real, RealStories(prompts, real, parts))
