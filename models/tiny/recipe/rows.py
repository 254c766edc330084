"""Training rows from invented worlds and from real text."""

import random

from packing import Prompts, Row
from samples import Question, World, WorldSampler
from settings import BOS, WINDOW
from squad import RealPassage

QUESTIONS_PER_ENTITY = 12
QUESTIONS_PER_ROW = 6


class RowMaker:
    """`real` is the real text that may be trained on (none: only invented worlds)."""

    def __init__(self, prompts: Prompts, sampler: WorldSampler, real: list[RealPassage]):
        self.prompts, self.sampler = prompts, sampler
        self.real = [p for p in real if p.questions]

    def _branch(self, question: str, answer: str, after_blocks: bool) -> tuple[list[int], list[int]]:
        return self.prompts.branch(question, after_blocks), self.prompts.answer(answer)

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

    def reading_row(self, passages: int, rng: random.Random) -> Row:
        """Up to `passages` passages in the decoder's prompt and questions about them; one question in
        about ten has no answer there."""
        world = self.sampler.world(max(1, (passages + 2) // 2), 2, 10, rng)
        shown = rng.sample(range(len(world.passages)), min(passages, len(world.passages)))
        blocks: list[list[int]] = []
        if rng.random() < 0.08:
            blocks = self._demonstrations(world, {world.about[i] for i in shown}, rng)
        for i in shown:
            block = self.prompts.passage(world.passages[i].title, world.passages[i].text)
            if sum(map(len, blocks)) + len(block) < WINDOW - 90:
                blocks.append(block)
            else:
                shown = shown[: shown.index(i)]
                break
        seen = set(shown)
        answerable = [q for q in world.questions if seen & set(world.supports(q))]
        others = [q for q in world.questions if not seen & set(world.supports(q))]
        asked = rng.sample(answerable, min(12 if passages == 1 else 8, len(answerable)))
        if others and rng.random() < 0.5:
            asked.append(rng.choice(others))
        return Row(self.prompts.prefix(blocks), [self._branch(q.text, q.answer, bool(blocks)) for q in asked])

    def real_row(self, rng: random.Random) -> Row:
        """One real passage and its questions."""
        passage = rng.choice(self.real)
        asked = rng.sample(passage.questions, min(6, len(passage.questions)))
        prefix = self.prompts.prefix([self.prompts.passage(passage.title, passage.text)])
        return Row(prefix, [self._branch(q, rng.choice(answers), True) for q, answers in asked])

    def context_rows(self, entities: int, in_prompt: bool, rng: random.Random) -> tuple[list[list[int]], list[Row]]:
        """One world for the encoder: its passages, and rows that each see a random part of them.

        A row asks a few questions about one entity. For most of them a passage with the answer is among
        the row's contexts or in its prompt; for the others none is, so that doubt is learned.
        """
        world = self.sampler.world(entities, 3, QUESTIONS_PER_ENTITY, rng)
        encoded = [self.prompts.passage(p.title, p.text) for p in world.passages]
        rows: list[Row] = []
        for entity in sorted({q.entity for q in world.questions}):
            questions = [q for q in world.questions if q.entity == entity]
            for start in range(0, len(questions), QUESTIONS_PER_ROW):
                asked = questions[start : start + QUESTIONS_PER_ROW]
                rows.append(self._context_row(world, encoded, asked, in_prompt, rng))
        return encoded, rows

    def real_context_rows(self, count: int, rng: random.Random) -> tuple[list[list[int]], list[Row]]:
        """Real passages of one article for the encoder, and a row of questions about each."""
        title = rng.choice(self.real).title
        chosen = rng.sample([p for p in self.real if p.title == title], count)
        encoded = [self.prompts.passage(p.title, p.text) for p in chosen]
        out: list[Row] = []
        for number, passage in enumerate(chosen):
            seen = {number, *rng.sample(range(count), rng.randint(0, count))}
            asked = rng.sample(passage.questions, min(3, len(passage.questions)))
            branches = [self._branch(q, rng.choice(a), False) for q, a in asked]
            out.append(Row([BOS], branches, sorted(seen), [[number]] * len(branches)))
        return encoded, out

    def _context_row(
        self, world: World, encoded: list[list[int]], questions: list[Question], in_prompt: bool, rng: random.Random
    ) -> Row:
        total = len(world.passages)
        seen = set(rng.sample(range(total), rng.randint(max(1, total // 4), total)))
        for question in questions:
            # context masking: now and then an entity's passages are all hidden
            support = world.supports(question)
            if support and rng.random() < 0.9:
                seen.add(rng.choice(support))
        blind = {q.entity for q in questions if rng.random() < 0.04}
        seen -= {i for i in seen if world.about[i] in blind}
        prefix: list[list[int]] = []
        if in_prompt:
            for i in rng.sample(sorted(seen), min(len(seen), rng.choice((1, 2, 3)))):
                if sum(map(len, prefix)) + len(encoded[i]) < WINDOW - 100:
                    prefix.append(encoded[i])
                    seen.discard(i)
        if not seen:  # a row always has a context: with none the decoder is alone, and it is frozen
            seen = {rng.randrange(total)}
        asked = [self._branch(q.text, q.answer, bool(prefix)) for q in questions]
        return Row(self.prompts.prefix(prefix), asked, sorted(seen), [world.supports(q) for q in questions])
