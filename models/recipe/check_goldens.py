"""Compares initial weights, batches, losses, gradients and optimiser steps with the published training code's.

    python check_goldens.py ../../test/fixtures/training

Per file the greatest differences: `loss` and `logits` relative, `gradient` relative to a tensor's greatest value, `step` in shares of the
learning rate (the weights after a step).
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor, nn

from batches import Batch, copying, parallel
from beginning import initial_cross_attention, trained
from cepe import Cepe, CepeConfig, Context, LlamaConfig, MaskedLm
from checkpoint import llama_from
from objectives import divergence, masked_tokens, next_tokens, teacher
from optimiser import accumulate, apply, new_optimiser, rate_at
from stages import STAGES, Stage

LIMITS = {"equal": 0.0, "loss": 1e-5, "logits": 1e-5, "gradient": 1e-4, "step": 0.1, "off by 1 %": 1e-4, "rate": 1e-12, "half": 2**-11}
Hyper = dict


class Golden:
    def __init__(self, folder: Path, name: str):
        file = folder / f"{name}.safetensors"
        self.name, self.tensors, self.worst = name, load_file(file), {}
        with safe_open(file, "pt") as opened:
            self.hyper: Hyper = json.loads(opened.metadata()["hyper"])

    def __getitem__(self, name: str) -> Tensor:
        return self.tensors[name]

    def part(self, prefix: str) -> dict[str, Tensor]:
        return {name.removeprefix(prefix): value for name, value in self.tensors.items() if name.startswith(prefix)}

    def see(self, kind: str, value: float) -> None:
        self.worst[kind] = max(self.worst.get(kind, 0.0), value)

    def equal(self, found: Tensor, expected: Tensor) -> None:
        self.see("equal", float(found.shape != expected.shape or not torch.equal(found.to(expected.dtype), expected)))

    def near(self, kind: str, found: Tensor | float, expected: Tensor) -> None:
        """Relative to the greatest value; absolute where that is nothing."""
        found, most = torch.as_tensor(found).detach().double(), float(expected.double().abs().max())
        self.see(kind, float((found - expected.double()).abs().max()) / (most or 1.0))

    def gradients(self, named: list[tuple[str, nn.Parameter]], prefix: str = "") -> None:
        known, norms = self.part(f"{prefix}grad."), self.part(f"{prefix}grad_norm.")
        for name, parameter in named:
            if name in known:
                self.near("gradient", parameter.grad, known[name])
            if name in norms:
                self.near("gradient", parameter.grad.norm(), norms[name])

    def weights(self, named: list[tuple[str, nn.Parameter]], prefix: str, rate: float) -> None:
        off, total = 0, 0
        for name, after in self.part(prefix).items():
            apart = (dict(named)[name].detach() - after).abs() / rate
            self.see("step", float(apart.max()))
            off, total = off + int((apart > 0.01).sum()), total + apart.numel()
        self.see("off by 1 %", off / total if total else 0.0)


def new_model(start: Golden, student: Golden | None = None, output: str = "zero") -> Cepe:
    decoder, encoder = (llama_from(start.hyper[f"{part}_config"]) for part in ("decoder", "encoder"))
    model = Cepe(CepeConfig(decoder, encoder, decoder.num_hidden_layers))
    known = start.part("decoder.") | {f"encoder.{name}": value for name, value in start.part("mlm.model.").items()}
    model.load_state_dict(known, strict=False)
    initial_cross_attention(model, output)
    if student:
        model.load_state_dict(student.tensors, strict=False)
    return model


def stage_of(golden: Golden) -> Stage:
    h = golden.hyper
    return Stage(1, 2, h["learning_rate"], h["chunk_size"], h["num_context"], h["context_size"])


def logits_of(model: Cepe, batch: Batch) -> tuple[Tensor, Context]:
    context = model.encode(batch.chunks, batch.mask)
    return model(batch.main, context), context


def seen(golden: Golden, batch: Batch, logits: Tensor, context: Context, prefix: str = "") -> None:
    if f"{prefix}logits" in golden.tensors:
        golden.near("logits", logits, golden[f"{prefix}logits"])
        golden.near("logits", context.phi[context.mask], golden[f"{prefix}encoder_hidden_states"][batch.mask.flatten(1)])


def step(golden: Golden, model: nn.Module, loss: Callable[[], Tensor], prefix: str = "") -> None:
    """Loss, gradients and one step at the golden's rate."""
    named, rate = trained(model), golden.hyper["learning_rate"]
    if prefix in ("", "step1."):
        golden.optimiser = new_optimiser([parameter for _, parameter in named])
    golden.near("loss", accumulate([loss()], 1), golden[f"{prefix}loss"])
    golden.gradients(named, prefix)
    norm = apply(golden.optimiser, rate)
    if f"{prefix}grad_norm_total" in golden.tensors:
        golden.near("gradient", norm, golden[f"{prefix}grad_norm_total"])
    golden.weights(named, f"{prefix}after.", rate)


def check_init(golden: Golden, start: Golden) -> None:
    for output in ("zero", "copy"):
        state = new_model(start, output=output).state_dict()
        for name, value in golden.part(f"{output}.").items():
            golden.equal(state[name], value)
    c = golden.hyper["gqa_decoder_config"]
    encoder = LlamaConfig(8, golden.hyper["encoder_hidden_size"], 8, 1, 2, 2, 8)
    model = Cepe(CepeConfig(llama_from(c), encoder, golden.hyper["gqa_num_cross_attn_layers"]))
    model.load_state_dict(golden.part("gqa.source."), strict=False)
    initial_cross_attention(model)
    for name, value in golden.part("gqa.zero.").items():
        golden.equal(model.state_dict()[name], value)


def check_warmup(golden: Golden, start: Golden) -> None:
    model, stage = new_model(start, output=golden.hyper["init_mode"]), stage_of(golden)
    batch = copying(golden["item.token_ids"], stage)
    golden.equal(batch.main, golden["batch.input_ids"])
    golden.equal(batch.chunks, golden["batch.encoder_input_ids"])
    for number in range(1, golden.hyper["steps"] + 1):
        seen(golden, batch, *logits_of(model, batch), prefix=f"step{number}.")
        step(golden, model, lambda: next_tokens(logits_of(model, batch)[0], batch.main), f"step{number}.")
    golden.near("loss", next_tokens(logits_of(model, batch)[0], batch.main), golden["final_loss"])


def check_standard(golden: Golden, start: Golden, student: Golden) -> None:
    model = new_model(start, student)
    batch = parallel(golden["item.prev_token_ids"], golden["item.token_ids"], stage_of(golden))
    golden.equal(batch.chunks, golden["batch.encoder_input_ids"])
    golden.equal(batch.main, golden["batch.input_ids"])
    if "batch.encoder_attention_mask" in golden.tensors:
        batch = Batch(batch.chunks, golden["batch.encoder_attention_mask"].bool(), batch.main)
    seen(golden, batch, *logits_of(model, batch))
    step(golden, model, lambda: next_tokens(logits_of(model, batch)[0], batch.main))
    golden.near("loss", next_tokens(logits_of(model, batch)[0], batch.main), golden["loss_after"])


def check_ceped(golden: Golden, start: Golden, student: Golden) -> None:
    model, stage = new_model(start, student), stage_of(golden)
    batch = parallel(golden["item.prev_token_ids"], golden["item.token_ids"], stage)
    golden.equal(batch.chunks, golden["batch.encoder_input_ids"])
    probabilities, tokens = teacher(model, batch.chunks.flatten(1), batch.main)
    golden.equal(tokens, golden["teacher.target_index"])
    golden.near("half", probabilities, golden["teacher.target_prob"][..., :-1])
    stored = golden["teacher.target_prob"][..., :-1].float(), golden["teacher.target_index"].long()

    def parts() -> tuple[Tensor, Tensor]:
        logits, context = logits_of(model, batch)
        seen(golden, batch, logits, context)
        return next_tokens(logits, batch.main), divergence(logits, *stored)

    for found, name in zip(parts(), ("loss_ce", "loss_kl.drop"), strict=True):
        golden.near("loss", found, golden[name])
    golden.tensors.pop("logits", None)
    loss = lambda: (lambda lm, kl: lm + STAGES["ceped"].kl * kl)(*parts())
    step(golden, model, loss)
    golden.near("loss", loss(), golden["loss_after"])


def check_mlm(golden: Golden, start: Golden) -> None:
    model = MaskedLm(llama_from(start.hyper["encoder_config"]))
    model.load_state_dict(start.part("mlm."))
    logits = lambda: model(golden["batch.input_ids"], golden["batch.attention_mask"].bool())
    golden.near("logits", logits(), golden["logits"])
    step(golden, model, lambda: masked_tokens(logits(), golden["batch.labels"]))
    golden.near("loss", masked_tokens(logits(), golden["batch.labels"]), golden["loss_after"])


def check_rates(golden: Golden) -> None:
    for name in ("mlm", "warmup", "standard"):
        stage = STAGES[name]
        found = [rate_at(int(number), stage.steps, stage.rate) for number in golden[f"{name}.step"]]
        golden.see("rate", float((torch.tensor(found, dtype=torch.float64) - golden[f"{name}.learning_rate"]).abs().max()))


def check_run(golden: Golden, start: Golden, student: Golden) -> None:
    """Six steps of two parts each under the schedule."""
    model, h = new_model(start, student), golden.hyper
    named, parts = trained(model), h["gradient_accumulation_steps"]
    optimiser, rates = new_optimiser([parameter for _, parameter in named]), []
    for number in range(h["max_steps"]):
        rows = range(number * parts, (number + 1) * parts)
        batches = [Batch(*(golden[f"batch.{name}"][row][None] for name in ("encoder_input_ids", "encoder_attention_mask", "input_ids"))) for row in rows]
        losses = (next_tokens(logits_of(model, Batch(b.chunks, b.mask.bool(), b.main))[0], b.main) for b in batches)
        golden.see("logged", abs(accumulate(losses, parts) - float(golden["logged_loss"][number])))
        rates.append(rate_at(number, h["max_steps"], h["learning_rate"], h["warmup_steps"]))
        apply(optimiser, rates[-1])
    golden.see("rate", float((torch.tensor(rates[1:], dtype=torch.float64) - golden["learning_rate_after_step"][:-1]).abs().max()))
    golden.weights(named, "after.", sum(rates))


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    start, student = Golden(folder, "start"), Golden(folder, "student")
    checks: dict[str, Callable[[Golden], None]] = {
        "init": lambda g: check_init(g, start),
        "warmup-zero": lambda g: check_warmup(g, start),
        "warmup-copy": lambda g: check_warmup(g, start),
        "standard": lambda g: check_standard(g, start, student),
        "standard-masked": lambda g: check_standard(g, start, student),
        "ceped": lambda g: check_ceped(g, start, student),
        "mlm": lambda g: check_mlm(g, start),
        "learning-rate": check_rates,
        "run": lambda g: check_run(g, start, student),
    }
    failed = []
    for name, check in checks.items():
        if (folder / f"{name}.safetensors").exists():
            golden = Golden(folder, name)
            check(golden)
            print(f"{name}: {', '.join(f'{kind} {value:.1e}' for kind, value in golden.worst.items())}", flush=True)
            failed += [f"{name}: {kind}" for kind, value in golden.worst.items() if not value <= LIMITS.get(kind, 1e-4)]
    if failed:
        sys.exit(f"beyond the limits: {', '.join(failed)}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
