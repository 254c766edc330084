"""What both stages share: their options, and runs of so many minutes."""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import torch

from cepe import Cepe
from optimiser import apply, new_optimiser
from reader_model import learned
from run import Run

LEAST = 0.02  # of the rate, at the end


def parser_of(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
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


class TimedRun(Run):
    """Its schedule is a time, which measuring does not count for. Adapters are learned at `adapters` times the rate."""

    def __init__(self, args: argparse.Namespace, file: str, model: Cepe, settings: dict, adapters: float = 1.0):
        self.args, own = args, learned(model)
        trained = {name: parameter for name, parameter in model.named_parameters() if name in own}
        groups = [{"params": [p for n, p in trained.items() if ("lora_" in n) == lora], "of": of} for lora, of in ((False, 1.0), (True, adapters))]
        optimiser = new_optimiser([group for group in groups if group["params"]], (0.9, 0.98))
        super().__init__(args.runs / file, settings, own, optimiser, args.save_every)
        self.measured, self.average = time.monotonic(), {}

    @property
    def done(self) -> float:
        """The share of the schedule that has passed, 1 at its end."""
        return self.seconds / 60 / self.args.minutes

    def rate(self, warmup: int, decay: float) -> float:
        """The learning rate rises over `warmup` steps and falls over the last share `decay` of the schedule."""
        return self.args.lr * min(1.0, (self.step + 1) / warmup) * max(LEAST, min(1.0, (1 - self.done) / decay))

    def note(self, **values: float | torch.Tensor) -> None:
        """Figures of a step, for their running averages."""
        for name, value in values.items():
            value = torch.as_tensor(value).detach()
            if not torch.isfinite(value):
                continue
            self.average[name] = 0.95 * self.average.get(name, value) + 0.05 * value

    def learn(self, rate: float, largest_norm: float, measure: Callable[[], str]) -> None:
        """Ends a step of which the gradients are there."""
        apply(self.optimiser, rate, largest_norm)
        self.end_step()
        if self.args.development and time.monotonic() - self.measured > self.args.measure_every:
            began = time.monotonic()
            print(f"step {self.step} development {measure()}", flush=True)
            self.measured = time.monotonic()
            self.started += self.measured - began
        if self.step % 10 == 0:
            figures = " ".join(f"{name} {value:.3f}" for name, value in self.average.items())
            print(f"step {self.step} questions {self.asked} {self.seconds:.0f}s {figures}", flush=True)
