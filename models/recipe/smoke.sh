#!/usr/bin/env bash
# Trains all four stages for minutes on a CPU, over the tiny reader's decoder; one run is killed and resumed. Leaves CHECKPOINT for
# `cepe build`: smoke.sh CHECKPOINT [STEPS]
set -euo pipefail
out=$(realpath -m "${1:?CHECKPOINT}")
cd "$(dirname "$0")"
steps=${2:-200} work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python - "$work" <<'PYTHON'
import csv, json, pathlib, shutil, sys
from checkpoint import read_json, write_json
from safetensors.torch import load_file, save_file
work, tiny = pathlib.Path(sys.argv[1]), pathlib.Path("../tiny/checkpoint/cepe")
base, text = work / "base", work / "text"
base.mkdir(), text.mkdir()
save_file({n: w for n, w in load_file(tiny / "model.safetensors").items() if n.startswith("model.") and "cross_attn" not in n}, base / "model.safetensors")
write_json(base / "config.json", {n: v for n, v in read_json(tiny / "config.json").items() if "encoder" not in n and "cross" not in n} | {"architectures": ["LlamaForCausalLM"]})
for name in ("tokenizer.json", "tokenizer_config.json"):
    shutil.copyfile(tiny / name, base / name)
write_json(work / "encoder.json", {"vocab_size": 0, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
    "max_position_embeddings": 256, "rms_norm_eps": 1e-6})
with open("../../index/corpus/passages.tsv", encoding="utf-8", newline="") as file:
    passages = [f"{row['title']}\n{row['text']}" for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
for number, domain in enumerate(("arxiv", "book", "wiki")):
    joined = passages[number::3]
    documents = joined if domain == "wiki" else ["\n".join(joined[i : i + 8]) for i in range(0, len(joined), 8)]
    (text / f"{domain}.jsonl").write_text("".join(json.dumps({"text": document}) + "\n" for document in documents), "utf-8")
PYTHON
python tokenise.py --base "$work/base" --text "$work/text" --out "$work/tokens"
train() { exec python train.py "$@" --base "$work/base" --tokens "$work/tokens" --runs "$work/runs" --save-every 1; }
small=(--rows 8 --part 8 --steps "$steps" --main 64 --chunks 4)
(train mlm --encoder "$work/encoder.json" --rows 32 --part 32 --steps "$((2 * steps))" --main 64 --rate 2e-3)
(train warmup "${small[@]}" --chunk 16 --rate 2e-3)
train standard "${small[@]}" --chunk 32 --rate 1e-3 >"$work/killed" & pid=$!
until [ -e "$work/runs/standard.pt" ]; do kill -0 $pid; sleep 0.2; done
kill -9 $pid; wait $pid || true
cat "$work/killed"
(train standard "${small[@]}" --chunk 32 --rate 1e-3) | tee "$work/resumed"
grep -q '^standard: resumed at step [1-9]' "$work/resumed"
(train ceped "${small[@]}" --chunk 32 --rate 1e-3 --begin standard)
python export.py --base "$work/base" --runs "$work/runs" --stage ceped --out "$out" --golden
