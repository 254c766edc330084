"""Records what transformers makes of a model of models.json, as test/published/golden/MODEL.json.

    pip install torch transformers gguf
    python test/published/record.py MODEL FILE

FILE is what fetch.py prints. Weights of GGUF files are dequantised to f32. Texts and passages are hand-written here or of the shipped corpus.
"""

import csv
import json
import sys
from pathlib import Path

import torch
from tokenizers.normalizers import NFC
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer, GgufConfig

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parents[1] / "index" / "corpus" / "passages.tsv"
TEXTS = [
    "  two  spaces  ",
    "Canberra is the capital of Australia.",
    "3.14159 and 1,234,567 and 007",
    "line one\nline two\r\n\r\n line four\n\n\n",
    "don't I'LL we've he'd 's",
    "Zürich, Łódź, naïve café, e\u0301 and \u00e9",
    "Αθήνα 東京 서울 हिन्दी 🦘",
    "٣٤٥ ½ Ⅷ ²",
    "<|im_start|>user\nHi<|im_end|>\n<start_of_turn>user\nHi<end_of_turn>\n",
    "def f(x):\n\treturn x**2  # squared\n",
]
SHORT = "Reply with the fewest words, copied from the text."
# Rows of the corpus, counted from 0, and a question on the first of them.
ASKED = [
    ([0], "What is the young of a red kangaroo called?"),
    ([1, 0, 500], "In which country does the red kangaroo live?"),
    ([400], "What is the passage about?"),
    ([900, 100], "Which name or number does the passage begin with?"),
    ([1500, 1600, 1700], "What do these passages have in common?"),
    ([2000], "Write a sentence that follows from the passage."),
]
CHATS = [
    [{"role": "user", "content": "Hello"}],
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who was Ada Lovelace?\n"}],
    [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}, {"role": "user", "content": "  Bye <b>now</b>  "}],
]
NEW_TOKENS = 24
TOP = 20
DIGITS = 5


def prompts() -> list[str]:
    with CORPUS.open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [
        "\n\n".join([*(f"Document (Title: {rows[i]['title']}): {rows[i]['text']}" for i in places), f"Question: {question}\n{SHORT}"])
        for places, question in ASKED
    ]


def rounded(values: torch.Tensor) -> list[float]:
    return [round(value, DIGITS) for value in values.tolist()]


@torch.no_grad()
def answered(model, ids: list[int], ends: list[int]) -> dict[str, object]:
    """Likeliest token at each place of the prompt, logits at its end, and the greedy answer with how far each token is ahead of the next."""
    outputs = model(torch.tensor([ids]), use_cache=True)
    logits, cache = outputs.logits[0].float(), outputs.past_key_values
    top = logits[-1].topk(TOP)
    generated, leads = [], []
    row = logits[-1]
    while True:
        two = row.topk(2)
        token = two.indices[0].item()
        generated.append(token)
        leads.append(two.values[0] - two.values[1])
        if token in ends or len(generated) == NEW_TOKENS:
            break
        outputs = model(torch.tensor([[token]]), past_key_values=cache, use_cache=True)
        row, cache = outputs.logits[0, -1].float(), outputs.past_key_values
    return {
        "likeliest": logits.argmax(-1).tolist(),
        "top": {"ids": top.indices.tolist(), "logits": rounded(top.values), "log_sum": round(logits[-1].logsumexp(-1).item(), DIGITS)},
        "generated": generated,
        "leads": rounded(torch.stack(leads)),
    }


def decoder(file: Path) -> dict[str, object]:
    named = {"gguf_file": file.name}
    tokenizer = AutoTokenizer.from_pretrained(file.parent, **named)
    model = AutoModelForCausalLM.from_pretrained(file.parent, **named, dtype=torch.float32, quantization_config=GgufConfig(dequantize=True)).eval()
    if model.config.model_type == "qwen2":
        # As Qwen's tokenizer.json has it; transformers 5.24 loses it where it reads a GGUF file.
        tokenizer.backend_tokenizer.normalizer = NFC()
    templated = tokenizer.chat_template is not None
    render = lambda chat: tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    ends = [token for token in (tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids("<|im_end|>")) if isinstance(token, int)]
    records = []
    for prompt in prompts():
        text = render([{"role": "user", "content": prompt}]) if templated else f"{prompt}\nAnswer:"
        ids = tokenizer(text, add_special_tokens=not templated)["input_ids"]
        record = answered(model, ids, ends)
        records.append({"prompt": prompt, "text": text, "ids": ids, "ends": ends, **record, "answer": tokenizer.decode(record["generated"], skip_special_tokens=True)})
        print(len(ids), record["leads"], repr(records[-1]["answer"]), flush=True)
    return {
        "tokens": [[text, tokenizer(text)["input_ids"]] for text in TEXTS],
        "chats": [[chat, render(chat)] for chat in CHATS] if templated else [],
        "prompts": records,
    }


@torch.no_grad()
def retriever(folder: Path) -> dict[str, object]:
    """The mean of the last states, of length 1, as the model's modules.json has it; texts cut as its sentence_bert_config.json says."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    most = json.loads((folder / "sentence_bert_config.json").read_text())["max_seq_length"]
    texts, vectors = [*TEXTS[:8], prompts()[0], 12 * (prompts()[1] + " ")], []
    for text in texts:
        inputs = tokenizer(text, truncation=True, max_length=most, return_tensors="pt")
        vectors.append(rounded(torch.nn.functional.normalize(model(**inputs).last_hidden_state[0].mean(0), dim=0)))
    return {"tokens": [[text, tokenizer(text)["input_ids"]] for text in TEXTS], "texts": texts, "vectors": vectors}


def main() -> None:
    model, path = sys.argv[1], Path(sys.argv[2]).resolve()
    torch.set_num_threads(2)
    recorded = retriever(path) if path.is_dir() else decoder(path)
    out = HERE / "golden" / f"{model}.json"
    out.parent.mkdir(exist_ok=True)
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in recorded.items()]
    out.write_text("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
