"""What both stages share: their options, the clock of a run, and the checkpoint that it resumes from."""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from base_model import DEVICE


def parser_of(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--base", type=Path, required=True, help="a GGUF file or a Hugging Face folder")
    parser.add_argument("--data", type=Path, required=True, help="a folder of *.jsonl: {title, text, questions: [{question, answer}]}")
    parser.add_argument("--development", type=Path, help="a folder with passages.tsv and questions.jsonl, never trained on")
    parser.add_argument("--runs", type=Path, required=True, help="a folder for the checkpoints of both stages, outside the repository")
    parser.add_argument("--adapter", type=Path, help="exported adapters of stage 1, where it has no checkpoint")
    parser.add_argument("--minutes", type=float, default=60, help="of training, all runs together")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--save-every", type=float, default=240, help="seconds between checkpoints")
    parser.add_argument("--measure-every", type=float, default=900, help="seconds of training between measurements")
    return parser


class Run:
    """Steps and questions so far, and the seconds of training that earlier runs took. Time for measuring does not count."""

    def __init__(self, args: argparse.Namespace, checkpoint: str, model: nn.Module, optimizer: torch.optim.Optimizer):
        self.args, self.model, self.optimizer = args, model, optimizer
        self.path = args.runs / checkpoint
        self.step, self.asked, self.before = 0, 0, 0.0
        self.resumed = self.path.exists()
        if self.resumed:
            kept = torch.load(self.path, weights_only=True, map_location=DEVICE)
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            self.step, self.asked, self.before = kept["step"], kept["asked"], kept["seconds"]
            print(f"resumed at step {self.step}, {self.asked} questions, {self.before:.0f}s", flush=True)
        self.started = self.saved = self.measured = time.monotonic()

    @property
    def seconds(self) -> float:
        return self.before + time.monotonic() - self.started

    @property
    def done(self) -> float:
        """The share of the schedule that has passed, 1 at its end."""
        return self.seconds / 60 / self.args.minutes

    def rate(self, warmup: int, decay: float, least: float) -> float:
        """The factor of the learning rate: rises over `warmup` steps, falls over the last share `decay` of the schedule to `least`."""
        return min(1.0, (self.step + 1) / warmup) * max(least, min(1.0, (1 - self.done) / decay))

    def save(self) -> None:
        kept = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        partial = self.path.with_suffix(".partial")
        torch.save({**kept, "step": self.step, "asked": self.asked, "seconds": self.seconds}, partial)
        os.replace(partial, self.path)

    def end_step(self, measure: Callable[[], str] | None) -> None:
        """Counts the step; saves and measures where the time for it has come."""
        self.step += 1
        if time.monotonic() - self.saved > self.args.save_every:
            self.saved = time.monotonic()
            self.save()
        if measure and time.monotonic() - self.measured > self.args.measure_every:
            began = time.monotonic()
            print(f"step {self.step} development {measure()}", flush=True)
            self.measured = time.monotonic()
            self.started += self.measured - began
