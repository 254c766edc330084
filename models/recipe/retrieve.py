"""RetDoc: pairs each training sequence with passages retrieved for it, which the encoder reads in place of the text before the sequence.

    python retrieve.py --base BASE --tokens TOKENS --retriever CONTRIEVER
    python train.py standard --data retrieved ..

Passages are chunks of all documents. A sequence's query are its first tokens as text; a retriever is a function from texts to vectors, and
inner products rank passages (exactly, in memory). README.md says what the paper leaves open.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from bases import Folder
from batches import RETRIEVED, Domain
from stages import SHARES, STAGES

Embed = Callable[[list[str]], Tensor]  # texts -> vectors [n,d]
AT_ONCE = 64  # texts that are embedded, and queries that are ranked, at a time


def contriever(folder: Path) -> Embed:
    """BERT with the mean over its last states (Izacard et al. 2022); a Hugging Face folder, read by transformers."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()

    def embed(texts: list[str]) -> Tensor:
        read = tokenizer(texts, padding=True, truncation=True, max_length=512, return_tensors="pt")
        mask = read["attention_mask"][..., None]
        return (model(**read).last_hidden_state * mask).sum(1) / mask.sum(1)

    return embed


class Passages:
    """Whole chunks of the documents of all domains, none of two documents: where each begins, and its domain."""

    def __init__(self, domains: list[Domain], length: int):
        self.domains, self.length, found = domains, length, []
        for number, domain in enumerate(domains):
            for first, end in zip([0, *domain.ends[:-1]], domain.ends, strict=True):
                found += [(number, at) for at in range(first, end - length + 1, length)]
        self.places = np.array(found, np.int64).reshape(-1, 2)

    def tokens(self, passage: int) -> np.ndarray:
        domain, at = self.places[passage]
        return self.domains[domain].tokens[at : at + self.length]

    def of_documents(self, domain: int, first: int, last: int) -> np.ndarray:
        """Whether each passage is of the documents that hold the tokens first to last."""
        ends = self.domains[domain].ends
        start = int(np.searchsorted(ends, first, "right"))
        begin, end = int(ends[start - 1]) if start else 0, int(ends[np.searchsorted(ends, last, "right")])
        return (self.places[:, 0] == domain) & (begin <= self.places[:, 1]) & (self.places[:, 1] < end)


@torch.no_grad()
def pair(tokens: Path, names: list[str], decode: Callable[[list[int]], str], embed: Embed, main: int, chunks: int, chunk: int, query: int) -> None:
    """Writes <domain>.retrieved.npy, [sequences, chunks * chunk + main]: the passages nearest to each sequence of `main` tokens, best first,
    none of them of its own documents, and the sequence."""
    domains = [Domain(tokens, name) for name in names]
    passages = Passages(domains, chunk)
    texts = lambda found: [decode(ids.tolist()) for ids in found]
    parts = [embed(texts(map(passages.tokens, part))) for part in np.array_split(range(len(passages.places)), len(passages.places) // AT_ONCE + 1) if len(part)]
    vectors = torch.cat(parts) if parts else torch.zeros(0, 1)
    for number, (name, domain) in enumerate(zip(names, domains, strict=True)):
        rows = []
        starts = range(0, len(domain.tokens) - main + 1, main)
        for some in (starts[at : at + AT_ONCE] for at in range(0, len(starts), AT_ONCE)):
            ranked = embed(texts(domain.tokens[at : at + query] for at in some)) @ vectors.T
            for at, scores in zip(some, ranked, strict=True):
                own = passages.of_documents(number, at, at + main - 1)
                if (~own).sum() < chunks:
                    raise SystemExit(f"{name}: {(~own).sum()} passages of other documents, {chunks} are needed; give more text, or fewer --chunks")
                best = scores.masked_fill(torch.from_numpy(own), -torch.inf).topk(chunks).indices
                rows.append(np.concatenate([*map(passages.tokens, best.tolist()), domain.tokens[at : at + main]]))
        np.save(tokens / f"{name}{RETRIEVED}", np.array(rows, np.uint32).reshape(-1, chunks * chunk + main))
        print(f"{name}: {len(rows)} sequences", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True, help="the base, for its tokenizer")
    parser.add_argument("--tokens", type=Path, required=True, help="what tokenise.py wrote")
    parser.add_argument("--retriever", type=Path, required=True, help="a Hugging Face folder of Contriever (needs transformers)")
    for name in ("main", "chunks", "chunk"):
        parser.add_argument(f"--{name}", type=int, default=getattr(STAGES["standard"], name), help="as in training; %(default)s by default")
    parser.add_argument("--query", type=int, default=256, help="tokens of a sequence that are its query; %(default)s by default")
    args = parser.parse_args()
    names = [name for name in SHARES["retrieved"] if (args.tokens / f"{name}.npy").exists()]
    tokenizer = Folder(args.base).tokenizer()
    pair(args.tokens, names, tokenizer.decode, contriever(args.retriever), args.main, args.chunks, args.chunk, args.query)


if __name__ == "__main__":
    main()
