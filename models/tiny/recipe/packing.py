"""Prompts as token rows. One row holds a prefix (passages in the decoder's own prompt) and several
questions about it; each question sees the prefix and itself only, at the positions that it would have
alone. So a passage is read once for all of its questions, and each question's logits are exactly those
of its own prompt."""

from dataclasses import dataclass, field

import torch
from tokenizers import Tokenizer
from torch import Tensor

from model import bias_from
from settings import BOS, CONTEXT_TOKENS, PAD


class Prompts:
    """The prompt protocol (section 4.2 of the paper) in token ids, without BOS unless said."""

    def __init__(self, tokenizer: Tokenizer):
        self.tokenizer = tokenizer
        self.blank = self.ids("\n\n")

    def ids(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def passage(self, title: str, text: str) -> list[int]:
        return self.ids(f"Document (Title: {title}): {text}")[:CONTEXT_TOKENS]

    def question(self, text: str) -> list[int]:
        return self.ids(f"Question: {text}\nAnswer:")

    def answer(self, text: str) -> list[int]:
        return self.ids(f" {text}\n")

    def prefix(self, blocks: list[list[int]]) -> list[int]:
        """BOS and the blocks joined by blank lines."""
        out = [BOS]
        for number, block in enumerate(blocks):
            out += (self.blank if number else []) + block
        return out

    def branch(self, question: str, after_blocks: bool) -> list[int]:
        return (self.blank if after_blocks else []) + self.question(question)


@dataclass
class Row:
    """`branches` are (prompt ids, answer ids); `contexts` are the passages that the encoder reads;
    `support` are, for each branch, the passages that state its answer."""

    prefix: list[int]
    branches: list[tuple[list[int], list[int]]]
    contexts: list[int] = field(default_factory=list)
    support: list[list[int]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.prefix) + sum(len(q) + len(a) for q, a in self.branches)


@dataclass(frozen=True)
class Batch:
    """All [B,L] but `bias` [B,1,L,L]. `targets` is the next token (-1: none), `answers` marks the
    positions whose next token belongs to an answer, `branches` numbers the questions of the batch."""

    ids: Tensor
    positions: Tensor
    bias: Tensor
    targets: Tensor
    answers: Tensor
    branches: Tensor


def collate(rows: list[Row]) -> Batch:
    longest = max(len(row) for row in rows)
    ids, positions, segments, targets, answers, branches = [], [], [], [], [], []
    numbered = 0
    for row in rows:
        r_ids, r_pos = list(row.prefix), list(range(len(row.prefix)))
        r_target = [*row.prefix[1:], -1]
        r_seg, r_answer, r_branch = [0] * len(r_ids), [False] * len(r_ids), [-1] * len(r_ids)
        for number, (question, answer) in enumerate(row.branches, 1):
            tokens = question + answer
            r_ids += tokens
            r_pos += range(len(row.prefix), len(row.prefix) + len(tokens))
            r_seg += [number] * len(tokens)
            r_target += [*tokens[1:], -1]
            r_answer += [len(question) - 1 <= i < len(tokens) - 1 for i in range(len(tokens))]
            r_branch += [numbered] * len(tokens)
            numbered += 1
        pad = longest - len(r_ids)
        ids.append(r_ids + [PAD] * pad)
        positions.append(r_pos + [0] * pad)
        segments.append(r_seg + [-1] * pad)
        targets.append(r_target + [-1] * pad)
        answers.append(r_answer + [False] * pad)
        branches.append(r_branch + [-1] * pad)
    segment = torch.tensor(segments)
    same = (segment[:, :, None] == segment[:, None, :]) | (segment[:, None, :] == 0)
    causal = torch.ones(longest, longest, dtype=torch.bool).tril()
    return Batch(
        torch.tensor(ids),
        torch.tensor(positions),
        bias_from((same & causal)[:, None]),
        torch.tensor(targets),
        torch.tensor(answers),
        torch.tensor(branches),
    )


def pad_passages(passages: list[list[int]]) -> tuple[Tensor, Tensor]:
    """ids and valid mask [n,L], right-padded."""
    longest = max(len(p) for p in passages)
    ids = torch.tensor([p + [PAD] * (longest - len(p)) for p in passages])
    lengths = torch.tensor([len(p) for p in passages])
    return ids, torch.arange(longest)[None] < lengths[:, None]


def context_rows(rows: list[Row], lengths: list[int]) -> tuple[Tensor, Tensor]:
    """For each row the indices into Phi of its contexts' tokens, and the bias that hides padding."""
    starts = torch.tensor([0, *lengths]).cumsum(0)
    picked = [
        torch.cat([torch.arange(int(starts[c]), int(starts[c + 1])) for c in row.contexts])
        if row.contexts
        else torch.zeros(0, dtype=torch.long)
        for row in rows
    ]
    longest = max(1, *(len(p) for p in picked)) if picked else 1
    index = torch.stack([torch.cat([p, torch.zeros(longest - len(p), dtype=torch.long)]) for p in picked])
    valid = torch.arange(longest)[None] < torch.tensor([len(p) for p in picked])[:, None]
    return index, bias_from(valid[:, None, None, :])


def occurrences(tokens: list[int], sought: list[int]) -> list[int]:
    return [i for i in range(len(tokens) - len(sought) + 1) if tokens[i : i + len(sought)] == sought]


def answer_places(rows: list[Row], passages: list[list[int]], width: int) -> tuple[Tensor, Tensor]:
    """Where each answer token stands in its row's contexts: [answer tokens of all rows, width], bool,
    True at that token in every mention of the whole answer in a supporting passage; and which of the
    answer tokens are an answer's first."""
    places: list[Tensor] = []
    first: list[bool] = []
    for row in rows:
        starts: dict[int, int] = {}
        total = 0
        for context in row.contexts:
            starts[context] = total
            total += len(passages[context])
        for number, (_, answer) in enumerate(row.branches):
            mask = torch.zeros(len(answer), width, dtype=torch.bool)
            for passage in row.support[number] if row.support else []:
                if passage in starts:
                    for place in occurrences(passages[passage], answer[:-1]):
                        for offset in range(len(answer) - 1):
                            mask[offset, starts[passage] + place + offset] = True
            places.append(mask)
            first += [True] + [False] * (len(answer) - 1)
    return torch.cat(places), torch.tensor(first)
