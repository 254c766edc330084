"""The stages of training and the paper's sizes. Where the published configurations differ, they are named."""

from dataclasses import dataclass

from cepe import LlamaConfig

# Pre-training: RoBERTa-large's shape in LLaMA's blocks; its vocabulary is the base's and the mask token
ENCODER = LlamaConfig(32_001, 1024, 4096, 24, 16, 16, 512, rms_norm_eps=1e-6)


@dataclass(frozen=True)
class Stage:
    """A step reads `rows` sequences: `chunks` chunks of `chunk` tokens in the encoder, `main` tokens in the decoder (of pre-training:
    in the encoder). `after` is the stage that it follows."""

    steps: int
    rows: int
    rate: float
    main: int
    chunks: int = 0
    chunk: int = 0
    after: str = ""
    data: str = "mixture"
    masked: bool = False
    kl: float = 0.0

    @property
    def context(self) -> int:
        return self.chunks * self.chunk


STAGES = {
    # Encoder pre-training by masked language modelling
    "mlm": Stage(100_000, 2_048, 1e-3, 512, data="concatenated"),
    # Warm-up by copying: both sides read the same 256 tokens
    "warmup": Stage(4_000, 128, 5e-4, 256, 4, 64, after="mlm", data="concatenated"),
    # Standard training: 8,192 tokens, half of them in the encoder
    "standard": Stage(20_000, 128, 3e-4, 4_096, 16, 256, after="warmup", masked=True),
    # CEPE-Distilled: the teacher's window holds both halves
    "ceped": Stage(20_000, 128, 3e-4, 2_048, 8, 256, after="warmup", masked=True, kl=2.0),
}

MASKED_TOKENS = 0.3  # of a sequence of pre-training
MASKED_CHUNKS, WHOLE = 0.3, 0.1  # chunks that are masked; of these, masked whole
TOP = 50  # tokens of which the teacher's probabilities count

# Optimisation: AdamW, linear rise, half a cosine (defaults of transformers' Trainer where the paper is silent)
BETAS, EPSILON, DECAY, LARGEST_NORM, RISE = (0.9, 0.999), 1e-8, 0.0, 1.0, 0.04

# Data: shares of RedPajama's domains. Filtered documents hold a whole sequence; others are laid end to end
MIXTURE = {"filtered": 2, "concatenated": 1}
SHARES = {
    "filtered": {"arxiv": 0.5, "book": 0.5},
    "concatenated": {"arxiv": 0.025, "book": 0.045, "c4-rp": 0.15, "cc": 0.67, "github": 0.045, "stackexchange": 0.02, "wiki": 0.045},
}
SHARES["retrieved"] = SHARES["concatenated"]
