"""Paragraphs with questions as packed rows: passages in the prompt, then several questions about them. Each question sees the
passages and itself only, at the positions of its own prompt, so a passage is read once for all of its questions."""

import json
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor

from cepe import Cepe, Projection, Reads, bias_from

CONTEXT_TOKENS = 256
ROW_TOKENS = 1100
QUESTIONS = 10  # of a row, at most
REFUSED = 0.15  # of the questions
RETRIEVED = 0.75  # of the refused questions find the passage in a search; the others are about one like it, or any
NEAR = 0.7  # of the distractors are retrieved for the passage, the others are drawn
SHOWN = 1, 1, 1, 1, 2, 3, 4  # passages of a row: the reader's mode asks one at a time
LOWER = 0.3  # of the questions are typed in lower case without a question mark


@dataclass(frozen=True)
class Paragraph:
    title: str
    text: str
    questions: tuple[tuple[str, tuple[str, ...]], ...]


def typed(question: str, rng: random.Random) -> str:
    """The question, or as many type it."""
    return question.lower().rstrip("? ") if rng.random() < LOWER else question


@dataclass(frozen=True)
class Row:
    prefix: list[int]
    branches: list[tuple[list[int], list[int]]]


class Prompts:
    """The service's prompt protocol in token ids (paper, section 4.2), without BOS and chat template. A prompt is tokenised as one text:
    a full stop and the blank line behind it can be one token."""

    def __init__(self, tokenizer: Tokenizer):
        self.tokenizer = tokenizer

    def ids(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def block(self, passage: Paragraph) -> str:
        text = f"Document (Title: {passage.title}): {passage.text.strip()}"
        ids = self.ids(text)
        return text if len(ids) <= CONTEXT_TOKENS else self.tokenizer.decode(ids[:CONTEXT_TOKENS]).rstrip()

    def encoded(self, passage: Paragraph) -> list[int]:
        """A passage as the encoder reads it."""
        return self.ids(self.block(passage))

    def prefix(self, passages: list[Paragraph]) -> list[int]:
        """What precedes a question: tokenisers divide there."""
        question = "Question:"
        return self.ids("\n\n".join([*map(self.block, passages), question]))[: -len(self.ids(question))]

    def question(self, text: str) -> list[int]:
        return self.ids(f"Question: {text}\nAnswer:")

    def answer(self, text: str) -> list[int]:
        return self.ids(f" {text}\n") if text else self.ids("\n")


def load_paragraphs(folder: Path) -> list[Paragraph]:
    out = []
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            row = json.loads(line)
            asked = []
            for q in row["questions"]:
                answers = q["answer"] if isinstance(q["answer"], list) else [q["answer"]]
                asked.append((q["question"].strip(), tuple(dict.fromkeys(answers))))
            out.append(Paragraph(row["title"].replace("_", " "), row["text"], tuple(asked)))
    return out


@dataclass(frozen=True)
class Near:
    """By TF-IDF over words that neither one paragraph alone nor a twentieth of all hold. For each paragraph: the paragraphs nearest to it,
    and the questions of others that find it among their first, although it does not have their answer."""

    paragraphs: list[list[int]]
    questions: list[list[str]]


def neighbours(paragraphs: list[Paragraph], count: int = 8, found: int = 3) -> Near:
    bags = [Counter(re.findall(r"\w+", f"{p.title} {p.text}".lower())) for p in paragraphs]
    frequency = Counter(word for bag in bags for word in bag)
    kept = {w: math.log(len(bags) / f) for w, f in frequency.items() if 1 < f < len(bags) / 20}
    postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
    vectors = []
    for number, bag in enumerate(bags):
        weights = {w: (1 + math.log(n)) * kept[w] for w, n in bag.items() if w in kept}
        norm = math.sqrt(sum(v * v for v in weights.values())) or 1.0
        vectors.append({w: v / norm for w, v in weights.items()})
        for word, value in vectors[-1].items():
            postings[word].append((number, value))

    def nearest(weights: dict[str, float], but: int, count: int) -> list[int]:
        scores: Counter[int] = Counter()
        for word, value in sorted(weights.items(), key=lambda item: -item[1])[:20]:
            for other, weight in postings[word]:
                scores[other] += value * weight
        del scores[but]
        return [other for other, _ in scores.most_common(count)]

    near = [nearest(vector, number, count) for number, vector in enumerate(vectors)]
    texts = [f"{p.title} {p.text}".lower() for p in paragraphs]
    questions: list[list[str]] = [[] for _ in paragraphs]
    for number, paragraph in enumerate(paragraphs):
        # Without a title "How long does it last?" may have another right answer elsewhere.
        for question, answers in paragraph.questions if paragraph.title else ():
            words = {w: kept[w] for w in re.findall(r"\w+", question.lower()) if w in kept}
            for other in nearest(words, number, found):
                if not any(answer.lower() in texts[other] for answer in answers):
                    questions[other].append(question)
    return Near(near, questions)


def middle(answers: tuple[str, ...]) -> str:
    """Of right answers the one of middle length, of two the shorter: readers disagree most about how much belongs to an answer."""
    return sorted(answers, key=len)[(len(answers) - 1) // 2]


class Rows:
    def __init__(self, prompts: Prompts, paragraphs: list[Paragraph], refused: float = REFUSED):
        if not any(paragraph.questions for paragraph in paragraphs):
            raise SystemExit("--data: no paragraph has a question")
        self.prompts, self.paragraphs, self.refused = prompts, paragraphs, refused
        self.near = neighbours(paragraphs)

    def shown(self, first: int, count: int, pool: Sequence[int], share: float, rng: random.Random) -> list[int]:
        """`count` paragraphs of the pool, of which such a share are near another, in any order."""
        shown, allowed = [first], set(pool)
        while len(shown) < min(count, len(allowed)):
            near = [i for i in self.near.paragraphs[rng.choice(shown)] if i in allowed and i not in shown]
            chosen = rng.choice(near) if near and rng.random() < share else rng.choice(pool)
            shown += [chosen] if chosen not in shown else []
        rng.shuffle(shown)
        return shown

    def refused_question(self, shown: list[int], rng: random.Random) -> str | None:
        """A question that no paragraph shown answers, or none if the draw fails."""
        text = "\n".join(self.paragraphs[i].text for i in shown).lower()
        retrieved = self.near.questions[shown[0]] if len(shown) == 1 else []
        if retrieved and rng.random() < RETRIEVED:
            return rng.choice(retrieved)
        close = [i for s in shown for i in self.near.paragraphs[s] if i not in shown]
        other = rng.choice(close) if close and rng.random() < 0.5 else rng.randrange(len(self.paragraphs))
        if other in shown or not self.paragraphs[other].questions:
            return None
        question, answers = rng.choice(self.paragraphs[other].questions)
        return None if any(answer.lower() in text for answer in answers) else question

    def row(self, most: int, rng: random.Random) -> Row:
        """A row of up to `most` passages; questions about any of them, and some that none of them answers: about a passage like one of
        them, or about any other."""
        every = range(len(self.paragraphs))
        shown = self.shown(rng.choice(every), min(rng.choice(SHOWN), most), every, NEAR, rng)
        prefix = self.prompts.prefix([self.paragraphs[i] for i in shown])
        asked = [(q, middle(answers)) for i in shown for q, answers in self.paragraphs[i].questions]
        asked = rng.sample(asked, min(len(asked), round(QUESTIONS * (1 - self.refused))))
        for _ in range(round(len(asked) * self.refused / (1 - self.refused) + rng.random() - 0.5)):
            question = self.refused_question(shown, rng)
            asked += [(question, "")] if question else []
        branches, total = [], len(prefix)
        for question, answer in rng.sample(asked, len(asked)):
            branch = self.prompts.question(typed(question, rng)), self.prompts.answer(answer)
            total += len(branch[0]) + len(branch[1])
            if total <= ROW_TOKENS:
                branches.append(branch)
        return Row(prefix, branches)


@dataclass(frozen=True)
class Packed:
    """ids, positions and segment [B,L], bias [B,1,L,L]; `segment` is 0 in a prefix, -1 in padding, else the number of the branch, from 1 and
    over all rows. `at` are the places in B*L that predict an answer's token, `targets` those tokens and `branch` the question of each, from 0."""

    ids: Tensor
    positions: Tensor
    segment: Tensor
    bias: Tensor
    at: Tensor
    targets: Tensor
    branch: Tensor

    @property
    def questions(self) -> int:
        return int(self.branch[-1]) + 1


def pack(rows: list[Row]) -> Packed:
    longest = max(len(row.prefix) + sum(len(prompt) + len(answer[:-1]) for prompt, answer in row.branches) for row in rows)
    ids, positions, segment, at, targets, branch, number = [], [], [], [], [], [], 0
    for row in rows:
        start, first = len(ids), len(row.prefix)
        ids += row.prefix
        positions += range(first)
        segment += [0] * first
        for prompt, answer in row.branches:
            at += [len(ids) + len(prompt) - 1 + i for i in range(len(answer))]
            targets += answer
            branch += [number] * len(answer)
            number += 1
            tokens = prompt + answer[:-1]
            ids += tokens
            positions += range(first, first + len(tokens))
            segment += [number] * len(tokens)
        padding = start + longest - len(ids)
        ids += [0] * padding
        positions += [0] * padding
        segment += [-1] * padding
    shaped = [torch.tensor(values).view(len(rows), longest) for values in (ids, positions, segment)]
    part = shaped[2]
    allowed = ((part[:, :, None] == part[:, None]) | (part[:, None] == 0)) & torch.ones(longest, longest, dtype=torch.bool).tril()
    return Packed(*shaped, bias_from(allowed)[:, None].to(Projection.kind), torch.tensor(at), torch.tensor(targets), torch.tensor(branch))


def predicted(model: Cepe, packed: Packed, context: Reads | None = None) -> Tensor:
    """Logits at the places that predict an answer's token."""
    return model.lm_head(model.hidden(packed.ids, packed.positions, packed.bias, context).flatten(0, 1)[packed.at]).float()


def exact(packed: Packed, logits: Tensor) -> Tensor:
    """The share of questions of which each answer token is the likeliest."""
    wrong = torch.zeros(packed.questions).index_add(0, packed.branch, (logits.argmax(-1) != packed.targets).float())
    return (wrong == 0).float().mean()
