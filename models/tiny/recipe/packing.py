"""Prompts as token rows. One row holds a prefix (passages in the decoder's own prompt) and several
questions about it; each question sees the prefix and itself only, at the positions that it would have
alone. So a passage is read once for all of its questions, and each question's logits are exactly those
of its own prompt."""

import random
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
        self.title_start = len(self.ids("Document (Title:"))

    def ids(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def passage(self, title: str, text: str) -> list[int]:
        return self.ids(f"Document (Title: {title}): {text}")[:CONTEXT_TOKENS]

    def title_span(self, title: str) -> tuple[int, int]:
        """Where a passage's title stands in its ids: from, to."""
        return self.title_start, self.title_start + len(self.ids(f" {title}"))

    def question(self, text: str) -> list[int]:
        return self.ids(f"Question: {text}\nAnswer:")

    def answer(self, text: str) -> list[int]:
        return self.ids(f" {text}\n")

    def refusal(self) -> list[int]:
        """An empty answer: the reader stops at once."""
        return self.ids("\n")

    def number_tokens(self) -> list[int]:
        """The tokens made of digits, with or without a space before them."""
        return sorted(number for token, number in self.tokenizer.get_vocab().items() if token.lstrip("Ġ").isdecimal())

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
    """`branches` are (prompt ids, answer ids); `shown` are the passages in the prefix, each with the place
    at which it begins; `contexts` are the passages that the encoder reads; `support` are, for each branch,
    the passages that state its answer, `stating` others that may state it and `about` all that are about what it
    asks for, where that is known; `names` is where its prompt names the entity (from, to), if it does."""

    prefix: list[int]
    branches: list[tuple[list[int], list[int]]]
    shown: dict[int, int] = field(default_factory=dict)
    contexts: list[int] = field(default_factory=list)
    support: list[list[int]] = field(default_factory=list)
    names: list[tuple[int, int] | None] = field(default_factory=list)
    stating: list[list[int]] = field(default_factory=list)
    about: list[list[int]] = field(default_factory=list)

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


def attending(batch: Batch, rows: list[Row], lengths: list[int]) -> tuple[Tensor, Tensor, Tensor]:
    """What `Context` wants to know of a batch whose rows see their own contexts among passages of these
    lengths: the places of all tokens [T], the bias [T,m], and which of the T predict a token of an answer."""
    owner = torch.repeat_interleave(torch.tensor(lengths))
    allowed = torch.zeros(len(rows), len(lengths), dtype=torch.bool)
    for number, row in enumerate(rows):
        allowed[number, row.contexts] = True
    sizes = torch.tensor([len(row) for row in rows])
    real = (torch.arange(batch.ids.shape[1])[None] < sizes[:, None]).flatten()
    bias = bias_from(allowed[:, owner]).repeat_interleave(sizes, 0)
    return real.nonzero()[:, 0], bias, batch.answers.flatten()[real].nonzero()[:, 0]


def starts_of(lengths: list[int]) -> dict[int, int]:
    """Where each passage begins in Phi."""
    starts, total = {}, 0
    for number, length in enumerate(lengths):
        starts[number] = total
        total += length
    return starts


def occurrences(tokens: list[int], sought: list[int]) -> list[int]:
    return [i for i in range(len(tokens) - len(sought) + 1) if tokens[i : i + len(sought)] == sought]


def answer_places(
    rows: list[Row], passages: list[list[list[int]]], starts: list[dict[int, int]], width: int
) -> tuple[Tensor, Tensor]:
    """Where each answer token can be copied from: [answer tokens of all rows, width], bool, True at that
    token in every mention of the whole answer in a supporting passage; and which of the answer tokens are
    an answer's first. `passages[i]` are the passages that row i's `support` numbers, `starts[i]` says
    where those that the row may see begin."""
    mentions: list[tuple[int, int]] = []
    first: list[bool] = []
    for row, texts, begin in zip(rows, passages, starts, strict=True):
        for (_, answer), support in zip(row.branches, row.support, strict=True):
            said = answer[:-1]
            for passage in support:
                if said and passage in begin:
                    for place in occurrences(texts[passage], said):
                        mentions += [(len(first) + i, begin[passage] + place + i) for i in range(len(said))]
            first += [True] + [False] * (len(answer) - 1)
    places = torch.zeros(len(first), width, dtype=torch.bool)
    if mentions:
        places[tuple(torch.tensor(mentions).T)] = True
    return places, torch.tensor(first)


def support_places(rows: list[Row], lengths: list[int], starts: list[dict[int, int]], width: int) -> Tensor:
    """For each answer token the tokens of the passages that it rests on: [answer tokens of all rows, width], bool.
    `lengths` are those of the passages that all rows share, `starts` as for `answer_places`."""
    places: list[Tensor] = []
    for row, begin in zip(rows, starts, strict=True):
        for (_, answer), support in zip(row.branches, row.support, strict=True):
            seen = torch.zeros(width, dtype=torch.bool)
            for passage in support:
                if passage in begin:
                    seen[begin[passage] : begin[passage] + lengths[passage]] = True
            places += [seen] * len(answer)
    return torch.stack(places)


@dataclass(frozen=True)
class NameLooks:
    """Tokens that should know which entity they are about, and where its name stands: for each token its
    row, its place and the name's span (long, [n] each)."""

    rows: Tensor
    places: Tensor
    starts: Tensor
    ends: Tensor

    @staticmethod
    def of(found: list[tuple[int, int, int, int]]) -> "NameLooks":
        return NameLooks(*torch.tensor(found, dtype=torch.long).view(-1, 4).T)

    def targets(self, width: int) -> Tensor:
        """[n,width], bool."""
        at = torch.arange(width)[None]
        return (at >= self.starts[:, None]) & (at < self.ends[:, None])


def name_looks(rows: list[Row], titles: list[list[tuple[int, int]]], lengths: list[list[int]], rng: random.Random) -> NameLooks:
    """In every row: some tokens of each passage in the prompt, which look at its title, and the tokens that
    predict an answer's, which look at the name in the question. `titles[i]` and `lengths[i]` are those of
    the passages that row i numbers."""
    found: list[tuple[int, int, int, int]] = []
    for number, row in enumerate(rows):
        for passage, start in row.shown.items():
            low, high = titles[number][passage]
            for offset in rng.sample(range(high, lengths[number][passage]), min(8, lengths[number][passage] - high)):
                found.append((number, start + offset, start + low, start + high))
        begin = len(row.prefix)
        for (prompt, answer), name in zip(row.branches, row.names, strict=True):
            if name is not None:
                predicting = range(begin + len(prompt) - 1, begin + len(prompt) + len(answer) - 2)
                found += [(number, place, begin + name[0], begin + name[1]) for place in predicting]
            begin += len(prompt) + len(answer)
    return NameLooks.of(found)


def title_looks(titles: list[tuple[int, int]], lengths: list[int], rng: random.Random) -> NameLooks:
    """Some tokens of each passage, alone in its row, which look at its title."""
    return NameLooks.of(
        [
            (number, place, low, high)
            for number, ((low, high), length) in enumerate(zip(titles, lengths, strict=True))
            for place in rng.sample(range(high, length), min(8, length - high))
        ]
    )
