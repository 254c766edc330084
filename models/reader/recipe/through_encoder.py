"""Questions and copies that are answered through the encoder: one set of passages a step, encoded once for all of them."""

import random
from dataclasses import dataclass

import torch
from torch import Tensor

from reading import Paragraph, Prompts, Row, Rows, pack

CUE, COPIED = 4, 28  # tokens of a copy's beginning, and of what follows it
REFUSED = 0.12
PROMPTED = 3  # passages in the prompt, at most


@dataclass(frozen=True)
class Task:
    """Rows of tokens ids [B,L] at positions [L] under a bias; `reader` [B*L] is the row of `readable` [readers, passages] that says
    what a token may read in the encoder. `at` are flat places that predict `targets`; `branch` numbers their questions."""

    ids: Tensor
    positions: Tensor
    bias: Tensor
    reader: Tensor
    readable: Tensor
    at: Tensor
    targets: Tensor
    branch: Tensor
    weights: Tensor
    copies: Tensor  # [branches] bool


class Tasks:
    def __init__(self, prompts: Prompts, rows: Rows):
        self.prompts, self.rows = prompts, rows

    def passages(self, count: int, rng: random.Random) -> list[int]:
        """Paragraphs of which about half are near another."""
        shown = [rng.randrange(len(self.rows.paragraphs))]
        while len(shown) < count:
            near = [i for i in self.rows.near[rng.choice(shown)] if i not in shown]
            chosen = rng.choice(near) if near and rng.random() < 0.5 else rng.randrange(len(self.rows.paragraphs))
            shown += [chosen] if chosen not in shown else []
        rng.shuffle(shown)
        return shown

    def answered(self, index: int, rng: random.Random) -> list[tuple[str, str]]:
        return [(q, rng.choice(answers)) for q, answers in self.rows.paragraphs[index].questions]

    def branch(self, question: str, answer: str, prefixed: bool, rng: random.Random) -> tuple[list[int], list[int]]:
        typed = question.lower().rstrip("? ") if rng.random() < 0.3 else question
        return self.prompts.question(typed, prefixed), self.prompts.answer(answer)

    def reading(self, shown: list[int], ids: list[list[int]], questions: int, copies: int, refuse: bool, rng: random.Random) -> Task:
        """No passage in the prompt; each branch reads one to all of the passages."""
        count = len(shown)
        asked = [(at, q, a) for at, index in enumerate(shown) for q, a in self.answered(index, rng)]
        branches, readable, copied = [], [], []
        for at, question, answer in rng.sample(asked, min(questions, len(asked))):
            others = [i for i in range(count) if i != at]
            allowed = rng.sample(others, min(rng.choice((0, 0, 1, 3, 7, count)), len(others)))
            if refuse and allowed and rng.random() < REFUSED:
                text = " ".join(self.rows.paragraphs[shown[i]].text for i in allowed).lower()
                answer = answer if answer.lower() in text else ""
            else:
                allowed.append(at)
            branches.append(self.branch(question, answer, False, rng))
            readable.append([i in allowed for i in range(count)])
            copied.append(False)
        for at in rng.sample(range(count), min(copies, count)):
            start = rng.randrange(max(1, len(ids[at]) - CUE - COPIED))
            piece = ids[at][start : start + CUE + COPIED]
            if len(piece) > CUE:
                branches.append((piece[:CUE], piece[CUE:]))
                readable.append([i == at for i in range(count)])
                copied.append(True)
        return alone(branches, readable, copied)

    def beside_prompt(self, shown: list[int], questions: int, rng: random.Random) -> Task:
        """One to three passages in the prompt, all others in the encoder: the answer is in either, or nowhere."""
        prompted = [i for i in self.passages(rng.randint(1, PROMPTED), rng) if i not in shown]
        paragraphs = self.rows.paragraphs
        prefix = self.prompts.prefix([paragraphs[i] for i in prompted])
        asked = [pair for i in prompted for pair in self.answered(i, rng)]
        asked = rng.sample(asked, min(questions // 3, len(asked)))
        encoded = [pair for i in shown for pair in self.answered(i, rng)]
        asked += rng.sample(encoded, min(questions - len(asked), len(encoded)))
        text = " ".join(paragraphs[i].text for i in [*prompted, *shown]).lower()
        for _ in range(round(REFUSED * questions)):
            question, answer = rng.choice(self.answered(rng.choice(self.rows.near[rng.choice(shown)] or shown), rng) or [("", "")])
            if question and answer.lower() not in text:
                asked.append((question, ""))
        branches = [self.branch(q, a, bool(prompted), rng) for q, a in rng.sample(asked, len(asked))]
        return behind(Row(prefix, branches), len(shown))


def weights_of(branch: Tensor, copies: Tensor) -> Tensor:
    """A copy counts as one, an answer by its tokens."""
    lengths = torch.bincount(branch, minlength=len(copies)).float()[branch]
    return torch.where(copies[branch], 1 / lengths, torch.full_like(lengths, 0.25))


def alone(branches: list[tuple[list[int], list[int]]], readable: list[list[bool]], copied: list[bool]) -> Task:
    """Each branch a row of its own, padded at its end, where causality hides it."""
    rows = [prompt + answer[:-1] for prompt, answer in branches]
    longest = max(map(len, rows))
    places = [(number * longest + len(p) - 1 + i, number) for number, (p, a) in enumerate(branches) for i in range(len(a))]
    at, branch = (torch.tensor(column) for column in zip(*places, strict=True))
    copies = torch.tensor(copied)
    return Task(
        ids=torch.tensor([row + [0] * (longest - len(row)) for row in rows]),
        positions=torch.arange(longest),
        bias=torch.full((longest, longest), -1e4, dtype=torch.bfloat16).triu(1)[None, None],
        reader=torch.arange(len(rows)).repeat_interleave(longest),
        readable=torch.tensor(readable),
        at=at,
        targets=torch.tensor([token for _, answer in branches for token in answer]),
        branch=branch,
        weights=weights_of(branch, copies),
        copies=copies,
    )


def behind(row: Row, passages: int) -> Task:
    """Branches behind one prompt; all may read all passages."""
    p, copies = pack(row), torch.zeros(len(row.branches), dtype=torch.bool)
    free = torch.ones(1, passages, dtype=torch.bool)
    first = torch.zeros_like(p.ids)
    return Task(p.ids[None], p.positions, p.bias, first, free, p.at, p.targets, p.branch, weights_of(p.branch, copies), copies)


def cross_bias(task: Task, owner: Tensor) -> Tensor:
    """[1,1,B*L,T] for passages' tokens of `owner` [T]."""
    allowed = task.readable[:, owner][task.reader]
    return torch.zeros(allowed.shape, dtype=torch.bfloat16).masked_fill(~allowed, -1e4)[None, None]


def encoder_ids(prompts: Prompts, paragraphs: list[Paragraph]) -> list[list[int]]:
    return [prompts.prefix([p]) for p in paragraphs]
