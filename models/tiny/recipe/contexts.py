"""What each row of a story sees, and what its questions are to be answered with: from the one right passage alone to
everything, now and then without the answer. A question whose answer no visible passage states is refused: its answer
is empty."""

import random

from packing import Prompts, Row
from rows import Story

ALL_SHARE = 0.45  # of the rows see the whole story
NO_ANSWER_SHARE = 0.1
ABSENT_SHARE = 0.5  # of the rows without an answer see nothing about what they ask for


def choose_contexts(story: Story, prompts: Prompts, rng: random.Random) -> None:
    """Gives every row its passages and settles its answers; rows that are left without a question are dropped."""
    for row in story.rows:
        row.contexts = visible(row, len(story.passages), rng)
        settle(row, prompts)
    story.rows = [row for row in story.rows if row.branches]


def visible(row: Row, passages: int, rng: random.Random) -> list[int]:
    kept = set(range(passages)) - row.shown.keys()
    if rng.random() > ALL_SHARE:
        size = round(len(kept) ** rng.random()) - 1
        needed = [rng.choice(left) for some in row.support if (left := sorted(kept & set(some)))]
        kept = {*needed, *rng.sample(sorted(kept), size)}
    if rng.random() < NO_ANSWER_SHARE:
        asked = rng.randrange(len(row.branches))
        absent = rng.random() < ABSENT_SHARE
        hidden = {*row.support[asked], *row.stating[asked], *(row.about[asked] if absent else [])}
        kept = (kept - hidden) or {rng.choice([i for i in range(passages) if i not in hidden] or [0])}
    return sorted(kept)


def settle(row: Row, prompts: Prompts) -> None:
    """Refuses what no visible passage states; leaves out what is stated only by passages that do not tell enough."""
    seen = {*row.contexts, *row.shown}
    chosen = []
    for number, (prompt, answer) in enumerate(row.branches):
        if seen & set(row.support[number]):
            chosen.append((number, (prompt, answer)))
        elif not seen & set(row.stating[number]):
            chosen.append((number, (prompt, prompts.refusal())))
    row.branches = [branch for _, branch in chosen]
    row.support, row.stating, row.about = ([some[n] for n, _ in chosen] for some in (row.support, row.stating, row.about))
