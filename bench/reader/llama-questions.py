"""Asks llama.cpp the questions of a run of `cepe eval --dump-prompts`, with the passages of its prompts, and writes a run of the answers.

    pip install xllamacpp
    python bench/reader/llama-questions.py MODEL.gguf RUN OUT [--prompt FILE] [--chat] [--limit N] [--threads N]
    npx cepe eval report RUN OUT; npx cepe eval compare RUN OUT

RUN has one setting and one prompt a question (mode decoder-only), without examples. A prompt file has {passages} and {question};
--chat puts it into the chat template of the file. Greedy, at most 25 tokens, up to a line end.
"""

import argparse
import json
import time
from pathlib import Path

import xllamacpp

PROMPT = "{passages}\n\nQuestion: {question}\nAnswer:"


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("model", "run", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--prompt", type=Path)
    parser.add_argument("--chat", action="store_true")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    prompt = PROMPT if options.prompt is None else options.prompt.read_text()
    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx, params.n_parallel, params.verbosity = str(options.model), 8192, 1, -1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    server = xllamacpp.Server(params)
    greedy = {"temperature": 0, "max_tokens": 25, "stop": ["\n"], "cache_prompt": False}

    def ask(text: str) -> str:
        if options.chat:
            done = server.handle_chat_completions({**greedy, "messages": [{"role": "user", "content": text}]})
            return done["choices"][0]["message"]["content"]
        return server.handle_completions({**greedy, "prompt": text})["choices"][0]["text"]

    options.out.mkdir(parents=True)
    manifest = json.loads((options.run / "manifest.json").read_text())
    manifest.pop("sha256", None)
    manifest["subject"]["reader"] = f"llama.cpp, {options.model.name}"
    (options.out / "manifest.json").write_text(json.dumps(manifest))
    with (options.out / "predictions.jsonl").open("w") as file:
        for line in (options.run / "predictions.jsonl").read_text().splitlines()[: options.limit]:
            record = json.loads(line)
            # The digest is of the recorded answers.
            record.pop("sha256", None)
            (given,) = record["prompts"][0]["decoder"]
            passages = given[given.index("Document (Title: ") : given.rindex("\n\nQuestion: ")]
            start = time.perf_counter()
            answer = ask(prompt.format(passages=passages, question=record["question"]))
            total = 1000 * (time.perf_counter() - start)
            for prediction in record["predictions"]:
                prediction["answer"] = answer.strip()
                prediction["timings_ms"] = {"queue": 0, "encode": 0, "generate": total, "total": total}
            file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
