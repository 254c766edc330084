"""Compares this model with recorded outputs of the published PyTorch implementation.

    python check_reference.py <folder with config.json, model.safetensors and golden-*.safetensors>...
"""

import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

from configs import cepe_from, read_json
from model import Cepe

TOLERANCE = 2e-4


@torch.no_grad()
def largest_differences(folder: Path) -> dict[str, float]:
    """Per golden file with contexts or without: the largest difference of encoder states and of the prompt's logits."""
    model = Cepe(cepe_from(read_json(folder / "config.json")))
    missing = model.load_state_dict(load_file(folder / "model.safetensors"), strict=False).missing_keys
    if missing:
        sys.exit(f"{folder} lacks {missing}")
    found = {}
    for file in sorted(folder.glob("golden-*.safetensors")):
        golden = load_file(file)
        if "logits" not in golden:
            continue
        phi = None
        if "encoder_input_ids" in golden:
            mask = golden["encoder_attention_mask"].bool()
            states = model.encoder(golden["encoder_input_ids"], mask)
            found[f"{file.stem} states"] = float((states - golden["encoder_hidden_states"])[mask].abs().max())
            phi = states[mask]
        logits = model(golden["input_ids"], phi)
        found[f"{file.stem} logits"] = float((logits - golden["logits"]).abs().max())
    return found


def main(folders: list[str]) -> None:
    worst = 0.0
    for folder in map(Path, folders):
        for name, difference in largest_differences(folder).items():
            print(f"{folder.name} {name}: {difference:.1e}")
            worst = max(worst, difference)
    if not folders or worst > TOLERANCE:
        sys.exit(f"differs by {worst:.1e}" if folders else __doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
