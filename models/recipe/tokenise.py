"""Text to token files: per domain the documents end to end, each between the base's begin and end tokens, and where each ends.

    python tokenise.py --base BASE --text DIR --out TOKENS

DIR holds <domain>.jsonl, or folders <domain> of *.jsonl, with an object {"text": ..} per line; domains have RedPajama's names (stages.py).
"""

import argparse
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from bases import Folder
from stages import SHARES

TOGETHER = 1_000  # documents that are tokenised at a time


def texts(files: list[Path]) -> Iterator[str]:
    for file in files:
        with open(file, encoding="utf-8") as lines:
            yield from (json.loads(line)["text"] for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("base", "text", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    args = parser.parse_args()
    base = Folder(args.base)
    config, tokenizer = base.config, base.tokenizer()
    end = config.eos_token_id[0] if isinstance(config.eos_token_id, list) else config.eos_token_id
    first, last = ([] if token is None else [token] for token in (config.bos_token_id, end))
    args.out.mkdir(parents=True, exist_ok=True)
    for domain in sorted({name for shares in SHARES.values() for name in shares}):
        files = sorted([*args.text.glob(f"{domain}.jsonl"), *(args.text / domain).glob("**/*.jsonl")])
        if not files:
            continue
        ends, total, raw = [], 0, args.out / f"{domain}.partial"
        with open(raw, "wb") as out:
            found = texts(files)
            while batch := list(islice(found, TOGETHER)):
                for encoded in tokenizer.encode_batch(batch, add_special_tokens=False):
                    ids = np.array([*first, *encoded.ids, *last], np.uint32)
                    total += len(ids)
                    ends.append(total)
                    ids.tofile(out)
        if not ends:
            raise SystemExit(f"{files[0]}: no documents")
        np.save(args.out / f"{domain}.npy", np.memmap(raw, np.uint32, "r"))
        np.save(args.out / f"{domain}.ends.npy", np.array(ends, np.int64))
        raw.unlink()
        print(f"{domain}: {len(ends)} documents, {total} tokens", flush=True)


if __name__ == "__main__":
    main()
