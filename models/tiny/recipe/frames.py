"""Frames of real values: words that several of them share stay, as do words that only link; the others become
gaps for invented words. "Lake Geneva" among lakes gives "Lake {}", "the Han River" among rivers "the {} River".
So invented values are built as the real ones are."""

import random
import re
from collections import Counter
from collections.abc import Callable

WORD = re.compile(r"[^\W\d_]+")
LINKS = set("the of and a an in on at to for from with by de da del della di do dos du des et la le les el von van der".split())


def frames(values: list[str]) -> list[str]:
    """One frame for each value; in it, `{W}` stands for a capitalised word, `{w}` for one in lower case and
    `{I}` for an initial."""
    shared = Counter(word for value in values for word in set(WORD.findall(value)))

    def gap(match: re.Match[str]) -> str:
        word = match.group()
        if shared[word] > 1 or word.lower() in LINKS or word == "s":
            return word
        return "{I}" if len(word) == 1 else "{W}" if word[0].isupper() else "{w}"

    return [WORD.sub(gap, value) for value in values]


def initial(rng: random.Random) -> str:
    return chr(ord("A") + rng.randrange(26))


def filled(frame: str, word: Callable[[], str], rng: random.Random) -> str:
    """The frame with invented words (capitalised, from `word`) in its gaps."""

    def fill(match: re.Match[str]) -> str:
        if match.group(1) == "I":
            return initial(rng)
        made = word()
        return made if match.group(1) == "W" else made.lower()

    return re.sub(r"\{([WwI])\}", fill, frame)
