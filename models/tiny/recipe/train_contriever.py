"""The retriever: three layers of a public sentence encoder that learn to score as the whole of it does, and to
find the passages of questions (InfoNCE over in-batch negatives).

A crop of a passage and the passage are a pair, much as in Contriever's unsupervised training (Izacard et al. 2022,
section 3.2); questions of invented worlds and of real text are the others. Passages of the same world
are mostly of the same kind, three to an entity, and real ones of a few articles, so a batch holds hard negatives.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from contriever import Contriever
from data import Data, load_data
from evaluate import CorpusPassage, load_corpus, recall
from minilm import LONGEST, SHARPNESS, Teacher, pruned, smaller_tokenizer
from packing import pad_passages
from render import roughen
from samples import WorldSampler
from settings import CONTRIEVER_VOCAB, SEED, SETTINGS, Settings
from squad import RealPassage
from training import Optimizers, Run, autocast, prepare_torch, stage_arguments

SCALE = 0.05
ROUGH_SHARE = 0.3  # of the real questions are typed as people type them


@dataclass
class Pairs:
    """`positive[i]` are the passages that answer question i; `wanted` are the teacher's scores [questions, passages],
    where it has any."""

    questions: list[str] = field(default_factory=list)
    passages: list[str] = field(default_factory=list)
    positive: list[list[int]] = field(default_factory=list)
    wanted: Tensor | None = None


def world_pairs(sampler: WorldSampler, worlds: int, rng: random.Random) -> Pairs:
    pairs = Pairs()
    for _ in range(worlds):
        world = sampler.world(6, 3, 4, rng)
        start = len(pairs.passages)
        pairs.passages += [f"{p.title} {p.text}" for p in world.passages]
        for question in world.questions:
            support = world.supports(question)
            if support:
                pairs.questions.append(question.text)
                pairs.positive.append([start + i for i in support])
    return pairs


class Taught:
    """Texts with the teacher's embeddings, which are kept in a file: real passages with their questions, and the corpus."""

    def __init__(self, teacher: Teacher, real: list[RealPassage], corpus: list[CorpusPassage], file: Path):
        self.teacher = teacher
        self.real = [p for p in real if p.questions]
        self.articles = sorted({p.title for p in self.real})
        self.corpus = [f"{p.title} {p.text}" for p in corpus]
        texts = [*self.corpus, *map(passage_text, self.real), *(q for p in self.real for q, _ in p.questions)]
        texts = list(dict.fromkeys(texts))
        if not file.exists():
            torch.save(teacher.embed(texts), file)
        self.vectors = dict(zip(texts, torch.load(file, weights_only=True), strict=True))

    def real_pairs(self, count: int, rng: random.Random) -> Pairs:
        """Passages of a few articles, so that most negatives are of the same article."""
        titles = rng.sample(self.articles, min(len(self.articles), rng.choice((2, 3, 5))))
        fitting = [p for p in self.real if p.title in titles]
        pairs = Pairs()
        for number, passage in enumerate(rng.sample(fitting, min(count, len(fitting)))):
            pairs.passages.append(passage_text(passage))
            for question, _ in rng.sample(passage.questions, min(3, len(passage.questions))):
                pairs.questions.append(question)
                pairs.positive.append([number])
        pairs.wanted = self._known(pairs.questions) @ self._known(pairs.passages).T
        pairs.questions = [roughen(q, rng) if rng.random() < ROUGH_SHARE else q for q in pairs.questions]
        return pairs

    def crop_pairs(self, count: int, rng: random.Random) -> Pairs:
        """Crops of the corpus's passages, neighbours among them, which are about one entity."""
        pairs = Pairs()
        for start in rng.sample(range(len(self.corpus) - 2), count // 2):
            pairs.passages += self.corpus[start : start + 2]
        for number, text in enumerate(pairs.passages):
            pairs.questions.append(" ".join(crop(text.split(), 4, 14, rng)))
            pairs.positive.append([number])
        pairs.wanted = self.teacher.embed(pairs.questions) @ self._known(pairs.passages).T
        return pairs

    def _known(self, texts: list[str]) -> Tensor:
        return torch.stack([self.vectors[text] for text in texts])


def passage_text(passage: RealPassage) -> str:
    """What a passage of the real corpora holds: about a hundred words."""
    return f"{passage.title} {' '.join(passage.text.split()[:110])}"


def vocabulary_texts(data: Data, corpus: list[CorpusPassage]) -> Iterator[str]:
    """What the tokens are chosen by."""
    yield from (f"{p.title} {p.text}" for p in corpus)
    for passage in data.real_text:
        yield f"{passage.title} {passage.text}"
        yield from (question for question, _ in passage.questions)
    for kind in data.kinds:
        yield from (q.template.text for q in (*kind.questions, *kind.further) if q.split == "train")


def crop(words: list[str], low: int, high: int, rng: random.Random) -> list[str]:
    size = min(len(words), rng.randint(low, high))
    start = rng.randint(0, len(words) - size)
    return words[start : start + size]


def embed(model: Contriever, tokenizer: Tokenizer, texts: list[str]) -> Tensor:
    ids = [e.ids[: LONGEST - 1] + [3] if len(e.ids) > LONGEST else e.ids for e in tokenizer.encode_batch(texts)]
    return model(*pad_passages(ids))


def contrastive_loss(scores: Tensor, positive: list[list[int]]) -> Tensor:
    """One of a question's passages is drawn towards it; its other passages are left out."""
    target = torch.tensor([p[0] for p in positive])
    hidden = torch.zeros(scores.shape, dtype=torch.bool)
    for row, others in enumerate(positive):
        hidden[row, others[1:]] = True
    return F.cross_entropy(scores.masked_fill(hidden.to(scores.device), -1e4), target)


def pairs_loss(scores: Tensor, pairs: Pairs) -> Tensor:
    """The contrastive loss and, where a teacher has scored the pairs, how far its softmax over passages is from
    the student's (Hinton et al. 2015)."""
    loss = contrastive_loss(scores, pairs.positive)
    if pairs.wanted is None:
        return loss
    wanted = (pairs.wanted * SHARPNESS).softmax(1)
    return 0.5 * loss + F.kl_div(scores.log_softmax(1), wanted, reduction="batchmean")


def step_pairs(step: int, taught: Taught, sampler: WorldSampler, settings: Settings) -> Pairs:
    """What one step trains on, the same however often the run was resumed."""
    rng = random.Random(SEED * 11 + step)
    turn = step % 8
    if turn == 0:
        pairs = taught.crop_pairs(settings.contriever_batch, rng)
    elif turn % 2 and taught.real:
        pairs = taught.real_pairs(settings.contriever_batch, rng)
    else:
        pairs = world_pairs(sampler, settings.contriever_worlds, rng)
    for positive in pairs.positive:
        rng.shuffle(positive)
    return pairs


def main() -> None:
    parser = stage_arguments(__doc__)
    parser.add_argument("--teacher", type=Path, required=True, help="folder of all-MiniLM-L6-v2 (minilm.py)")
    parser.add_argument("--corpus", type=Path, required=True, help="passages.tsv whose crops are trained on")
    parser.add_argument("--questions", type=Path, required=True, help="dev.jsonl, for the log")
    args = parser.parse_args()
    settings = SETTINGS[args.settings]
    prepare_torch(settings)
    data = load_data(args.real_text)
    corpus = load_corpus(args.corpus)
    teacher = Teacher(args.teacher)
    args.runs.mkdir(parents=True, exist_ok=True)
    taught = Taught(teacher, data.real_text, corpus, args.runs / "teacher.pt")
    tokenizer = smaller_tokenizer(teacher.tokenizer, vocabulary_texts(data, corpus), CONTRIEVER_VOCAB)
    tokenizer.save(str(args.runs / "contriever-tokenizer.json"))
    model = pruned(teacher, tokenizer)
    run = Run(args.runs, "contriever", model, Optimizers(list(model.named_parameters())), settings.contriever)
    while not run.finished():
        if run.step % 200 == 0:
            model.eval()
            run.log(f"dev recall {recall(model, tokenizer, corpus, args.questions, (1, 5, 20))}")
            model.train()
        pairs = step_pairs(run.step, taught, data.sampler, settings)
        with autocast():
            scores = embed(model, tokenizer, pairs.questions) @ embed(model, tokenizer, pairs.passages).T
        loss = pairs_loss(scores.float() * SCALE, pairs)
        run.update(loss)
        if run.step % 25 < 8:
            right = sum(int(best) in p for best, p in zip(scores.argmax(1), pairs.positive, strict=True)) / len(pairs.positive)
            run.log(f"loss {loss.item():.3f} first {right:.3f} of {len(pairs.passages)}")


if __name__ == "__main__":
    main()
