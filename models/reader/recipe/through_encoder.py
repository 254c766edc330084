"""Questions that are answered through the encoder: one set of passages a step, encoded once for all of them."""

import random
from dataclasses import dataclass

import torch
from torch import Tensor

from base_model import COMPUTED_IN
from reading import Paragraph, Prompts, Row, Rows, pack

REFUSED = 0.12
PROMPTED = 3  # passages in the prompt, at most
LOWER = 0.3  # of the questions are typed in lower case without a question mark


@dataclass(frozen=True)
class Task:
    """A packed row of branches: ids and positions [L] under a bias; `reader` [L] is the row of `readable` [readers, passages] that says what
    a token may read in the encoder. `at` are the places that predict `targets`; `branch` numbers their questions."""

    ids: Tensor
    positions: Tensor
    bias: Tensor
    reader: Tensor
    readable: Tensor
    at: Tensor
    targets: Tensor
    branch: Tensor
    branches: int


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
        self.skipped = len(prompts.question("", True)) - len(prompts.question("", False))

    def passages(self, count: int, rng: random.Random) -> list[int]:
        """Paragraphs of which about half are near another."""
        shown = [rng.randrange(len(self.rows.paragraphs))]
        while len(shown) < count:
            near = [i for i in self.rows.near[rng.choice(shown)] if i not in shown]
            chosen = rng.choice(near) if near and rng.random() < 0.5 else rng.randrange(len(self.rows.paragraphs))
            shown += [chosen] if chosen not in shown else []
        rng.shuffle(shown)
        return shown

    def encoded(self, shown: list[int]) -> list[list[int]]:
        return [self.prompts.prefix([self.rows.paragraphs[i]]) for i in shown]

    def branches(self, index: int, count: int, prefixed: bool, rng: random.Random) -> list[tuple[list[int], list[int]]]:
        asked = self.rows.paragraphs[index].questions
        out = []
        for question, answers in rng.sample(asked, min(count, len(asked))):
            typed = question.lower().rstrip("? ") if rng.random() < LOWER else question
            out.append((self.prompts.question(typed, prefixed), self.prompts.answer(rng.choice(answers))))
        return out

    def asked(self, count: int, questions: int, most: int, rng: random.Random) -> Asked:
        """`count` passages and up to `questions` questions about them; each reads its passage and up to `most` others."""
        shown = self.passages(count, rng)
        passages, rows, branches, readable = self.encoded(shown), [], [], []
        for at, index in enumerate(shown):
            own = self.branches(index, max(3, round(questions / count)), True, rng)
            rows.append(Row(passages[at], own))
            for prompt, answer in own:
                others = rng.sample([i for i in range(count) if i != at], min(rng.choice((0, 0, 1, most)), count - 1))
                branches.append((prompt[self.skipped :], answer))
                readable.append([i == at or i in others for i in range(count)])
        # Answers weigh more: in an answer each token tells whether the right place was found.
        weights = torch.tensor([1.0 if i < len(p) - 1 else 3.0 for p, a in branches for i in range(len(p) + len(a) - 1)])
        return Asked(shown, passages, task_of(Row([], branches), torch.tensor(readable), True), rows, weights / weights.sum())

    def beside_prompt(self, shown: list[int], questions: int, rng: random.Random) -> Task:
        """One to three passages in the prompt, those shown in the encoder: the answer is in either, or nowhere."""
        prompted = [i for i in self.passages(rng.randint(1, PROMPTED), rng) if i not in shown]
        paragraphs = self.rows.paragraphs
        branches = [pair for i in prompted for pair in self.branches(i, 2, bool(prompted), rng)][: questions // 3]
        encoded = [pair for i in shown for pair in self.branches(i, 3, bool(prompted), rng)]
        branches += rng.sample(encoded, min(questions - len(branches), len(encoded)))
        text = " ".join(paragraphs[i].text for i in [*prompted, *shown]).lower()
        for _ in range(round(REFUSED * questions)):
            other = rng.choice(self.rows.near[rng.choice(shown)] or shown)
            for question, answers in rng.sample(paragraphs[other].questions, min(1, len(paragraphs[other].questions))):
                if not any(answer.lower() in text for answer in answers):
                    branches.append((self.prompts.question(question, bool(prompted)), self.prompts.answer("")))
        prefix = self.prompts.prefix([paragraphs[i] for i in prompted])
        return task_of(Row(prefix, rng.sample(branches, len(branches))), torch.ones(1, len(shown), dtype=torch.bool), False)


def task_of(row: Row, readable: Tensor, each: bool) -> Task:
    """@param each: a row of `readable` for each branch, else one for all"""
    p = pack(row)
    reader = p.segment - 1 if each else torch.zeros_like(p.segment)
    return Task(p.ids[None], p.positions, p.bias, reader, readable, p.at, p.targets, p.branch, len(row.branches))


def cross_bias(task: Task, owner: Tensor) -> Tensor:
    """[1,1,L,T] for passages' tokens of `owner` [T]."""
    allowed = task.readable[:, owner][task.reader]
    return torch.zeros(allowed.shape, dtype=COMPUTED_IN).masked_fill(~allowed, -1e4)[None, None]
