"""One `cepe embed-worker` process, spoken to in lines of JSON."""

import json
import os
import subprocess
from typing import Literal, Mapping, Sequence, TypedDict, Union


class Done(TypedDict):
    """A shard has its vectors."""

    shard: int
    state: Literal["done", "present"]
    passages: int
    ms: int


class Failed(TypedDict):
    """It has not, and why."""

    shard: int
    state: Literal["failed"]
    code: str
    message: str


Answer = Union[Done, Failed]


class WorkerDied(RuntimeError):
    """The process ended although there was work; another one may do it."""


class Worker:
    """Starts the process and waits until its model is loaded. It ends by itself when this side of its input is closed or dies."""

    def __init__(self, command: Sequence[str], shard_dir: str, settings: Mapping[str, str]):
        self._process = subprocess.Popen(
            [*command, "embed-worker", shard_dir],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **settings},
            text=True,
        )
        self._read()

    def embed(self, shard: int) -> Answer:
        """The worker's answer for a shard. Raises WorkerDied where there is none."""
        try:
            self._process.stdin.write(json.dumps({"shard": shard}) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise WorkerDied(f"embed-worker takes no work: {error}") from error
        answer = self._read()
        if answer.get("shard") != shard:
            raise WorkerDied(f"embed-worker answered {answer} to shard {shard}")
        return answer

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()

    def _read(self) -> Answer:
        line = self._process.stdout.readline()
        if not line.endswith("\n"):
            raise WorkerDied(f"embed-worker ended with {self._process.wait()}; what it said is in the log of its Ray worker")
        return json.loads(line)
