"""Training rows from invented worlds and from real text."""

import random
from dataclasses import dataclass, field

from packing import Prompts, Row, occurrences
from render import Passage
from samples import Question, World, WorldSampler
from settings import BOS, CEPE_VOCAB, EOS, PAD, WINDOW
from squad import RealPassage

QUESTIONS_PER_ENTITY = 8
QUESTIONS_PER_ROW = 4
NUMBER_SHARE = 0.4  # of the random tokens that are copied


@dataclass
class Story:
    """Passages in token ids with the spans of their titles, and rows of questions about them."""

    passages: list[list[int]] = field(default_factory=list)
    titles: list[tuple[int, int]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def add(self, other: "Story") -> None:
        """Puts another story's passages and rows behind this one's."""
        shift = len(self.passages)
        self.passages += other.passages
        self.titles += other.titles
        for row in other.rows:
            row.contexts = [c + shift for c in row.contexts]
            row.shown = {p + shift: start for p, start in row.shown.items()}
            row.support, row.stating, row.about = (
                [[p + shift for p in some] for some in passages] for passages in (row.support, row.stating, row.about)
            )
            self.rows.append(row)


@dataclass(frozen=True)
class Asked:
    """A question of a story: the passages that support its answer, others that (may) state it too, and all
    passages about what it asks for."""

    question: str
    answer: str
    support: list[int]
    stating: list[int]
    about: list[int]


def add_rows(story: Story, prompts: Prompts, asked: list[Asked]) -> None:
    """Rows of a few questions each, which so far see all passages."""
    for start in range(0, len(asked), QUESTIONS_PER_ROW):
        some = asked[start : start + QUESTIONS_PER_ROW]
        branches = [(prompts.branch(a.question, False), prompts.answer(a.answer)) for a in some]
        contexts = list(range(len(story.passages)))
        row = Row([BOS], branches, {}, contexts, [a.support for a in some])
        row.stating = [a.stating for a in some]
        row.about = [a.about for a in some]
        story.rows.append(row)


def continuation(tokens: list[int], start: int, length: int) -> tuple[list[int], list[int]]:
    """A branch that repeats up to `length` tokens from `start` on, of which the first four are given."""
    piece = tokens[start : start + length]
    return piece[:4], piece[4:]


class RowMaker:
    """`real` is the real text that may be trained on (none: only invented worlds)."""

    def __init__(self, prompts: Prompts, sampler: WorldSampler, real: list[RealPassage]):
        self.prompts, self.sampler = prompts, sampler
        self.real = [p for p in real if p.questions]
        self.numbers = prompts.number_tokens()

    def _branch(self, question: str, answer: str, after_blocks: bool) -> tuple[list[int], list[int]]:
        return self.prompts.branch(question, after_blocks), self.prompts.answer(answer)

    def story(self, passages: list[Passage] | list[RealPassage]) -> Story:
        """The passages in token ids, no questions yet."""
        return Story(
            [self.prompts.passage(p.title, p.text) for p in passages], [self.prompts.title_span(p.title) for p in passages]
        )

    def _name_in(self, prompt: list[int], name: str) -> tuple[int, int] | None:
        """Where the prompt first names the entity."""
        sought = self.prompts.ids(f" {name}")
        places = occurrences(prompt, sought)
        return (places[0], places[0] + len(sought)) if places else None

    def _prefix(self, before: list[list[int]], passages: list[list[int]], shown: list[int]) -> tuple[list[int], dict[int, int]]:
        """The prompt's passages `shown` behind the blocks `before`, as many as the window holds, and where
        each of them begins."""
        prefix = self.prompts.prefix(before)
        starts: dict[int, int] = {}
        for number in shown:
            gap = self.prompts.blank if len(prefix) > 1 else []
            if len(prefix) + len(gap) + len(passages[number]) > WINDOW - 90:
                break
            starts[number] = len(prefix) + len(gap)
            prefix = prefix + gap + passages[number]
        return prefix, starts

    def _demonstrations(self, world: World, exclude: set[int], rng: random.Random) -> list[list[int]]:
        """One or two answered questions, each with a passage that answers it, as blocks."""
        blocks: list[list[int]] = []
        for question in rng.sample(world.questions, min(len(world.questions), rng.choice((1, 2)))):
            support = world.supports(question)
            if not support or question.entity in exclude:
                continue
            p = world.passages[rng.choice(support)]
            blocks.append(self.prompts.passage(p.title, p.text))
            blocks.append(self.prompts.question(question.text) + self.prompts.ids(f" {question.answer}"))
        return blocks

    def reading_row(self, passages: int, rng: random.Random) -> Story:
        """Up to `passages` passages in the decoder's prompt and questions about them; now and then a
        question has no answer there and is refused, and with no passage all are."""
        world = self.sampler.world(max(1, passages - rng.randint(0, passages // 2)), 2, 10, rng)
        story = self.story(world.passages)
        shown = rng.sample(range(len(story.passages)), min(passages, len(story.passages)))
        before = self._demonstrations(world, {world.about[i] for i in shown}, rng) if rng.random() < 0.06 else []
        prefix, starts = self._prefix(before, story.passages, shown)
        support = [world.supports(q) for q in world.questions]
        answerable = [i for i, some in enumerate(support) if starts.keys() & set(some)]
        others = [i for i in range(len(support)) if i not in answerable]
        asked = rng.sample(answerable, min(12 if passages == 1 else 8, len(answerable)))
        if others and (not answerable or rng.random() < 0.5):
            asked += rng.sample(others, min(len(others), 1 if answerable else 6))
        branches = [self._branch(world.questions[i].text, world.questions[i].answer, len(prefix) > 1) for i in asked]
        branches = [(q, a if i in answerable else self.prompts.refusal()) for i, (q, a) in zip(asked, branches, strict=True)]
        names = [self._name_in(branch[0], world.names[world.questions[i].entity]) for i, branch in zip(asked, branches, strict=True)]
        story.rows.append(Row(prefix, branches, starts, support=[support[i] for i in asked], names=names))
        return story

    def real_row(self, rng: random.Random) -> Story:
        """One real passage in the prompt, and its questions."""
        passage = rng.choice(self.real)
        asked = rng.sample(passage.questions, min(6, len(passage.questions)))
        story = self.story([passage])
        prefix, starts = self._prefix([], story.passages, [0])
        branches = [self._branch(q, rng.choice(answers), True) for q, answers in asked]
        story.rows.append(Row(prefix, branches, starts, support=[[0]] * len(branches), names=[None] * len(branches)))
        return story

    def context_story(self, entities: int, in_prompt: bool, rng: random.Random) -> Story:
        """One world for the encoder, three passages an entity; every row asks a few questions about one
        entity and sees, so far, all passages (but those in its prompt)."""
        world = self.sampler.world(entities, 3, QUESTIONS_PER_ENTITY, rng)
        story = self.story(world.passages)
        for entity in sorted({q.entity for q in world.questions}):
            questions = [q for q in world.questions if q.entity == entity]
            for start in range(0, len(questions), QUESTIONS_PER_ROW):
                story.rows.append(self._context_row(world, story.passages, questions[start : start + QUESTIONS_PER_ROW], in_prompt, rng))
        return story

    def _context_row(
        self, world: World, encoded: list[list[int]], questions: list[Question], in_prompt: bool, rng: random.Random
    ) -> Row:
        shown = rng.sample(range(len(encoded)), min(len(encoded), rng.choice((1, 1, 2, 3)))) if in_prompt else []
        prefix, starts = self._prefix([], encoded, shown)
        branches = [self._branch(q.text, q.answer, bool(starts)) for q in questions]
        contexts = [i for i in range(len(encoded)) if i not in starts]
        row = Row(prefix, branches, starts, contexts, [world.supports(q) for q in questions])
        row.stating = [world.stating(q) for q in questions]
        row.about = [world.passages_about(q) for q in questions]
        return row

    def copying_story(self, rng: random.Random) -> Story:
        """Two passages of random tokens for the encoder, and a row for each that continues it from a few of them.
        Answers seldom hold most of the vocabulary, least of all the digits of large numbers; here all of it is copied,
        and the digits most often."""
        story = self.story(self.sampler.world(2, 1, 0, rng).passages)
        for number, passage in enumerate(story.passages):
            start = story.titles[number][1]
            passage[start:] = [self._any_token(rng) for _ in range(48)]
            branches = [continuation(passage, rng.randrange(start, len(passage) - 16), 16) for _ in range(3)]
            story.rows.append(Row([BOS], branches, {}, list(range(len(story.passages))), [[number]] * len(branches)))
        return story

    def _any_token(self, rng: random.Random) -> int:
        return rng.choice(self.numbers) if rng.random() < NUMBER_SHARE else rng.randrange(max(PAD, BOS, EOS) + 1, CEPE_VOCAB)
