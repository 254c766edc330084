"""Invented values for training: names that no reader can know, so that it has to read."""

import random
from collections.abc import Callable

from frames import filled, initial
from render import capital
from tokenizers_ import NameParts

FRAME_SHARE = 0.75  # of the values of types whose real values have frames
FRAMED = {"person", "place", "country", "title", "org", "name_like"}
ONSETS = "b c d f g h j k l m n p r s t v w z br ch cl cr dr fl fr gl gr kr kl ph pl pr qu sc sh sl sp st str th tr vl".split()
VOWELS = "a e i o u a e i o a e ai au ea ee ei ie io ou oo y".split()
CODAS = ["", "", "", "", "n", "r", "l", "s", "t", "m", "d", "k", "g", "nd", "rt", "ck", "ss", "ng", "rn", "ld", "x", "ll"]
FIRST = (
    "Anna Maria John William Peter Charles George Thomas James Robert Henry Louis Jean Paul Pierre Johann Karl Franz Friedrich Hans "
    "Antonio Giovanni Giuseppe Carlo Luigi Francesco Jose Juan Pablo Diego Ivan Sergei Nikolai Dmitri Alexander Igor Emily Jane Mary "
    "Elizabeth Margaret Charlotte Clara Marie Sofia Olga Ingrid Astrid Erik Lars Niels Jan Pieter Vincent Edvard Akira Hiroshi Kenji "
    "Haruki Yuki Mei Wei Ravi Arjun Indira Amir Omar Fatima Leila David Daniel Samuel Benjamin Isaac Albert Arthur Edward Frank Walter "
    "Oscar Edgar Virginia Agatha Ada Grace Rosa Frida Gabriel Jorge Miguel Fernando Marcel Claude Camille Hector Georges Victor Emile"
).split()
PLACE_ENDS = (
    "burg ville ton ford stad grad field mouth port haven pool ham wick by dorf heim polis abad pur nagar ia ana "
    "ona aza ello ino ara ova insk sk ice ec ac ay au is os as"
).split()
COUNTRY_ENDS = "ia land stan ania onia istan esia ey al an ique ador uay ela isia ova o".split()
TITLE_WORDS = (
    "night day river silent garden winter summer autumn spring last first dark golden silver broken lost hidden secret house king queen "
    "prince daughter son mother father sea mountain forest road city island stone fire water wind storm shadow light dream war peace love "
    "death life time moon sun star stars red blue white black green long short journey return song dance symphony concerto tale story "
    "letters memory bridge tower window door mirror bird horse wolf lion swan rose tree leaf rain snow ice glass iron paper wooden empty "
    "distant ancient young old great little blind brave quiet burning falling rising sleeping wandering forgotten eternal northern southern"
).split()
ORG_ENDS = ["Institute", "University", "Company", "Society", "Academy", "Museum", "College", "Works", "Club", "Union", "Laboratory", "Brothers"]
MONTHS = "January February March April May June July August September October November December".split()
NUMERALS = ["I", "II", "III", "IV", "VI", "VIII", "XIV"]

# The name of an invented entity, by kind; kinds of persons are always named as persons.
NAME_TYPES = {
    "country": "country",
    "capital": "place",
    "city": "place",
    "river": "place",
    "mountain": "mountain",
    "lake": "place",
    "island": "place",
    "desert": "place",
    "element": "name_like",
    "planet": "name_like",
    "moon": "name_like",
    "mineral": "name_like",
    "invention": "thing",
    "novel": "title",
    "painting": "title",
    "film": "title",
    "opera": "title",
    "battle": "event",
    "event": "event",
}

Maker = Callable[[random.Random], str]


def syllables(rng: random.Random, low: int, high: int) -> str:
    parts = [rng.choice(ONSETS) + rng.choice(VOWELS) + rng.choice(CODAS) for _ in range(rng.randint(low, high))]
    return ("" if rng.random() < 0.8 else rng.choice("aeiou")) + "".join(parts)


class Inventor:
    """Makes the values of one world by type."""

    def __init__(self, rng: random.Random, parts: NameParts):
        self.rng = rng
        self.parts = parts
        self.used: list[str] = []

    def word(self, low: int = 1, high: int = 2) -> str:
        """A capitalised word: a token of the vocabulary, several put together, or new syllables."""
        rng = self.rng
        shape = rng.random() if self.parts.words else 1.0
        if shape < 0.6:
            word = rng.choice(self.parts.words)
        elif shape < 0.85:
            word = "".join(rng.choice(self.parts.pieces) for _ in range(rng.choice((2, 2, 3))))[:12]
        else:
            word = syllables(rng, low, high)[:12]
        made = capital(word)
        self.used.append(made)
        return made

    def person(self) -> str:
        rng = self.rng
        first = rng.choice(FIRST) if rng.random() < 0.6 else self.word()
        last = self.word()
        shape = rng.random()
        if shape < 0.08:
            return f"{first} {rng.choice(('van', 'de', 'von', 'da', 'del', 'di', 'le'))} {last}"
        if shape < 0.2:
            return f"{first} {rng.choice(FIRST)} {last}"
        if shape < 0.27:
            return f"{first} {initial(rng)}. {last}"
        if shape < 0.33:
            return last
        if shape < 0.36:
            return f"{first} {rng.choice(NUMERALS)}"
        return f"{first} {last}"

    def place(self) -> str:
        rng = self.rng
        word = self.word() + (rng.choice(PLACE_ENDS) if rng.random() < 0.25 else "")
        shape = rng.random()
        if shape < 0.06:
            return f"{rng.choice(('New', 'San', 'Saint', 'Port', 'Santa', 'Great', 'Lake', 'Los', 'El'))} {word}"
        if shape < 0.12:
            return f"{word} {self.word()}"
        return word

    def mountain(self) -> str:
        return self.rng.choice(("Mount {}", "{}", "{}", "Monte {}", "Mont {}", "{} Peak")).format(self.place())

    def country(self) -> str:
        return self.word() + (self.rng.choice(COUNTRY_ENDS) if self.rng.random() < 0.4 else "")

    def title(self) -> str:
        rng = self.rng
        words = [rng.choice(TITLE_WORDS).title() if rng.random() < 0.7 else self.word() for _ in range(rng.randint(1, 2))]
        shape = rng.random()
        if shape < 0.3:
            return "The " + " ".join(words)
        if shape < 0.45:
            return f"{words[0]} of the {rng.choice(TITLE_WORDS).title()}"
        if shape < 0.55:
            return f"{words[0]} and {rng.choice(TITLE_WORDS).title()}"
        if shape < 0.6:
            return f"{words[0]} No. {rng.randint(1, 12)}"
        return " ".join(words)

    def org(self) -> str:
        return f"{self.word()} {self.rng.choice(ORG_ENDS)}"

    def name_like(self) -> str:
        return self.word() + self.rng.choice(("", "", "", "", "", "", "ium", "on", "ine", "us", "a"))

    def thing(self) -> str:
        rng = self.rng
        shape = rng.random()
        if shape < 0.4:
            return self.word() + rng.choice(("graph", "phone", "scope", "meter", "tor", "er", "ing", "machine"))
        if shape < 0.7:
            return f"{self.word()} {rng.choice(('engine', 'lamp', 'machine', 'wheel', 'press', 'cell', 'process', 'clock'))}"
        return self.word()

    def event(self) -> str:
        shapes = ("Battle of {}", "Treaty of {}", "{} War", "{} Revolution", "Siege of {}", "{} Games", "Fall of {}", "{} Expedition")
        return self.rng.choice(shapes).format(self.place())

    def year(self, low: int, high: int) -> str:
        return str(self.rng.randint(low, high))

    def date(self) -> str:
        return f"{self.rng.randint(1, 28)} {self.rng.choice(MONTHS)} {self.rng.randint(1200, 2020)}"

    def number(self, low: float, high: float, form: str) -> str:
        value = self.rng.randint(int(low), int(high)) if high - low >= 10 else self.rng.uniform(low, high)
        return form.format(n=value)

    def framed(self, frames: list[str]) -> str | None:
        """Now and then None, so that values of other shapes are made too."""
        if not frames or self.rng.random() > FRAME_SHARE:
            return None
        return filled(self.rng.choice(frames), self.gap, self.rng)

    def gap(self) -> str:
        """A new word, a common one, or one that another name of this world has: "Charles I" has his "Charles V"."""
        shape = self.rng.random()
        if shape < 0.15 and self.used:
            return self.rng.choice(self.used)
        return self.rng.choice(TITLE_WORDS).title() if shape < 0.3 else self.word()

    def value(self, spec: dict, pool: list[str], frames: list[str]) -> str:
        """One value of a relation; pools draw from the values of the real facts, `frames` are those of real values."""
        kind = spec["type"]
        if kind in FRAMED and (made := self.framed(frames)):
            return made
        if kind == "pool":
            return self.rng.choice(pool)
        if kind == "year":
            return self.year(*spec.get("range", (1000, 2020)))
        if kind == "number":
            return self.number(*spec["range"], spec.get("format", "{n}"))
        return getattr(self, kind)()

    def entity_name(self, kind: str, pronoun: str, frames: list[str]) -> str:
        if made := self.framed(frames):
            return made
        if pronoun == "person":
            return self.person()
        if pronoun == "event":
            return self.event()
        return getattr(self, NAME_TYPES.get(kind, "name_like"))()
