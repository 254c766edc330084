"""A pool of Ray actors, each with a worker process; lost shards are done again by others."""

import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Callable, Mapping, Sequence

import ray
from ray import ObjectRef
from ray.actor import ActorHandle
from ray.exceptions import RayError

from worker import Answer, Worker

# Obstacles that pass: the same shard may succeed elsewhere, or later.
PASSING = {"overloaded", "inference_failed", "deadline_exceeded", "not_ready", "disk_full", "internal"}
WAIT_S = 2.0


@ray.remote(max_restarts=0, max_task_retries=0)
class Embedder:
    """An actor holds its CPUs or GPU for as long as it lives; the driver and other tasks need some that it does not have."""

    def __init__(self, command: Sequence[str], shard_dir: str, settings: Mapping[str, str]):
        self._worker = Worker(command, shard_dir, settings)

    def ready(self) -> bool:
        return True

    def embed(self, shard: int) -> Answer:
        return self._worker.embed(shard)


@dataclass(frozen=True)
class PoolOptions:
    command: Sequence[str]
    shard_dir: str
    settings: Mapping[str, str]
    workers: int
    cpus: float
    gpus: float
    # Times that one shard is tried before it is given up.
    attempts: int
    # Seconds after which a worker that does not answer is taken for stuck.
    shard_timeout_s: float


@dataclass
class Progress:
    shards: int
    done: int = 0
    passages: int = 0
    retried: int = 0
    workers: int = 0
    started: float = field(default_factory=time.monotonic)

    def line(self) -> str:
        seconds = max(time.monotonic() - self.started, 1e-6)
        rate = self.passages / seconds
        eta = f", {(self.shards - self.done) * seconds / self.done:.0f} s left" if self.done else ""
        return (
            f"{self.done}/{self.shards} shards, {self.passages} passages, {rate:.1f} passages/s{eta}, "
            f"{self.workers} workers, {self.retried} tried again"
        )


@dataclass
class Outcome:
    # Shards that were given up, and why.
    failed: dict[int, str]
    progress: Progress


class NoWorkers(RuntimeError):
    """Workers do not start."""


class Pool:
    """
    Work goes only to actors that have said that they are ready: one that waits for a node must not hold a shard.
    Shards are numbers of the plan, never row ranges of the engine's own.
    """

    def __init__(self, options: PoolOptions, on_progress: Callable[[Progress], None] = lambda _: None):
        self._options = options
        self._on_progress = on_progress
        self._starting: dict[ObjectRef, ActorHandle] = {}
        self._busy: dict[ObjectRef, tuple[ActorHandle, int, float]] = {}
        self._idle: list[ActorHandle] = []
        self._attempts: Counter[int] = Counter()
        self._failed: dict[int, str] = {}
        self._failed_starts = 0

    def run(self, shards: Sequence[int]) -> Outcome:
        self._pending = deque(shards)
        self._progress = Progress(len(shards))
        for _ in range(min(self._options.workers, len(shards))):
            self._start()
        while self._pending or self._busy:
            while self._pending and self._idle:
                self._give(self._idle.pop(), self._pending.popleft())
            done, _ = ray.wait([*self._busy, *self._starting], num_returns=1, timeout=WAIT_S)
            for reference in done:
                self._started(reference) if reference in self._starting else self._answered(reference)
            self._drop_stuck()
            self._progress.workers = len(self._idle) + len(self._busy)
            self._on_progress(self._progress)
        for actor in [*self._idle, *self._starting.values()]:
            ray.kill(actor)
        return Outcome(self._failed, self._progress)

    def _start(self) -> None:
        options = self._options
        actor = Embedder.options(num_cpus=options.cpus, num_gpus=options.gpus, scheduling_strategy="SPREAD").remote(
            options.command, options.shard_dir, options.settings
        )
        self._starting[actor.ready.remote()] = actor

    def _started(self, reference: ObjectRef) -> None:
        actor = self._starting.pop(reference)
        try:
            ray.get(reference)
        except RayError as error:
            self._failed_starts += 1
            if self._failed_starts > self._options.attempts * self._options.workers:
                raise NoWorkers(f"workers do not start: {error}") from error
            self._start()
            return
        self._failed_starts = 0
        self._idle.append(actor)

    def _give(self, actor: ActorHandle, shard: int) -> None:
        self._busy[actor.embed.remote(shard)] = (actor, shard, time.monotonic())

    def _answered(self, reference: ObjectRef) -> None:
        actor, shard, _ = self._busy.pop(reference)
        try:
            answer = ray.get(reference)
        except RayError as error:
            self._replace(actor)
            self._again(shard, str(error).strip().splitlines()[-1])
            return
        self._idle.append(actor)
        if answer["state"] == "failed":
            reason = f"{answer['code']}: {answer['message']}"
            self._again(shard, reason) if answer["code"] in PASSING else self._give_up(shard, reason)
            return
        self._progress.done += 1
        self._progress.passages += answer["passages"]

    def _drop_stuck(self) -> None:
        limit = self._options.shard_timeout_s
        for reference, (actor, shard, since) in list(self._busy.items()):
            if time.monotonic() - since <= limit:
                continue
            del self._busy[reference]
            self._replace(actor)
            self._again(shard, f"no answer for {limit:.0f} s")

    def _replace(self, actor: ActorHandle) -> None:
        ray.kill(actor)
        self._start()

    def _again(self, shard: int, reason: str) -> None:
        self._attempts[shard] += 1
        if self._attempts[shard] >= self._options.attempts:
            self._give_up(shard, f"{reason} ({self._attempts[shard]} times)")
            return
        self._progress.retried += 1
        self._pending.append(shard)

    def _give_up(self, shard: int, reason: str) -> None:
        self._failed[shard] = reason
