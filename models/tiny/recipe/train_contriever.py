"""The retriever: InfoNCE over in-batch negatives, on questions with their passages and on random crops.

Two crops of one passage are a pair, as in Contriever's unsupervised training (Izacard et al. 2022,
section 3.2); questions of invented worlds and of real text are the others. Passages of the same world
are mostly of the same kind, so a batch holds hard negatives.
"""

import random
from dataclasses import dataclass, field
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from data import CHECKPOINT, load_data
from evaluate import load_corpus, recall
from model import Contriever, init_weights
from packing import pad_passages
from samples import WorldSampler
from settings import CONTRIEVER, SEED, SETTINGS
from squad import RealPassage
from tokenizers_ import load_tokenizer
from training import Optimizers, Run, autocast, prepare_torch, stage_arguments
from word_vectors import blend_vectors

SCALE = 0.05
LONGEST = 200


@dataclass
class Pairs:
    """`positive[i]` are the passages that answer question i."""

    questions: list[str] = field(default_factory=list)
    passages: list[str] = field(default_factory=list)
    positive: list[list[int]] = field(default_factory=list)


def world_pairs(sampler: WorldSampler, worlds: int, rng: random.Random) -> Pairs:
    pairs = Pairs()
    for _ in range(worlds):
        world = sampler.world(7, 2, 5, rng)
        start = len(pairs.passages)
        pairs.passages += [f"{p.title} {p.text}" for p in world.passages]
        for question in world.questions:
            support = world.supports(question)
            if support:
                pairs.questions.append(question.text)
                pairs.positive.append([start + i for i in support])
    return pairs


def real_pairs(real: list[RealPassage], count: int, rng: random.Random) -> Pairs:
    """Passages of a few articles, so that most negatives are of the same article."""
    titles = rng.sample(sorted({p.title for p in real}), 2)
    chosen = rng.sample([p for p in real if p.title in titles and p.questions], count)
    pairs = Pairs()
    for number, passage in enumerate(chosen):
        pairs.passages.append(f"{passage.title} {' '.join(passage.text.split()[:110])}")
        for question, _ in rng.sample(passage.questions, min(2, len(passage.questions))):
            pairs.questions.append(question)
            pairs.positive.append([number])
    return pairs


def crop_pairs(texts: list[str], count: int, rng: random.Random) -> Pairs:
    pairs = Pairs()
    for number, text in enumerate(rng.sample(texts, count)):
        words = text.split()
        pairs.questions.append(" ".join(crop(words, 4, 14, rng)))
        pairs.passages.append(" ".join(crop(words, 25, 60, rng)))
        pairs.positive.append([number])
    return pairs


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


def main() -> None:
    parser = stage_arguments(__doc__)
    parser.add_argument("--corpus", type=Path, required=True, help="passages.tsv whose crops are trained on")
    parser.add_argument("--questions", type=Path, required=True, help="dev.jsonl, for the log")
    args = parser.parse_args()
    settings = SETTINGS[args.settings]
    prepare_torch(settings)
    data = load_data(args.real_text)
    tokenizer = load_tokenizer(CHECKPOINT / "contriever")
    corpus = load_corpus(args.corpus)
    texts = [f"{p.title} {p.text}" for p in corpus]
    crops = texts + [p.text for p in data.real]
    model = Contriever(CONTRIEVER)
    init_weights(model, SEED)
    blend_vectors(model.embeddings.word_embeddings.weight, tokenizer, args.runs, "")
    run = Run(args.runs, "contriever", model, Optimizers(list(model.named_parameters())), settings.contriever)
    while not run.finished():
        rng = random.Random(SEED * 11 + run.step)
        turn = run.step % 6
        if turn == 0:
            pairs = crop_pairs(crops, settings.contriever_batch, rng)
        elif turn == 3 and data.real:
            pairs = real_pairs(data.real, 16, rng)
        else:
            pairs = world_pairs(data.sampler, settings.contriever_worlds, rng)
        for positive in pairs.positive:
            rng.shuffle(positive)
        with autocast():
            scores = embed(model, tokenizer, pairs.questions) @ embed(model, tokenizer, pairs.passages).T
        loss = contrastive_loss(scores.float() * SCALE, pairs.positive)
        run.update(loss)
        if run.step % 50 == 0:
            right = sum(int(best) in p for best, p in zip(scores.argmax(1), pairs.positive, strict=True)) / len(pairs.positive)
            run.log(f"loss {loss.item():.3f} first {right:.3f} of {len(pairs.passages)}")
        if run.step % 400 == 0 or run.finished():
            model.eval()
            run.log(f"dev recall {recall(model, tokenizer, corpus, args.questions, (1, 5, 20))}")
            model.train()


if __name__ == "__main__":
    main()
