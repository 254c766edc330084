#!/bin/sh
# Runs every stage for a few steps on CPU, in a folder of its own: shows that the recipe runs. The retriever's stage and
# the export need the teacher's folder (minilm.py) as argument.
set -eu
cd "$(dirname "$0")"
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
python - "$runs" <<'PYTHON'
import json, pathlib, random, sys
from word_vectors import SIZE, write_vectors
package = pathlib.Path(sys.argv[1]) / "vectors.json"
package.write_text(json.dumps({"vectors": {w: [random.gauss(0, 1) for _ in range(SIZE)] for w in ("river", "born", "who")}}))
write_vectors(package, pathlib.Path(sys.argv[1]))
PYTHON
python train_decoder.py copy --settings smoke --runs "$runs"
python train_decoder.py read --settings smoke --runs "$runs"
python train_cepe.py copy --settings smoke --runs "$runs"
python train_cepe.py read --settings smoke --runs "$runs"
python train_more.py --settings smoke --runs "$runs"
if [ -n "${1:-}" ]; then
  python train_contriever.py --settings smoke --runs "$runs" --teacher "$1" \
    --corpus ../../../index/corpus/passages.tsv --questions ../../../eval/questions/dev.jsonl
  python export.py --runs "$runs" --checkpoint "$runs/checkpoint"
fi
echo "smoke: every stage ran"
