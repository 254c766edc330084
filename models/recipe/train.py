"""Trains one stage of CEPE over a base of the LLaMA family: mlm, then warmup, then standard or ceped (stages.py has the paper's sizes).

    python train.py STAGE --base BASE --tokens TOKENS --runs RUNS

The ablations of Tables 11 and 12: `standard --begin mlm` (no copying), `standard --begin nothing` (random encoder), `--frozen-encoder`,
`--data concatenated` (RP only), `--data filtered` (AB only). The published configurations: `warmup --output copy`, `standard --unmasked`.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from batches import Batch, Data, copying, masked, parallel
from beginning import encoder_config, initial_cross_attention, learned, load_base, new_encoder, open_llama, trained
from cepe import Cepe, LlamaConfig, Projection
from checkpoint import llama_from, read_json
from objectives import divergence, masked_tokens, next_tokens, teacher
from optimiser import accumulate, apply, new_optimiser, rate_at
from run import DEVICE, Run, kept_by
from stages import ENCODER, SHARES, STAGES, Stage

SIZES = ("steps", "rows", "rate", "main", "chunks", "chunk", "kl")
UNUSED = {"mlm": ("chunks", "chunk", "kl", "output", "frozen_encoder", "unmasked", "cross_layers"), "warmup": ("kl", "unmasked")}
LOGGED = 10  # steps


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=list(STAGES))
    parser.add_argument("--base", type=Path, required=True, help="a Hugging Face folder")
    parser.add_argument("--tokens", type=Path, required=True, help="what tokenise.py wrote")
    parser.add_argument("--runs", type=Path, required=True, help="a folder for the stages' checkpoints, outside the repository")
    parser.add_argument("--begin", choices=["nothing", *STAGES], help="the stage to begin with, `nothing` being a random encoder and initial cross-attention")
    parser.add_argument("--encoder", type=Path, help="config.json of another encoder than the paper's, where it begins")
    parser.add_argument("--cross-layers", type=int, help="the last layers that get cross-attention; all by default")
    parser.add_argument("--output", choices=["zero", "copy"], help="of the initial cross-attention: zero by default")
    parser.add_argument("--frozen-encoder", action="store_true")
    parser.add_argument("--unmasked", action="store_true", help="chunks are read whole")
    parser.add_argument("--data", choices=["mixture", *SHARES])
    types = {f.name: f.type for f in fields(Stage)}
    for name in SIZES:
        parser.add_argument(f"--{name}", type=types[name], help=f"in place of the paper's {', '.join(f'{getattr(s, name)} ({n})' for n, s in STAGES.items())}")
    parser.add_argument("--part", type=int, default=1, help="rows of a step that are computed at a time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save-every", type=float, default=240, help="seconds between checkpoints")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def stage_of(args: argparse.Namespace) -> Stage:
    """@raise SystemExit for options that the stage would not follow"""
    given = {name: getattr(args, name) for name in (*SIZES, "data") if getattr(args, name) is not None}
    stage = replace(STAGES[args.stage], **given)
    stage = replace(stage, after=args.begin or stage.after, masked=stage.masked and not args.unmasked)
    order = list(STAGES)
    if args.begin in order[order.index(args.stage) :]:
        raise SystemExit(f"--begin {args.begin}: {args.stage} can follow {', '.join(['nothing', *order[: order.index(args.stage)]])}")
    unused = list(UNUSED.get(args.stage, ()))
    unused += [] if stage.after in ("", "nothing") else ["encoder"]
    unused += [] if stage.after in ("", "nothing", "mlm") else ["output", "cross_layers"]
    if wrong := [f"--{name.replace('_', '-')}" for name in unused if getattr(args, name)]:
        raise SystemExit(f"{', '.join(wrong)}: no part of {args.stage} after {stage.after or 'nothing'}; leave it out")
    if args.stage == "warmup" and stage.context != stage.main:
        raise SystemExit(f"--chunks x --chunk is {stage.context}, --main {stage.main}: warm-up reads the same tokens on both sides")
    if stage.rows % args.part != 0:
        raise SystemExit(f"--part {args.part} does not divide --rows {stage.rows}")
    return stage


def fits(stage: Stage, encoder: LlamaConfig, decoder: LlamaConfig | None) -> None:
    """@raise SystemExit where a sequence exceeds a window"""
    window = encoder if decoder is None else decoder
    longest = stage.main + stage.context if stage.kl else stage.main  # CEPED's teacher reads both as one text
    if longest > window.max_position_embeddings or stage.chunk > encoder.max_position_embeddings:
        raise SystemExit(
            f"{longest} tokens ({stage.chunk} in a chunk) exceed max_position_embeddings {window.max_position_embeddings} "
            f"({encoder.max_position_embeddings} of the encoder): give --main, --chunks and --chunk"
        )


def begin(args: argparse.Namespace, stage: Stage) -> tuple[nn.Module, LlamaConfig, int | None]:
    """The model as the stage finds it, the encoder's shape, and how many layers have cross-attention."""
    torch.manual_seed(args.seed)
    known = {} if stage.after in ("", "nothing") else kept_by(args.runs, stage.after)
    shape = LlamaConfig(**known["settings"]["encoder"]) if known else llama_from(read_json(args.encoder)) if args.encoder else ENCODER
    if args.stage == "mlm":
        fits(stage, shape, None)
        return new_encoder(encoder_config(open_llama(args.base).config, shape), args.seed), shape, None
    layers = known["settings"]["cross_layers"] if known and stage.after != "mlm" else args.cross_layers
    model = load_base(args.base, shape, layers, Projection.kind, args.seed)
    fits(stage, shape, model.config.decoder)
    initial_cross_attention(model, args.output or "zero")
    state = known.get("model", {})
    if stage.after == "mlm":
        state = {f"encoder.{name.removeprefix('model.')}": value for name, value in state.items() if name.startswith("model.")}
    model.load_state_dict(state, strict=False)
    return model, shape, layers


def loss_of(model: nn.Module, stage: Stage, rows: Tensor, rng: np.random.Generator) -> Tensor:
    """The stage's loss of some rows [B, context + main]."""
    if not isinstance(model, Cepe):
        c = model.model.config
        ends = c.eos_token_id if isinstance(c.eos_token_id, list) else [c.eos_token_id]
        special = tuple(token for token in (c.pad_token_id, c.bos_token_id, *ends) if token is not None)
        ids, labels = masked(rows, c.vocab_size - 1, special, rng)
        return masked_tokens(model(ids.to(DEVICE), torch.ones_like(ids, dtype=torch.bool, device=DEVICE)), labels.to(DEVICE))
    context, main = rows[:, : -stage.main], rows[:, -stage.main :]
    batch = parallel(context, main, stage, rng if stage.masked else None) if context.shape[1] else copying(main, stage)
    batch = Batch(*(part.to(DEVICE) for part in (batch.chunks, batch.mask, batch.main)))
    logits = model(batch.main, model.encode(batch.chunks, batch.mask))
    loss = next_tokens(logits, batch.main)
    return loss + stage.kl * divergence(logits, *teacher(model, batch.chunks.flatten(1), batch.main)) if stage.kl else loss


def losses(model: nn.Module, stage: Stage, data: Data, part: int, rng: np.random.Generator) -> Iterator[Tensor]:
    """One step's, part by part."""
    return (loss_of(model, stage, rows, rng) for rows in data.rows(stage.rows, rng).split(part))


def main() -> None:
    args = arguments()
    torch.set_num_threads(args.threads)
    stage = stage_of(args)
    Projection.kind = torch.bfloat16 if DEVICE.type == "cuda" else torch.float32
    model, shape, layers = begin(args, stage)
    model.to(DEVICE)
    for stack in (model.model, model.encoder) if isinstance(model, Cepe) else (model.model,):
        stack.recomputed = DEVICE.type == "cuda"
    named = trained(model, args.frozen_encoder)
    optimiser = new_optimiser([parameter for _, parameter in named])
    settings = {**asdict(stage), "encoder": shape.stored(), "cross_layers": layers, "seed": args.seed}
    settings |= {"output": args.output or "zero", "frozen_encoder": args.frozen_encoder}
    run = Run(args.runs / f"{args.stage}.pt", settings, learned(model), optimiser, args.save_every)
    data = Data(args.tokens, stage.data, 0 if args.stage == "warmup" else stage.context, stage.main)
    print(f"{args.stage}: {sum(parameter.numel() for _, parameter in named):,} trained parameters, after {stage.after or 'nothing'}", flush=True)
    seen: list[float] = []
    while run.step < stage.steps:
        rng = np.random.default_rng([args.seed, list(STAGES).index(args.stage), run.step])
        seen.append(accumulate(losses(model, stage, data, args.part, rng), stage.rows // args.part))
        rate = rate_at(run.step, stage.steps, stage.rate)
        norm = apply(optimiser, rate)
        run.end_step(last=run.step + 1 == stage.steps)
        if run.step % LOGGED == 0 or run.step == stage.steps:
            print(json.dumps({"step": run.step, "loss": round(sum(seen) / len(seen), 4), "norm": round(norm, 3), "rate": rate}), flush=True)
            seen.clear()


if __name__ == "__main__":
    main()
