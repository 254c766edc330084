"""What the training stages read: the world, the tokenizers and real text."""

from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from packing import Prompts
from rows import RowMaker
from samples import WorldSampler
from split import training_entities
from squad import RealPassage, load_squad
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
    real: list[RealPassage]


def load_data(real_text: Path | None) -> Data:
    kinds = load_world(WORLD)
    tokenizer = load_tokenizer(CHECKPOINT / "cepe")
    prompts = Prompts(tokenizer)
    sampler = WorldSampler(kinds, training_entities(kinds), name_parts(tokenizer, common_words(kinds)))
    real = load_squad(real_text, held_out=False) if real_text else []
    return Data(kinds, tokenizer, prompts, sampler, RowMaker(prompts, sampler, real), real)
