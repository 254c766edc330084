"""A reader between two others: weights a share of the way from an exported one to what further training made of it
(Wortsman et al. 2022, "Robust fine-tuning of zero-shot models"). It keeps more of what the first could do.

    python average.py FROM TO SHARE OUT
"""

import shutil
import sys
from pathlib import Path

import torch

from checkpoints import cepe_weights, load_cepe, save_cepe
from configs import read_json


def average(before: Path, after: Path, share: float, out: Path) -> None:
    model, _ = load_cepe(after)
    old, new = cepe_weights(before), cepe_weights(after)
    model.load_state_dict({name: torch.lerp(old[name], new[name], share) for name in new})
    save_cepe(out, model, read_json(after / "qa_config.json"))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        if out != after:
            shutil.copy(after / name, out / name)


if __name__ == "__main__":
    average(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4]))
