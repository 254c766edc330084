"""Tiny random checkpoints with this model's own outputs, for the tests of the graph builders.

They cover what the other fixtures do not: grouped keys in the decoder's self- and cross-attention (2 key/value
heads of 4) and in the encoder (1 of 2), cross-attention only in the last 2 of 3 layers, and an encoder narrower
than the decoder. This model is no reference itself: `test/fixtures/training/check.py` compares it with the published one's outputs.

    python make_fixtures.py ../../../test/fixtures/recipe
"""

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from configs import cepe_json, contriever_json, write_json
from contriever import Contriever, ContrieverConfig
from model import Cepe, CepeConfig, LlamaConfig

VOCAB = 64
CEPE = CepeConfig(
    decoder=LlamaConfig(VOCAB, 64, 48, 3, 4, 2, 128),
    encoder=LlamaConfig(VOCAB + 1, 32, 32, 2, 2, 1, 128),
    num_cross_attn_layers=2,
)
CONTRIEVER = ContrieverConfig(80, 32, 2, 2, 48, 40)
SEED = 7


def randomize(module: torch.nn.Module, rng: torch.Generator) -> None:
    """Weights large enough for outputs to differ clearly from token to token."""
    for parameter in module.parameters():
        noise = torch.randn(parameter.shape, generator=rng)
        parameter.copy_(1 + 0.1 * noise if parameter.dim() == 1 else 0.25 * noise)


def greedy(next_logprobs, stops: list[int], limit: int) -> tuple[Tensor, Tensor]:
    """Generated ids and their log-probabilities, the stop token included."""
    ids: list[int] = []
    logprobs: list[float] = []
    while len(ids) < limit and not (ids and ids[-1] in stops):
        row = next_logprobs(ids)
        ids.append(int(row.argmax()))
        logprobs.append(float(row.max()))
    return torch.tensor(ids), torch.tensor(logprobs)


def single(model: Cepe, prompt: Tensor, phi: Tensor | None):
    def step(ids: list[int]) -> Tensor:
        return model(torch.cat([prompt, torch.tensor([ids], dtype=torch.long)], 1), phi)[0, -1].log_softmax(-1)

    return step


def cepe_case(model: Cepe, rng: torch.Generator, contexts: int, width: int, prompt: int, side: str, limit: int) -> dict[str, Tensor]:
    out: dict[str, Tensor] = {"input_ids": torch.randint(3, VOCAB, (1, prompt), generator=rng)}
    phi = None
    if contexts:
        lengths = torch.randint(2, width + 1, (contexts,), generator=rng)
        lengths[0] = width
        columns = torch.arange(width)[None]
        mask = columns < lengths[:, None] if side == "right" else columns >= width - lengths[:, None]
        ids = torch.randint(3, VOCAB, (contexts, width), generator=rng) * mask
        states = model.encoder(ids, mask)
        phi = states[mask]
        out |= {"encoder_input_ids": ids, "encoder_attention_mask": mask.long(), "encoder_hidden_states": states}
    stops = [2, 5]
    out["logits"] = model(out["input_ids"], phi)
    out["generated_ids"], out["generated_logprobs"] = greedy(single(model, out["input_ids"], phi), stops, limit)
    out["stop_ids"], out["max_new_tokens"] = torch.tensor(stops), torch.tensor([limit])
    return out


def replug_case(model: Cepe, rng: torch.Generator) -> dict[str, Tensor]:
    """One prompt per passage; next-token distributions mixed with softmax(score / temperature)."""
    rows, width, limit, stops, temperature = 4, 15, 8, [2, 5], 1.5
    lengths = torch.tensor([width, 9, 12, 7])
    mask = torch.arange(width)[None] >= width - lengths[:, None]
    ids = torch.randint(3, VOCAB, (rows, width), generator=rng) * mask
    scores = torch.randn(rows, generator=rng) * 2
    weights = (scores / temperature).log_softmax(0)

    def step(done: list[int]) -> Tensor:
        tail = torch.tensor([done], dtype=torch.long)
        logprobs = [model(torch.cat([ids[i : i + 1, mask[i]], tail], 1))[0, -1].log_softmax(-1) for i in range(rows)]
        return (torch.stack(logprobs) + weights[:, None]).logsumexp(0)

    generated, logprobs = greedy(step, stops, limit)
    return {
        "input_ids": ids,
        "attention_mask": mask.long(),
        "context_scores": scores,
        "temperature": torch.tensor([temperature]),
        "first_logprobs": step([]),
        "generated_ids": generated,
        "generated_logprobs": logprobs,
        "stop_ids": torch.tensor(stops),
        "max_new_tokens": torch.tensor([limit]),
    }


def write(folder: Path, model: torch.nn.Module, config: dict, cases: dict[str, dict[str, Tensor]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", config)
    save_file({k: v.contiguous() for k, v in model.state_dict().items()}, folder / "model.safetensors", {"format": "pt"})
    for name, tensors in cases.items():
        save_file({k: v.contiguous() for k, v in tensors.items()}, folder / f"golden-{name}.safetensors")


@torch.no_grad()
def main(target: Path) -> None:
    rng = torch.Generator().manual_seed(SEED)
    cepe = Cepe(CEPE)
    randomize(cepe, rng)
    cases = {
        "k0": cepe_case(cepe, rng, 0, 0, 9, "right", 4),
        "k20": cepe_case(cepe, rng, 20, 9, 21, "right", 16),
        "k3-left": cepe_case(cepe, rng, 3, 11, 17, "left", 12),
        "k5-right": cepe_case(cepe, rng, 5, 14, 6, "right", 12),
        "one-token-prompt": cepe_case(cepe, rng, 2, 6, 1, "right", 12),
        "replug": replug_case(cepe, rng),
    }
    write(target / "cepe-tiny-gqa", cepe, cepe_json(CEPE, "float32"), cases)

    contriever = Contriever(CONTRIEVER)
    randomize(contriever, rng)
    lengths = torch.tensor([13, 1, 8, 13, 5])
    mask = torch.arange(13)[None] < lengths[:, None]
    ids = torch.randint(5, CONTRIEVER.vocab_size, mask.shape, generator=rng) * mask
    golden = {"input_ids": ids, "attention_mask": mask.long(), "embedding": contriever(ids, mask)}
    write(target / "contriever-tiny", contriever, contriever_json(CONTRIEVER, "float32"), {"embedding": golden})

    # The same in PyTorch's own format.
    pickled = target / "contriever-tiny-bin"
    write(pickled, contriever, contriever_json(CONTRIEVER, "float32"), {"embedding": golden})
    (pickled / "model.safetensors").unlink()
    torch.save(contriever.state_dict(), pickled / "pytorch_model.bin")

    sums = {
        folder.name: float(sum(value.double().sum() for value in model.state_dict().values()))
        for folder, model in ((target / "cepe-tiny-gqa", cepe), (target / "contriever-tiny", contriever), (pickled, contriever))
    }
    write_json(target.parent / "weight-sums.json", sums)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
