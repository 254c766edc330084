"""llama.cpp (llama-cpp-python) asked in lines of JSON: {"ids": [...], "tokens": n} is answered with {"first_ms": ..., "ms": ...} once n tokens are there.

Usage: llama.py MODEL.gguf THREADS WINDOW
"""

import importlib.metadata
import json
import os
import sys
import time

from llama_cpp import Llama

# As low a priority as the reader's processes have.
os.nice(5)
model, threads, window = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
llama = Llama(model, n_ctx=window, n_threads=threads, n_threads_batch=threads, n_gpu_layers=0, verbose=False)
print(json.dumps({"version": importlib.metadata.version("llama-cpp-python")}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    # Nothing is kept of the prompt before.
    llama.reset()
    start = time.perf_counter()
    times: list[float] = []
    for _ in llama.generate(asked["ids"], temp=0.0):
        times.append(1000 * (time.perf_counter() - start))
        if len(times) == asked["tokens"]:
            break
    print(json.dumps({"first_ms": times[0], "ms": times[-1]}), flush=True)
