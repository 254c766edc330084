"""A stage's progress on disk: what was learned, the optimiser and the step. A stopped run resumes and computes what it would have computed."""

import os
import time
from pathlib import Path

import torch
from torch import Tensor

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def read_run(path: Path, remedy: str) -> dict:
    """@raise SystemExit without such a run, or for one of an earlier version"""
    if not path.exists():
        raise SystemExit(f"{path} does not exist: {remedy}")
    kept = torch.load(path, weights_only=True, map_location="cpu")
    if "settings" not in kept or "optimiser" not in kept:
        raise SystemExit(f"{path} was written by an earlier version: export it with that version, or begin anew")
    return kept


def kept_by(runs: Path, stage: str) -> dict:
    return read_run(runs / f"{stage}.pt", f"train the stage {stage} first, or choose another with --begin")


@torch.no_grad()
def put(learned: dict[str, Tensor], state: dict[str, Tensor], source: Path) -> None:
    """Overwrites tensors by those of the same names. @raise SystemExit where names or shapes differ"""
    own, other = ({(name, tensor.shape) for name, tensor in tensors.items()} for tensors in (learned, state))
    if differing := sorted({name for name, _ in own ^ other})[:3]:
        raise SystemExit(f"{source} is of another base, stage or version: {', '.join(differing)}")
    for name, tensor in learned.items():
        tensor.copy_(state[name])


class Run:
    """`learned` are the tensors that are kept, by name; they are overwritten where the run resumes. `asked` counts what a step reads."""

    def __init__(self, path: Path, settings: dict, learned: dict[str, Tensor], optimiser: torch.optim.Optimizer, save_every: float):
        self.path, self.settings, self.learned, self.optimiser, self.save_every = path, settings, learned, optimiser, save_every
        self.step, self.asked, self.before, self.resumed = 0, 0, 0.0, path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        if self.resumed:
            kept = read_run(path, "begin anew")
            other = {name: value for name, value in kept["settings"].items() if settings.get(name) != value}
            if other:
                raise SystemExit(f"{path} was begun with {other}: give the same options, or another --runs")
            put(learned, kept["model"], path)
            optimiser.load_state_dict(kept["optimiser"])
            self.step, self.asked, self.before = kept["step"], kept.get("asked", 0), kept.get("seconds", 0.0)
            print(f"{path.stem}: resumed at step {self.step}", flush=True)
        self.started = self.saved = time.monotonic()

    @property
    def seconds(self) -> float:
        """Of training, all runs together."""
        return self.before + time.monotonic() - self.started

    def end_step(self, last: bool = False) -> None:
        self.step += 1
        if last or time.monotonic() - self.saved > self.save_every:
            self.save()

    def save(self) -> None:
        progress = {"step": self.step, "asked": self.asked, "seconds": self.seconds, "settings": self.settings}
        partial = self.path.with_suffix(".partial")
        torch.save({"model": self.learned, "optimiser": self.optimiser.state_dict(), **progress}, partial)
        os.replace(partial, self.path)
        self.saved = time.monotonic()
