"""A folder of sentence-transformers with its matrices in Q8_0: python quantise.py MODEL OUT (needs numpy, safetensors and gguf).

Copies config, tokenizer and modules; writes model.gguf under Hugging Face's names.
"""

import shutil
import sys
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize
from safetensors.numpy import load_file

FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "modules.json", "sentence_bert_config.json", "1_Pooling/config.json")
UNUSED = ("pooler.", "embeddings.position_ids")

model, out = Path(sys.argv[1]), Path(sys.argv[2])
for name in FILES:
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(model / name, out / name)
writer = GGUFWriter(out / "model.gguf", "bert")
for name, values in load_file(model / "model.safetensors").items():
    if name.startswith(UNUSED):
        continue
    values = values.astype(np.float32)
    if values.ndim == 2 and values.shape[1] % 32 == 0:
        kind = GGMLQuantizationType.Q8_0
        writer.add_tensor(name, quantize(values, kind), raw_dtype=kind)
    else:
        writer.add_tensor(name, values)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
