"""Other names and numbers for those of a text, the same in its title, its questions and their answers: so that what
a text says has to be read each time anew."""

import random
import re

from names import MONTHS, Inventor

CAPITAL = re.compile(r"(?<=[a-z0-9,;] )[A-Z][a-z]{2,}\b")
NUMBER = re.compile(r"(?<![\w.,])\d{2,4}(?![\w%]|[.,]\d)")
KEPT = {*MONTHS, "The", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}


def another_number(number: str, rng: random.Random) -> str:
    """As many digits; a year stays within a lifetime of itself."""
    value = int(number)
    if 1000 <= value <= 2030:
        return str(min(2025, max(1000, value + rng.randint(-70, 70))))
    return str(rng.randint(10 ** (len(number) - 1), 10 ** len(number) - 1))


def exchange(texts: list[str], inventor: Inventor, rng: random.Random, share: float = 0.7) -> list[str]:
    """The texts with about `share` of the capitalised words and numbers of the first replaced in all of them."""
    source = texts[0]
    words = sorted({w for w in CAPITAL.findall(source) if w not in KEPT and rng.random() < share})
    others = {word.lower(): inventor.word() for word in words}
    numbers = sorted({n for n in NUMBER.findall(source) if rng.random() < share})
    others |= {number: another_number(number, rng) for number in numbers}
    if not others:
        return texts
    known = re.compile(rf"\b(?:{'|'.join(map(re.escape, others))})\b", re.IGNORECASE)
    # Letters that match without case need not be equal in lower case (the Turkish capital with a dot).
    return [known.sub(lambda match: others.get(match.group().lower(), match.group()), text) for text in texts]
