"""Writes the trained weights as Hugging Face checkpoints.

    python export.py --runs RUNS [--cepe-stage cepe-more] [--k-decoder 0]
"""

import argparse
from pathlib import Path

import torch
from tokenizers import Tokenizer

from checkpoints import save_cepe, save_contriever
from configs import write_json
from contriever import Contriever
from data import CHECKPOINT
from settings import CONTEXT_TOKENS, CONTRIEVER, MAX_NEW_TOKENS
from train_contriever import SCALE
from train_decoder import new_model


def export_cepe(runs: Path, stage: str, folder: Path, k: int, k_decoder: int) -> None:
    model = new_model()
    model.load_state_dict(torch.load(runs / f"{stage}.pt", weights_only=True)["model"])
    qa = {
        "k": k,
        "k_decoder": k_decoder,
        "demonstrations": 0,
        "context_tokens": CONTEXT_TOKENS,
        "max_new_tokens": MAX_NEW_TOKENS,
    }
    save_cepe(folder, model, qa)


def export_contriever(runs: Path, folder: Path) -> None:
    """With its tokenizer, which was made by its stage. The training temperature is folded into the last LayerNorm,
    so that dot products are the logits that were trained: RePlug's softmax over them needs no further scale."""
    model = Contriever(CONTRIEVER)
    model.load_state_dict(torch.load(runs / "contriever.pt", weights_only=True)["model"])
    last = model.encoder["layer"][-1].output.LayerNorm
    with torch.no_grad():
        last.weight.mul_(SCALE**0.5)
        last.bias.mul_(SCALE**0.5)
    save_contriever(folder, model)
    Tokenizer.from_file(str(runs / "contriever-tokenizer.json")).save(str(folder / "tokenizer.json"))
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": True,
            "pad_token": "[PAD]",
            "unk_token": "[UNK]",
            "cls_token": "[CLS]",
            "sep_token": "[SEP]",
            "mask_token": "[MASK]",
            "model_max_length": CONTEXT_TOKENS,
        },
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--checkpoint", type=Path, default=CHECKPOINT)
    parser.add_argument("--cepe-stage", default="cepe-more")
    parser.add_argument("--k", type=int, default=10, help="passages the service retrieves by default")
    parser.add_argument("--k-decoder", type=int, default=0, help="how many of them go into the prompt")
    args = parser.parse_args()
    export_cepe(args.runs, args.cepe_stage, args.checkpoint / "cepe", args.k, args.k_decoder)
    export_contriever(args.runs, args.checkpoint / "contriever")


if __name__ == "__main__":
    main()
