#!/usr/bin/env bash
# Trains for some seconds, is killed, and resumes from its checkpoint: smoke.sh BASE.gguf DATA
set -euo pipefail
base=$1 data=$2 runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
train() { exec python "$(dirname "$0")/train_reading.py" --base "$base" --data "$data" --runs "$runs" --save-every 1 "$@"; }
train --minutes 10 >"$runs/log" & pid=$!
until [ -e "$runs/reading.pt" ]; do kill -0 $pid; sleep 1; done
kill -9 $pid; wait $pid || true
train --minutes 0.01 | tee "$runs/again"
grep -q '^reading: resumed at step [1-9]' "$runs/again"
