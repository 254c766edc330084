"""Stories of real text: paragraphs of a few articles, whole or a few sentences of them, with the questions that
people asked about them and questions made by rule."""

import random
from dataclasses import dataclass

from cloze import cloze_of, sentences
from exchange import exchange
from names import Inventor
from packing import Prompts, occurrences
from render import roughen
from rows import Asked, Story, add_rows
from squad import RealPassage
from tokenizers_ import NameParts

LONGEST_ANSWER = 7  # words
ASKED = 5  # questions of a passage, at most
WINDOW_SHARE = 0.5  # of the passages are a few sentences of a paragraph
EXCHANGE_SHARE = 0.4  # of the passages get other names and numbers
ROUGH_SHARE = 0.35  # of the questions are typed as people type them


@dataclass(frozen=True)
class Piece:
    """A passage with questions, each with its possible answers."""

    title: str
    text: str
    questions: list[tuple[str, list[str]]]


class RealStories:
    def __init__(self, prompts: Prompts, real: list[RealPassage], parts: NameParts):
        self.prompts, self.parts = prompts, parts
        self.articles: dict[str, list[RealPassage]] = {}
        for passage in real:
            if passage.questions:
                self.articles.setdefault(passage.title, []).append(passage)

    def story(self, count: int, rng: random.Random) -> Story:
        """About `count` passages of one to four articles, and rows that each ask about one of them."""
        titles = rng.sample(sorted(self.articles), rng.choice((1, 2, 2, 4)))
        fitting = [p for title in titles for p in self.articles[title]]
        pieces = [self._piece(p, rng) for p in rng.sample(fitting, min(count, len(fitting)))]
        story = Story(
            [self.prompts.passage(p.title, p.text) for p in pieces], [self.prompts.title_span(p.title) for p in pieces]
        )
        for number, piece in enumerate(pieces):
            about = [i for i, other in enumerate(pieces) if other.title == piece.title]
            asked = [self._asked(q, answers, number, about, story.passages, rng) for q, answers in self._questions(piece, rng)]
            add_rows(story, self.prompts, [a for a in asked if a is not None])
        return story

    def _piece(self, passage: RealPassage, rng: random.Random) -> Piece:
        text = passage.text
        if rng.random() < WINDOW_SHARE:
            said = sentences(text)
            size = rng.randint(2, 4)
            start = rng.randint(0, max(0, len(said) - size))
            text = " ".join(said[start : start + size])
        questions = [(q, [a for a in answers if a in text and len(a.split()) <= LONGEST_ANSWER]) for q, answers in passage.questions]
        questions = [(q, sorted(set(answers), key=len)[:2]) for q, answers in questions if answers]
        if rng.random() < EXCHANGE_SHARE:
            texts = [text, passage.title, *(t for q, answers in questions for t in (q, *answers))]
            text, title, *rest = exchange(texts, Inventor(rng, self.parts), rng)
            turned = iter(rest)
            return Piece(title, text, [(next(turned), [next(turned) for _ in answers]) for _, answers in questions])
        return Piece(passage.title, text, questions)

    def _questions(self, piece: Piece, rng: random.Random) -> list[tuple[str, list[str]]]:
        asked = [(roughen(q, rng) if rng.random() < ROUGH_SHARE else q, answers) for q, answers in piece.questions]
        asked = rng.sample(asked, min(ASKED, len(asked)))
        said = sentences(piece.text)
        for _ in range(max(1, 3 - len(asked))):
            made = cloze_of(rng.choice(said), piece.title, rng)
            if made:
                asked.append((made.question.lower() if rng.random() < 0.5 else made.question, [made.answer]))
        return asked

    def _asked(
        self, question: str, answers: list[str], number: int, about: list[int], passages: list[list[int]], rng: random.Random
    ) -> Asked | None:
        """The question with one of the answers that the passage's tokens hold, if they hold any; other passages
        that hold it may state it too."""
        for answer in rng.sample(answers, len(answers)):
            said = self.prompts.answer(answer)[:-1]
            if occurrences(passages[number], said):
                stating = [i for i, tokens in enumerate(passages) if i != number and occurrences(tokens, said)]
                return Asked(question, answer, [number], stating, about)
        return None
