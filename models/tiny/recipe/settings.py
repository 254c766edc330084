"""All settings of the recipe: shapes of the two models, and one schedule per machine."""

from dataclasses import dataclass, replace

from model import CepeConfig, ContrieverConfig, LlamaConfig

SEED = 20261120
BOS, EOS, PAD = 1, 2, 0
CEPE_VOCAB = 6144
CONTRIEVER_VOCAB = 8192
WINDOW = 512
CONTEXT_TOKENS = 256

DECODER = LlamaConfig(
    vocab_size=CEPE_VOCAB,
    hidden_size=256,
    intermediate_size=704,
    num_hidden_layers=4,
    num_attention_heads=8,
    num_key_value_heads=8,
    max_position_embeddings=WINDOW,
)
ENCODER = replace(DECODER, num_hidden_layers=3, max_position_embeddings=CONTEXT_TOKENS)
CEPE = CepeConfig(DECODER, ENCODER, num_cross_attn_layers=4)
CONTRIEVER = ContrieverConfig(
    vocab_size=CONTRIEVER_VOCAB,
    hidden_size=256,
    num_hidden_layers=3,
    num_attention_heads=4,
    intermediate_size=768,
    max_position_embeddings=CONTEXT_TOKENS,
)


@dataclass(frozen=True)
class Stage:
    """A stage's schedule: learning rate warms up, stays, and falls to zero over the last `decay`."""

    steps: int
    lr: float
    warmup: int = 100
    decay: float = 0.25

    def lr_at(self, step: int) -> float:
        rise = min(1.0, (step + 1) / self.warmup)
        fall = min(1.0, (self.steps - step) / max(1.0, self.decay * self.steps))
        return self.lr * rise * fall


@dataclass(frozen=True)
class Settings:
    threads: int
    copy_batch: int
    decoder_copy: Stage
    decoder_read: Stage
    decoder_tokens: int
    context_tokens: int
    real_share: float
    cepe_copy: Stage
    cepe_read: Stage
    contriever: Stage
    contriever_batch: int
    contriever_worlds: int


CPU = Settings(
    threads=1,
    copy_batch=32,
    decoder_copy=Stage(steps=900, lr=3e-3, warmup=50),
    decoder_read=Stage(steps=2600, lr=1.5e-3, decay=0.15),
    decoder_tokens=2400,
    context_tokens=1500,
    real_share=0.05,
    cepe_copy=Stage(steps=300, lr=2e-3, warmup=20),
    cepe_read=Stage(steps=3000, lr=2e-3),
    contriever=Stage(steps=900, lr=1e-3),
    contriever_batch=48,
    contriever_worlds=2,
)
GPU = replace(
    CPU,
    threads=8,
    copy_batch=256,
    decoder_tokens=16000,
    context_tokens=12000,
    decoder_copy=Stage(steps=2000, lr=3e-3),
    decoder_read=Stage(steps=4000, lr=3e-3),
    contriever_batch=256,
    contriever_worlds=12,
)
SMOKE = replace(
    CPU,
    copy_batch=8,
    decoder_copy=Stage(steps=3, lr=1e-3),
    decoder_read=Stage(steps=3, lr=1e-3),
    decoder_tokens=400,
    context_tokens=300,
    cepe_copy=Stage(steps=2, lr=1e-3),
    cepe_read=Stage(steps=3, lr=1e-3),
    contriever=Stage(steps=3, lr=1e-3),
    contriever_batch=8,
    contriever_worlds=1,
)


def settings_for(name: str) -> Settings:
    return {"cpu": CPU, "gpu": GPU, "smoke": SMOKE}[name]
