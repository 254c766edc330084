"""A stage's progress on disk: what was learned, the optimiser and the step. A stopped run resumes and computes what it would have computed."""

import os
import time
from pathlib import Path

import torch
from torch import nn

from cepe import Cepe


def learned(model: nn.Module) -> dict[str, torch.Tensor]:
    """All but the base, whether frozen or not."""
    return {n: p for n, p in model.state_dict().items() if not isinstance(model, Cepe) or "cross_attn" in n or n.startswith("encoder.")}


def kept_by(runs: Path, stage: str) -> dict:
    """@raise SystemExit without such a run"""
    path = runs / f"{stage}.pt"
    if not path.exists():
        raise SystemExit(f"{path} does not exist: train the stage {stage} first, or choose another with --begin")
    return torch.load(path, weights_only=True, map_location="cpu")


class Run:
    def __init__(self, path: Path, settings: dict, model: nn.Module, optimiser: torch.optim.Optimizer, save_every: float):
        self.path, self.settings, self.model, self.optimiser, self.save_every = path, settings, model, optimiser, save_every
        self.step, self.saved = 0, time.monotonic()
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            kept = torch.load(path, weights_only=True, map_location="cpu")
            other = {name: value for name, value in kept["settings"].items() if settings.get(name) != value}
            if other:
                raise SystemExit(f"{path} was begun with {other}: give the same options, or another --runs")
            model.load_state_dict(kept["model"], strict=False)
            optimiser.load_state_dict(kept["optimiser"])
            self.step = kept["step"]
            print(f"{path.stem}: resumed at step {self.step}", flush=True)

    def end_step(self, last: bool) -> None:
        self.step += 1
        if last or time.monotonic() - self.saved > self.save_every:
            state = {"model": learned(self.model), "optimiser": self.optimiser.state_dict(), "step": self.step, "settings": self.settings}
            torch.save(state, self.path.with_suffix(".partial"))
            os.replace(self.path.with_suffix(".partial"), self.path)
            self.saved = time.monotonic()
