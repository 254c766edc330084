"""
Plans a corpus, has a Ray cluster embed its shards, and commits them to the index.
Run again after an interruption of any kind it goes on: what is planned, embedded or committed is not done twice.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, Sequence

import ray

from pool import NoWorkers, Pool, PoolOptions, Progress

CLI = Path(__file__).resolve().parents[2] / "dist" / "src" / "cli.js"
REPORT_S = 5.0


def parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    options.add_argument("corpus", help="file, as for `cepe index add`")
    options.add_argument("--shard-dir", required=True, help="folder of the plan and the vectors, under this path on every node")
    options.add_argument("--address", help="of a Ray cluster, or `auto`; without it this machine is one")
    options.add_argument("--cepe", default=f"node {CLI}", help="the cepe command, on every node")
    options.add_argument("--workers", type=int, default=2, help="worker processes in the cluster")
    options.add_argument("--cpus", type=float, default=1, help="CPUs, and threads, of a worker; leave the head node one for the driver")
    options.add_argument("--gpus", type=float, default=0, help="GPUs of a worker; set CEPE_PROVIDER=cuda too")
    options.add_argument("--attempts", type=int, default=5, help="times that one shard is tried")
    options.add_argument("--shard-timeout", type=float, default=3600, help="seconds after which a worker is taken for stuck")
    options.add_argument("--plan", default="", help="further options of `cepe index plan`, for instance '--split 100'")
    options.add_argument("--replace", action="store_true", help="replace the contents of the table with this corpus")
    options.add_argument("--collection", "--table", help="collection (default: CEPE_TABLE)")
    options.add_argument("--no-commit", action="store_true", help="end when all is embedded")
    return options


def worker_settings(cpus: float) -> dict[str, str]:
    """This process's settings, without keys, for workers on other nodes."""
    own = {name: value for name, value in os.environ.items() if name.startswith("CEPE_") and not name.endswith("_KEY")}
    return {**own, "CEPE_THREADS": str(max(1, int(cpus)))}


def reporter() -> Callable[[Progress], None]:
    """Says where the work stands: now and then on the way, and at the end."""
    last = [time.monotonic()]

    def report(progress: Progress) -> None:
        if time.monotonic() - last[0] >= REPORT_S:
            last[0] = time.monotonic()
            print(progress.line(), file=sys.stderr, flush=True)

    return report


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)
    cepe = shlex.split(args.cepe)
    shard_dir = os.path.abspath(args.shard_dir)
    planned = subprocess.run([*cepe, "index", "plan", args.corpus, "--out", shard_dir, *shlex.split(args.plan)])
    if planned.returncode != 0:
        return planned.returncode
    pending = subprocess.run([*cepe, "index", "pending", shard_dir], stdout=subprocess.PIPE, text=True, check=True)
    shards = [json.loads(line)["shard"] for line in pending.stdout.splitlines()]
    if shards and not embed(args, cepe, shard_dir, shards):
        return 1
    if args.no_commit:
        return 0
    more = [*(["--replace"] if args.replace else []), *(["--collection", args.collection] if args.collection else [])]
    return subprocess.run([*cepe, "index", "commit", shard_dir, *more]).returncode


def embed(args: argparse.Namespace, cepe: Sequence[str], shard_dir: str, shards: Sequence[int]) -> bool:
    """True where every shard has its vectors."""
    here = str(Path(__file__).resolve().parent)
    ray.init(address=args.address, ignore_reinit_error=True, runtime_env={"env_vars": {"PYTHONPATH": here}})
    options = PoolOptions(
        command=cepe,
        shard_dir=shard_dir,
        settings=worker_settings(args.cpus),
        workers=args.workers,
        cpus=args.cpus,
        gpus=args.gpus,
        attempts=args.attempts,
        shard_timeout_s=args.shard_timeout,
    )
    try:
        outcome = Pool(options, reporter()).run(shards)
    except NoWorkers as error:
        print(error, file=sys.stderr)
        return False
    except OSError as error:
        lost = f"This machine's own Ray node is gone ({error}). Nothing was committed."
        print(f"{lost} Join the cluster anew and run this again: shards that are done are skipped.", file=sys.stderr)
        return False
    finally:
        ray.shutdown()
    print(outcome.progress.line(), file=sys.stderr)
    for shard, reason in sorted(outcome.failed.items()):
        print(f"shard {shard} was given up: {reason}", file=sys.stderr)
    if outcome.failed:
        print("Nothing was committed. Mend what is named and run this again: the other shards are done.", file=sys.stderr)
    return not outcome.failed


if __name__ == "__main__":
    sys.exit(main())
