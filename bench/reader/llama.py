"""llama.cpp (llama-cpp-python) asked in lines of JSON: {"ids", "stops", "tokens"} is answered with {"ids", "first_ms", "ms"}, greedily.

Generation ends before one of the ids `stops` or after `tokens` tokens. The times end with the first token and with the last.

Usage: llama.py MODEL.gguf ADAPTER THREADS WINDOW. ADAPTER is a folder in PEFT's layout; empty for none.
"""

import importlib.metadata
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import gguf
import numpy as np
from llama_cpp import Llama
from safetensors.numpy import load_file

# PEFT's names of a layer's projections, and GGUF's.
PROJECTIONS = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def write_adapter(folder: Path, base: str, out: Path) -> None:
    """Writes LoRA adapters in llama.cpp's GGUF layout (`general.type` "adapter"; a [rank, in] and b [out, rank])."""
    fields = gguf.GGUFReader(base).fields
    heads = {"attn_q": fields["llama.attention.head_count"].contents(), "attn_k": fields["llama.attention.head_count_kv"].contents()}
    config = json.loads((folder / "adapter_config.json").read_text("utf-8"))
    writer = gguf.GGUFWriter(str(out), "llama")
    writer.add_string("general.type", "adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(config["lora_alpha"]))
    for name, tensor in load_file(folder / "adapter_model.safetensors").items():
        _, _, _, _, layer, block, projection, side, _ = name.split(".")
        own = PROJECTIONS[f"{block}.{projection}"]
        half = side[-1].lower()
        if half == "b" and own in heads:
            # GGUF's order of query and key rows: the halves of a head's rotation alternate.
            rows, rank = tensor.shape
            tensor = tensor.reshape(heads[own], 2, rows // heads[own] // 2, rank).swapaxes(1, 2).reshape(rows, rank)
        writer.add_tensor(f"blk.{layer}.{own}.weight.lora_{half}", np.ascontiguousarray(tensor, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def load(base: str, adapter: str, threads: int, window: int) -> Llama:
    options = {"n_ctx": window, "n_threads": threads, "n_threads_batch": threads, "n_gpu_layers": 0, "verbose": False}
    if adapter == "":
        return Llama(base, **options)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "adapter.gguf"
        write_adapter(Path(adapter), base, file)
        return Llama(base, lora_path=str(file), **options)


def answer(llama: Llama, ids: list[int], stops: list[int], tokens: int) -> dict[str, object]:
    # Nothing is kept of the prompt before.
    llama.reset()
    start = time.perf_counter()
    generated: list[int] = []
    times: list[float] = []
    for token in llama.generate(ids, temp=0.0):
        times.append(1000 * (time.perf_counter() - start))
        if token in stops:
            break
        generated.append(token)
        if len(generated) == tokens:
            break
    return {"ids": generated, "first_ms": times[0], "ms": times[-1]}


def main() -> None:
    # As low a priority as the reader's processes have.
    os.nice(5)
    base, adapter, threads, window = sys.argv[1:]
    llama = load(base, adapter, int(threads), int(window))
    print(json.dumps({"version": importlib.metadata.version("llama-cpp-python")}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(llama, **json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
