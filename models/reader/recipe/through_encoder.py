"""Questions that are answered through the encoder: one set of passages a step, encoded once for all of them."""

import random
from dataclasses import dataclass

import torch
from torch import Tensor

from cepe import Projection, bias_from
from reader_model import Shared
from reading import Packed, Prompts, Row, Rows, pack, typed

REFUSED = 0.2  # questions that a passage does not answer, for each that it does
DENSE = 45  # tokens of a passage for each of its questions, at most: a step's time goes into the passages
PROMPTED = 3  # passages in the prompt, at most
ENCODED = 20  # passages that a question may read in the encoder, at most


@dataclass(frozen=True)
class Task(Packed):
    """`reader` [B*L] is the row of `readable` [readers, passages] that says what a token may read in the encoder."""

    reader: Tensor
    readable: Tensor


@dataclass(frozen=True)
class Asked:
    """Questions about passages: those that are shown, as token ids; the questions without a passage in the prompt; the same as rows that
    have the right passage in the prompt, for the teacher; the weights of their tokens, which sum to one."""

    shown: list[int]
    passages: list[list[int]]
    task: Task
    rows: list[Row]
    weights: Tensor


class Tasks:
    def __init__(self, prompts: Prompts, rows: Rows):
        self.prompts, self.rows = prompts, rows
        self.drawn = [i for i, p in enumerate(rows.paragraphs) if len(prompts.encoded(p)) <= DENSE * len(p.questions)]
        if not self.drawn:
            raise SystemExit(f"--data: no paragraph has a question for each {DENSE} of its tokens; give shorter paragraphs or more questions")

    def passages(self, count: int, rng: random.Random) -> list[int]:
        """Paragraphs with questions enough, of which about half are near another."""
        return self.rows.shown(rng.choice(self.drawn), count, self.drawn, 0.5, rng) if count else []

    def encoded(self, shown: list[int]) -> list[list[int]]:
        return [self.prompts.encoded(self.rows.paragraphs[i]) for i in shown]

    def branches(self, index: int, count: int, rng: random.Random) -> list[tuple[list[int], list[int]]]:
        asked, p = self.rows.paragraphs[index].questions, self.prompts
        return [(p.question(typed(q, rng)), p.answer(rng.choice(answers))) for q, answers in rng.sample(asked, min(count, len(asked)))]

    def refused(self, shown: list[int], text: str, count: int, rng: random.Random) -> list[tuple[list[int], list[int]]]:
        """Up to `count` questions about passages near one of `shown`, whose answers do not stand in `text`."""
        out = []
        for _ in range(count):
            other = self.rows.paragraphs[rng.choice(self.rows.near.paragraphs[rng.choice(shown)] or shown)]
            for question, answers in rng.sample(other.questions, min(1, len(other.questions))):
                if not any(answer.lower() in text.lower() for answer in answers):
                    out.append((self.prompts.question(question), self.prompts.answer("")))
        return out

    def asked(self, count: int, questions: int, others: tuple[int, ...], rng: random.Random) -> Asked:
        """`count` passages and up to `questions` questions about them. Each question reads its passage and one of `others` further ones,
        those near its own first."""
        shown = self.passages(count, rng)
        count = len(shown)
        passages, rows, branches, readable = self.encoded(shown), [], [], []
        for at, index in enumerate(shown):
            own = self.branches(index, max(3, round(questions / count)), rng)
            text = self.rows.paragraphs[index].text
            wrong = self.refused([index], text, int(REFUSED * len(own) + rng.random()), rng)
            rows.append(Row(self.prompts.prefix([self.rows.paragraphs[index]]), [*own, *wrong]))
            near = [i for i in range(count) if shown[i] in self.rows.near.paragraphs[index]]
            far = [i for i in range(count) if i != at and i not in near]
            for number, (prompt, answer) in enumerate(rows[-1].branches):
                wanted = rng.choice(others) if number < len(own) else 0
                beside = [*rng.sample(near, len(near)), *rng.sample(far, len(far))][:wanted]
                branches.append((prompt, answer))
                readable.append([i == at or i in beside for i in range(count)])
        # Answers weigh more: in an answer each token tells whether the right place was found.
        weights = torch.tensor([1.0 if i < len(p) - 1 else 3.0 for p, a in branches for i in range(len(p) + len(a) - 1)])
        return Asked(shown, passages, task_of([Row([], branches)], torch.tensor(readable)), rows, weights / weights.sum())

    def beside_prompt(self, shown: list[int], rows: int, questions: int, rng: random.Random) -> Task:
        """Rows with up to three passages in the prompt and some of those shown in the encoder: the answer is in either, or nowhere."""
        made, readable = [], []
        for _ in range(rows):
            encoded = rng.sample(shown, min(rng.randint(1, ENCODED), len(shown)))
            made.append(self.row_beside(encoded, questions, rng))
            readable.append([i in encoded for i in shown])
        return task_of(made, torch.tensor(readable))

    def row_beside(self, encoded: list[int], questions: int, rng: random.Random) -> Row:
        paragraphs = self.rows.paragraphs
        prompted = [i for i in self.passages(rng.randint(0, PROMPTED), rng) if i not in encoded]
        branches = [pair for i in prompted for pair in self.branches(i, 2, rng)][: questions // 3]
        others = [pair for i in encoded for pair in self.branches(i, 3, rng)]
        branches += rng.sample(others, min(questions - len(branches), len(others)))
        text = " ".join(paragraphs[i].text for i in [*prompted, *encoded])
        branches += self.refused(encoded, text, round(REFUSED / 2 * questions), rng)
        return Row(self.prompts.prefix([paragraphs[i] for i in prompted]), rng.sample(branches, len(branches)))


def task_of(rows: list[Row], readable: Tensor) -> Task:
    """@param readable: a line for each row, or for each branch of the only row"""
    p = pack(rows)
    row = torch.arange(len(rows))[:, None].expand(p.ids.shape).flatten()
    return Task(**vars(p), reader=p.segment[0] - 1 if len(rows) == 1 and len(readable) > 1 else row, readable=readable)


def context_of(task: Task, states: Tensor, owner: Tensor) -> Shared:
    """What a task's tokens read: states [T,d] of tokens of the passages `owner` [T]."""
    return Shared(states, bias_from(task.readable[:, owner][task.reader])[None, None].to(Projection.kind))
