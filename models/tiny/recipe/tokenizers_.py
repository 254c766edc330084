"""The reader's tokenizer, in Hugging Face's tokenizer.json format.

CEPE: byte-level BPE over text whose ASCII letters are lower-cased, so that "verdi" in a typed question and
"Verdi" in a passage are the same token and a tiny reader need not learn spelling twice. Its answers are
therefore lower case. Newline is always a token of its own. Years and groups of three digits are tokens too:
a reader this small copies "1492" more surely in one piece than digit by digit.

The retriever's is a part of its teacher's (minilm.py).
"""

import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

CEPE_SPECIALS = ["<pad>", "<s>", "</s>"]
BERT_SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = r"\n| ?\p{L}+| ?\p{N}+| ?[^ \n\p{L}\p{N}]+| +"


def numbers() -> Iterator[str]:
    """Texts from which every year and every group of up to three digits becomes one token."""
    for _ in range(60):
        yield from (f" {year}" for year in range(1000, 2030))
        yield from (f"{group:03}" for group in range(1000))


def train_cepe_tokenizer(texts: Iterable[str], vocab: int) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    # letter by letter, not Lowercase(): the libraries disagree about some letters outside ASCII
    tokenizer.normalizer = normalizers.Sequence([normalizers.Replace(c, c.lower()) for c in string.ascii_uppercase])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab,
        special_tokens=CEPE_SPECIALS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    bos = CEPE_SPECIALS[1]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A", pair=f"{bos} $A {bos}:1 $B:1", special_tokens=[(bos, 1)]
    )
    return tokenizer


@dataclass(frozen=True)
class NameParts:
    """What the reader's vocabulary offers for invented names: whole words, and pieces of words. Names put
    together from them make sure that every token of a real name was copied in training."""

    words: list[str]
    pieces: list[str]


def name_parts(tokenizer: Tokenizer, common: set[str]) -> NameParts:
    """`common` are the words of the wordings, which no name is made of."""
    words, pieces = set(), set()
    for token in tokenizer.get_vocab():
        text = token.lstrip("Ġ")
        if len(text) > 1 and text.isascii() and text.isalpha():
            pieces.add(text)
            if token.startswith("Ġ") and len(text) > 2 and text not in common:
                words.add(text)
    return NameParts(sorted(words), sorted(pieces))


def load_tokenizer(folder: Path) -> Tokenizer:
    return Tokenizer.from_file(str(folder / "tokenizer.json"))
