"""Exact and IVF search of faiss in memory: python faiss_search.py FOLDER DIMENSION with vectors.f32 and queries.f32.

Prints {name, recall, cpu} as JSON lines: recall@10 against exact search, processor milliseconds a query.
"""

import json
import sys
import time

import faiss
import numpy as np

K = 10
folder, dimension = sys.argv[1], int(sys.argv[2])
vectors, queries = (np.fromfile(f"{folder}/{name}.f32", dtype=np.float32).reshape(-1, dimension) for name in ("vectors", "queries"))
faiss.omp_set_num_threads(1)
exact = faiss.IndexFlatIP(dimension)
exact.add(vectors)
lists = int(len(vectors) ** 0.5)
ivf = faiss.IndexIVFFlat(faiss.IndexFlatIP(dimension), dimension, lists, faiss.METRIC_INNER_PRODUCT)
ivf.train(vectors)
ivf.add(vectors)
wanted = None
for index, probes in ((exact, 0), (ivf, 8), (ivf, 32)):
    if probes:
        index.nprobe = probes
    started = time.process_time()
    found = [index.search(query[None], K)[1][0] for query in queries]
    cpu = (time.process_time() - started) * 1000 / len(queries)
    wanted = wanted or found
    recall = np.mean([len(set(a) & set(b)) / K for a, b in zip(found, wanted)])
    name = f"faiss, {f'IVF, {probes} of {lists} lists' if probes else 'exact'}, f32 in memory"
    print(json.dumps({"name": name, "recall": float(recall), "cpu": cpu}))
