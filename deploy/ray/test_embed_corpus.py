"""
On this machine's own cluster of two nodes, with the shipped retriever: python -m unittest deploy/ray/test_embed_corpus.py
RAY_TEST_PASSAGES sets the size (default 1,000). Needs `npm run build`.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import embed_corpus  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402
from worker import Worker, WorkerDied  # noqa: E402

PASSAGES = int(os.environ.get("RAY_TEST_PASSAGES", "1000"))
SHARD_ROWS = 50
CEPE = ["node", str(embed_corpus.CLI)]
SPEAKS = [sys.executable, "-c"]

# Every row of a live table, by id: content hash and the vector's bits.
ROWS = """
import { connect } from '@lancedb/lancedb'
import { readFileSync } from 'node:fs'
const dir = process.argv[1]
const table = await (await connect(dir)).openTable(JSON.parse(readFileSync(`${dir}/passages.alias.json`, 'utf8')).stored_as)
for await (const batch of table.query().select(['id', 'hash', 'vector']))
  for (let i = 0; i < batch.numRows; i++) {
    const [id, hash, vector] = ['id', 'hash', 'vector'].map((column) => batch.getChild(column).get(i))
    console.log(JSON.stringify([id, hash, [...vector.toArray()]]))
  }
"""


def rows_of(index):
    lines = subprocess.run(
        ["node", "--input-type=module", "-e", ROWS, index], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.splitlines()
    rows = {row_id: (content, vector) for row_id, content, vector in map(json.loads, lines)}
    assert len(rows) == len(lines), "an id occurs twice"
    return rows


class WorkerTest(unittest.TestCase):
    """What a worker process may do to its actor."""

    def worker(self, script):
        return Worker([*SPEAKS, script], "shards", {})

    def test_answers(self):
        worker = self.worker("import sys\nprint('{}', flush=True)\nfor line in sys.stdin: print(line.strip(), flush=True)")
        self.assertEqual(worker.embed(3), {"shard": 3})
        worker.close()

    def test_that_does_not_start(self):
        with self.assertRaisesRegex(WorkerDied, "ended with 3"):
            self.worker("raise SystemExit(3)")

    def test_that_dies_at_work(self):
        worker = self.worker("import sys\nprint('{}', flush=True)\nsys.stdin.readline()\nsys.stdout.write('{\"sha')")
        with self.assertRaises(WorkerDied):
            worker.embed(1)

    def test_that_answers_another_question(self):
        worker = self.worker("import sys\nprint('{}', flush=True)\nsys.stdin.readline()\nprint('{\"shard\": 2}', flush=True)")
        with self.assertRaisesRegex(WorkerDied, "to shard 1"):
            worker.embed(1)


class ClusterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory(prefix="cepe-ray-")
        cls.folder = Path(cls._folder.name)
        os.environ.update(
            {
                "CEPE_RETRIEVER_CHECKPOINT": str(ROOT / "models/tiny/checkpoint/contriever"),
                "CEPE_RETRIEVER_DIR": str(cls.folder / "retriever"),
                "CEPE_CORPUS": "",
                "CEPE_THREADS": "1",
            }
        )
        cls.corpus = cls.folder / "corpus.jsonl"
        with open(cls.corpus, "w", encoding="utf8") as file:
            for number in range(PASSAGES):
                text = f"River {number} comes from mount {number * 7 % 1009} and ends in lake {number * 13 % 757}."
                file.write(json.dumps({"id": f"p{number}", "title": f"River {number}", "text": text}) + "\n")
        cls.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})

    @classmethod
    def tearDownClass(cls):
        cls.cluster.shutdown()
        cls._folder.cleanup()

    def use_index(self, name):
        os.environ["CEPE_INDEX_DIR"] = str(self.folder / name)
        return os.environ["CEPE_INDEX_DIR"]

    def start(self, shard_dir, *more):
        arguments = [str(self.corpus), "--shard-dir", str(self.folder / shard_dir), "--address", self.cluster.address, "--workers", "2"]
        script = [sys.executable, str(HERE / "embed_corpus.py")]
        return subprocess.Popen([*script, *arguments, "--plan", f"--shard-rows {SHARD_ROWS}", *more])

    def embed(self, shard_dir, *more):
        return self.start(shard_dir, *more).wait()

    def vectors(self, shard_dir):
        folder = self.folder / shard_dir / "vectors"
        return [file for file in os.listdir(folder) if file.endswith(".arrow")] if folder.exists() else []

    def test_nodes_are_killed(self):
        alone = self.use_index("alone")
        started = time.monotonic()
        subprocess.run([*CEPE, "index", "add", str(self.corpus)], check=True, stderr=subprocess.DEVNULL)
        print(f"\none process, plan to table: {PASSAGES / (time.monotonic() - started):.1f} passages/s", file=sys.stderr)

        joined = self.use_index("joined")
        run = self.start("killed", "--replace")
        # The script belongs to the node that it joined by, which is not the one to be killed: there is no other yet.
        while not self.vectors("killed"):
            self.assertIsNone(run.poll(), "it ended before its first shard")
            time.sleep(0.05)
        node = self.cluster.add_node(num_cpus=1)
        for part in (1, 2, 3):
            # Somewhere about this quarter of the work.
            wanted = (part + random.random() - 0.5) * PASSAGES / SHARD_ROWS / 4
            while len(self.vectors("killed")) < wanted:
                self.assertIsNone(run.poll(), "it ended before the node was killed")
                time.sleep(0.05)
            self.cluster.remove_node(node, allow_graceful=False)
            node = self.cluster.add_node(num_cpus=1)
        self.assertEqual(run.wait(), 0)
        one, other = rows_of(alone), rows_of(joined)
        self.assertEqual(len(other), PASSAGES)
        self.assertEqual({row: content for row, (content, _) in one.items()}, {row: content for row, (content, _) in other.items()})
        furthest = max(abs(a - b) for row, (_, vector) in one.items() for a, b in zip(vector, other[row][1], strict=True))
        self.assertLessEqual(furthest, 1, "to the last bit of float16: texts are embedded in other batches")

        made = {file: os.stat(self.folder / "killed/vectors" / file).st_mtime_ns for file in self.vectors("killed")}
        self.assertEqual(self.embed("killed", "--replace"), 0, "again, nothing is embedded")
        self.assertEqual(made, {file: os.stat(self.folder / "killed/vectors" / file).st_mtime_ns for file in self.vectors("killed")})

    def test_bad_shards_and_workers(self):
        self.use_index("bad")
        shard_dir = self.folder / "bad-shards"
        plan = [*CEPE, "index", "plan", str(self.corpus), "--out", str(shard_dir), "--shard-rows", str(SHARD_ROWS)]
        subprocess.run(plan, check=True)
        for number in range(PASSAGES // SHARD_ROWS):
            if number not in (1, 2):
                (shard_dir / "vectors" / f"{number:06}.arrow").write_bytes(b"")
        os.remove(shard_dir / "shards/000001.jsonl")
        self.assertEqual(self.embed("bad-shards"), 1, "a shard was given up")
        self.assertGreater(os.stat(shard_dir / "vectors/000002.arrow").st_size, 0, "the other one is done")
        self.assertFalse((self.folder / "bad/passages.alias.json").exists(), "nothing was committed")
        self.assertEqual(embed_corpus.main([str(self.folder / "none"), "--shard-dir", str(self.folder / "none-shards")]), 1, "no such corpus")

    def test_workers_that_do_not_start(self):
        self.use_index("idle")
        script = self.folder / "cepe.sh"
        script.write_text(f'[ "$1" = embed-worker ] && exit 3\nexec node {embed_corpus.CLI} "$@"\n')
        self.assertEqual(self.embed("idle-shards", "--attempts", "1", "--cepe", f"sh {script}"), 1)
        self.assertEqual(self.vectors("idle-shards"), [])


if __name__ == "__main__":
    unittest.main()
