"""Writes the demo corpus' training questions as paragraphs: each passage of their entities, with the questions that it answers.

The entities of `train.jsonl` are those of no test question, so that the demo's scores stay scores on unseen entities.
"""

import argparse
import csv
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the file to write, e.g. DIR/demo.jsonl")
    args = parser.parse_args()
    asked = [json.loads(line) for line in (ROOT / "eval/questions/train.jsonl").read_text("utf-8").splitlines()]
    entities = {q["entity"].lower() for q in asked}
    with open(ROOT / "index/corpus/passages.tsv", encoding="utf-8", newline="") as file:
        passages = [row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if row["title"].lower() in entities]
    with open(args.out, "w", encoding="utf-8") as file:
        for passage in passages:
            shown = f"{passage['title']} {passage['text']}".lower()
            questions = [
                {"question": q["question"], "answer": found[:1]}
                for q in asked
                if q["entity"].lower() == passage["title"].lower() and (found := [a for a in q["answer"] if a.lower() in shown])
            ]
            file.write(json.dumps({"title": passage["title"], "text": passage["text"], "questions": questions}) + "\n")


if __name__ == "__main__":
    main()
