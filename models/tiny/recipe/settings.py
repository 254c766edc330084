"""All settings of the recipe: shapes of the two models, and one schedule per machine."""

from dataclasses import dataclass, replace

from contriever import ContrieverConfig
from model import CepeConfig, LlamaConfig

SEED = 20261120
BOS, EOS, PAD = 1, 2, 0
CEPE_VOCAB = 10240
CONTRIEVER_VOCAB = 12288
WINDOW = 512
CONTEXT_TOKENS = 256
MAX_NEW_TOKENS = 25

DECODER = LlamaConfig(
    vocab_size=CEPE_VOCAB,
    hidden_size=256,
    intermediate_size=704,
    num_hidden_layers=4,
    num_attention_heads=4,
    num_key_value_heads=4,
    max_position_embeddings=WINDOW,
)
ENCODER = replace(DECODER, num_hidden_layers=3, max_position_embeddings=CONTEXT_TOKENS)
CEPE = CepeConfig(DECODER, ENCODER, num_cross_attn_layers=4)
CONTRIEVER = ContrieverConfig(
    vocab_size=CONTRIEVER_VOCAB,
    hidden_size=384,
    num_hidden_layers=3,
    num_attention_heads=12,
    intermediate_size=1536,
    max_position_embeddings=CONTEXT_TOKENS,
)


@dataclass(frozen=True)
class Stage:
    """A stage's schedule: the learning rate warms up, stays, and falls to zero over the last `decay` of
    the stage, which ends after `steps` or `minutes`, whichever comes first."""

    steps: int
    lr: float
    warmup: int = 100
    decay: float = 0.25
    minutes: float = 600.0

    def progress(self, step: int, seconds: float) -> float:
        return max(step / self.steps, seconds / 60 / self.minutes)

    def lr_at(self, step: int, seconds: float) -> float:
        rise = min(1.0, (step + 1) / self.warmup)
        fall = min(1.0, max(0.0, 1 - self.progress(step, seconds)) / self.decay)
        return self.lr * rise * fall


@dataclass(frozen=True)
class Settings:
    threads: int
    compiled: bool
    copy_batch: int
    decoder_copy: Stage
    decoder_read: Stage
    decoder_tokens: int
    context_passages: int
    question_tokens: int
    real_share: float
    cepe_copy: Stage
    cepe_read: Stage
    cepe_more: Stage
    contriever: Stage
    contriever_batch: int
    contriever_worlds: int


CPU = Settings(
    threads=1,
    compiled=True,
    copy_batch=32,
    decoder_copy=Stage(steps=900, lr=3e-3, warmup=50),
    decoder_read=Stage(steps=20000, lr=2e-3, decay=0.35, minutes=44),
    decoder_tokens=3600,
    context_passages=40,
    question_tokens=1800,
    real_share=0.02,
    cepe_copy=Stage(steps=300, lr=1.5e-3, warmup=20, minutes=2),
    cepe_read=Stage(steps=20000, lr=1.5e-3, decay=0.4, minutes=47),
    cepe_more=Stage(steps=20000, lr=6e-4, warmup=40, decay=0.5, minutes=172),
    contriever=Stage(steps=700, lr=2e-4, warmup=40, decay=0.6),
    contriever_batch=32,
    contriever_worlds=2,
)
CPU_LONG = replace(CPU, cepe_read=replace(CPU.cepe_read, minutes=175))
GPU = replace(
    CPU,
    threads=8,
    copy_batch=256,
    decoder_tokens=16000,
    context_passages=240,
    question_tokens=12000,
    decoder_copy=Stage(steps=2000, lr=3e-3),
    decoder_read=Stage(steps=4000, lr=1.5e-3, minutes=8),
    cepe_copy=Stage(steps=300, lr=1.5e-3, warmup=20),
    cepe_read=Stage(steps=6000, lr=1.5e-3, minutes=10),
    cepe_more=Stage(steps=12000, lr=8e-4, warmup=40, decay=0.5),
    contriever=Stage(steps=3000, lr=2e-4),
    contriever_batch=128,
    contriever_worlds=12,
)
SMOKE = replace(
    CPU,
    compiled=False,
    copy_batch=8,
    decoder_copy=Stage(steps=3, lr=1e-3),
    decoder_read=Stage(steps=3, lr=1e-3),
    decoder_tokens=400,
    context_passages=6,
    question_tokens=200,
    cepe_copy=Stage(steps=2, lr=1e-3),
    cepe_read=Stage(steps=3, lr=1e-3),
    cepe_more=Stage(steps=2, lr=1e-3),
    contriever=Stage(steps=3, lr=1e-3),
    contriever_batch=8,
    contriever_worlds=1,
)


SETTINGS = {"cpu": CPU, "cpu-long": CPU_LONG, "gpu": GPU, "smoke": SMOKE}
