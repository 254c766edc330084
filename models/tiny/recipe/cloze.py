"""Questions made by rule from any sentence of any passage: a name, a number or a noun phrase becomes a question word."""

import random
import re
from dataclasses import dataclass

SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])")
NAME = re.compile(r"(?<![.!?] )(?<!^)(?<!\w)[A-Z][\w'-]*[a-z0-9](?: (?:of |de |von |van |the )?[A-Z][\w'-]*[a-z0-9])*")
NUMBER = re.compile(r"(?<![\w.,])\d[\d,.]*\d(?![\w%])|(?<![\w.,])\d(?![\w.,%])")
PHRASE = re.compile(
    r"(?:(?<=\ba )|(?<=\ban )|(?<=\bthe ))(?:[a-z-]+ ){0,2}[a-z-]{4,}(?= (?:of|in|on|at|by|for|with|to|and|that|which|from|was|is)\b|[,.;])"
)
YEAR = re.compile(r"1[0-9]{3}|20[0-2][0-9]")
PRONOUN = re.compile(r"^(?:He|She|It|They)\b")
WORDS = {
    "year": ("when", "which year", "what year", "in which year"),
    "number": ("how many", "what number", "how much"),
    "name": ("who", "what", "where", "which", "which place", "which person"),
    "phrase": ("what", "what kind of thing", "which thing"),
}
REACH = (3, 9)  # words kept on either side of the gap


@dataclass(frozen=True)
class Cloze:
    question: str
    answer: str


def sentences(text: str) -> list[str]:
    return SENTENCE.split(text)


def cloze_of(sentence: str, title: str, rng: random.Random) -> Cloze | None:
    """"He later founded a home for musicians in Milan." (Verdi) becomes "verdi later founded a home for musicians
    in where", answer Milan; None where the sentence has nothing to ask for."""
    found = [("year" if YEAR.fullmatch(m.group()) else "number", m) for m in NUMBER.finditer(sentence)]
    found += [("name", m) for m in NAME.finditer(sentence) if m.group() not in title]
    found += [("phrase", m) for m in PHRASE.finditer(sentence)]
    if not found:
        return None
    sort, span = rng.choice(found)
    before, after = sentence[: span.start()].split(), sentence[span.end() :].rstrip(".!?").split()
    if len(before) + len(after) < REACH[0]:
        return None
    start = max(0, len(before) - rng.randint(*REACH))
    kept = " ".join(before[start:])
    if start == 0:
        kept = PRONOUN.sub(title, kept)
    elif rng.random() < 0.6:
        kept = f"{title} {kept}" if rng.random() < 0.5 else f"{kept}"
    asked = f"{kept} {rng.choice(WORDS[sort])} {' '.join(after[: rng.randint(*REACH)])}".strip(" ,;")
    if rng.random() < 0.25 and title not in asked:
        asked = f"{asked}, {title}" if rng.random() < 0.5 else f"about {title}: {asked}"
    return Cloze(f"{asked}?", span.group())
