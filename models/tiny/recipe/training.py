"""What every training stage shares: optimisers, schedule, checkpoints that resume."""

import argparse
import os
import time
from pathlib import Path

import torch
import torch.distributed as distributed
from torch import Tensor, nn

from settings import SETTINGS, Settings, Stage


def stage_arguments(description: str | None) -> argparse.ArgumentParser:
    """What every stage asks for on the command line."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--settings", default="cpu", choices=list(SETTINGS))
    parser.add_argument("--runs", type=Path, required=True, help="folder for checkpoints, outside the repository")
    parser.add_argument("--real-text", type=Path, nargs="+", default=[], help="folders with real text and questions (squad.py)")
    return parser


class Optimizers:
    """Muon for the matrices inside the blocks, AdamW for embeddings, norms and biases."""

    def __init__(self, named: list[tuple[str, nn.Parameter]]):
        inner = [p for n, p in named if p.dim() == 2 and "layer" in n and "LayerNorm" not in n]
        chosen = {id(p) for p in inner}
        self.parameters = [p for _, p in named]
        # embeddings move more slowly: each row of theirs gets a gradient only now and then
        slow = [p for n, p in named if id(p) not in chosen and "embed" in n]
        rest = [p for n, p in named if id(p) not in chosen and "embed" not in n]
        groups = [{"params": p, "share": share} for p, share in ((slow, 0.3), (rest, 1.0)) if p]
        self.parts: list[torch.optim.Optimizer] = [
            torch.optim.Muon([{"params": inner, "share": 1.0}], lr=1.0, momentum=0.95, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(groups, lr=1.0, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
        ]

    def step(self, lr: float) -> None:
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        for part in self.parts:
            for group in part.param_groups:
                group["lr"] = lr * group["share"]
            part.step()
            part.zero_grad(set_to_none=True)

    def state(self) -> list[dict]:
        return [part.state_dict() for part in self.parts]

    def load(self, states: list[dict]) -> None:
        for part, state in zip(self.parts, states, strict=True):
            part.load_state_dict(state)


class Run:
    """One stage's progress on disk: `<folder>/<name>.pt` holds weights, optimiser and step.

    Under `torchrun` several processes share a stage: each takes data of its own and their gradients are
    averaged. The first process keeps the checkpoint, the log and the clock."""

    def __init__(self, folder: Path, name: str, model: nn.Module, optimizers: Optimizers, stage: Stage):
        self.path = folder / f"{name}.pt"
        self.name, self.model, self.optimizers, self.stage = name, model, optimizers, stage
        self.step = 0
        self.saved = time.monotonic()
        self.seconds = 0.0
        self.ranks = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0"))
        if self.ranks > 1:
            distributed.init_process_group("gloo")
        folder.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            kept = torch.load(self.path, weights_only=True, map_location=torch.get_default_device())
            model.load_state_dict(kept["model"])
            optimizers.load(kept["optimizers"])
            self.step, self.seconds = kept["step"], kept["seconds"]
            print(f"{name}: resumed at step {self.step}", flush=True)
        self.started = time.monotonic() - self.seconds
        self.over = self.stage.progress(self.step, self.seconds) >= 1

    @property
    def elapsed(self) -> float:
        """Seconds spent in this stage, earlier runs included."""
        return time.monotonic() - self.started

    @property
    def progress(self) -> float:
        """How much of the stage is done, from 0 to 1."""
        return self.stage.progress(self.step, self.elapsed)

    def finished(self) -> bool:
        return self.over

    def update(self, loss: Tensor) -> None:
        loss.backward()
        clock = torch.tensor(self.elapsed)
        if self.ranks > 1:
            self._average_gradients()
            distributed.broadcast(clock, 0)
        seconds = clock.item()
        self.optimizers.step(self.stage.lr_at(self.step, seconds))
        self.step += 1
        self.over = self.stage.progress(self.step, seconds) >= 1
        if self.rank == 0 and (time.monotonic() - self.saved > 240 or self.over):
            self.save()

    def _average_gradients(self) -> None:
        """One message for all of them: many small ones would each wait for the other processes."""
        trained = self.optimizers.parameters
        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in trained])
        distributed.all_reduce(flat)
        for parameter, grad in zip(trained, (flat / self.ranks).split([p.numel() for p in trained]), strict=True):
            parameter.grad = grad.view_as(parameter)

    def save(self) -> None:
        kept = {
            "model": self.model.state_dict(),
            "optimizers": self.optimizers.state(),
            "step": self.step,
            "seconds": self.elapsed,
        }
        partial = self.path.with_suffix(".partial")
        torch.save(kept, partial)
        os.replace(partial, self.path)
        self.saved = time.monotonic()

    def log(self, text: str) -> None:
        if self.rank == 0:
            print(f"{self.name} {self.step}/{self.stage.steps} {self.elapsed:.0f}s {text}", flush=True)


def step_rng(seed: int, step: int) -> torch.Generator:
    """The random numbers of one step: the same however often a run was resumed."""
    return torch.Generator("cpu").manual_seed(seed * 1_000_003 + step)


def prepare_torch(settings: Settings) -> None:
    torch.set_num_threads(settings.threads)
    torch.manual_seed(0)
    if torch.cuda.is_available():
        torch.set_default_device("cuda")


def autocast() -> torch.autocast:
    """bf16 where it is fast: on GPUs, and on CPUs with AVX512-BF16."""
    return torch.autocast("cuda" if torch.cuda.is_available() else "cpu", torch.bfloat16)
