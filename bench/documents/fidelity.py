"""Compares a folder of documents, read by other programs (pdftotext, pandoc, antiword), with the passages that the command shows.

    npm run build && python3 bench/documents/fidelity.py FOLDER [SAMPLE SEED]

prints figures by kind, the files that differ most, and SAMPLE random passages. `fetch.sh` downloads a folder of such documents. A word is a run of letters and digits. Words of a file: those of its text, for HTML those outside of links, menus, headers and footers when
counting what was lost. Words of its passages: their texts, and each heading once.
"""

import random
import re
import subprocess
import sys
import unicodedata
import zipfile
from collections import Counter, defaultdict
from html.parser import HTMLParser
from pathlib import Path

WORD = re.compile(r"[^\W_]+")
KINDS = ["html", "pdf", "txt", "md", "docx", "doc", "odt", "pptx", "epub"]
HIDDEN = {"script", "style", "head", "template", "noscript", "svg", "select", "textarea"}
LINKS = {"a", "nav", "header", "footer"}
VOID = set("area base br col embed hr img input link meta param source track wbr".split())
# Characters at a passage's beginning by which its page is found.
BEGINNING = 40
# Share of a passage's words in links, or of its lines that end with a page's number, from which it is navigation.
NAVIGATION = 0.9


def words(text):
    return WORD.findall(unicodedata.normalize("NFC", text).replace("\u00ad", "").replace("\u200b", "").lower())


class Page(HTMLParser):
    """Words of an HTML page, each with whether it is in a link."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.parts = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        if tag not in ("a", "b", "i", "em", "strong", "span", "code", "tt", "font", "sub", "u", "kbd", "samp", "var", "wbr"):
            self.parts.append((" ", False))

    def handle_endtag(self, tag):
        if tag in self.open:
            while self.open.pop() != tag:
                pass
        if tag in ("td", "th", "li", "p", "div", "dt", "dd", "pre"):
            self.parts.append((" ", False))

    def handle_data(self, data):
        if not HIDDEN.intersection(self.open):
            self.parts.append((data, bool(LINKS.intersection(self.open))))

    def words(self):
        text = "".join(part for part, _ in self.parts)
        linked = "".join(("1" if is_linked else "0") * len(part) for part, is_linked in self.parts)
        return [(match[0].lower(), linked[match.start()] == "1") for match in WORD.finditer(text)]


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True).stdout.decode("utf-8", "replace")


def decoded(file):
    data = file.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def read(file, kind):
    """Words of a file in order, each with whether it is in a link; and the letters of each page."""
    if kind == "html":
        page = Page()
        page.feed(decoded(file))
        return page.words(), []
    if kind == "pdf":
        pages = output_of("pdftotext", str(file), "-").split("\f")
        return [(word, False) for word in words(" ".join(pages))], ["".join(words(page)) for page in pages]
    if kind == "txt":
        text = decoded(file)
    elif kind == "doc":
        text = output_of("antiword", "-w", "0", str(file))
    elif kind == "pptx":
        with zipfile.ZipFile(file) as archive:
            slides = [name for name in archive.namelist() if re.match(r"ppt/(slides|notesSlides)/[^/]+\.xml", name)]
            found = [re.findall(r"<a:t>([^<]*)|</a:(p)>", archive.read(name).decode()) for name in slides]
        text = "".join(run or " " for slide in found for run, _ in slide)
    else:
        source = "gfm" if kind == "md" else kind
        text = output_of("pandoc", "-f", source, "-t", "plain", "--wrap=none", str(file))
    return [(word, False) for word in words(text)], []


def said(passages):
    """Words of passages, with each heading once."""
    found, path = [], []
    for passage in passages:
        heading = passage["title"].split(" > ")
        found += words(" ".join(part for part in heading if part not in path)) + words(passage["text"])
        path = heading
    return Counter(found)


def page_is_right(passage, letters):
    """Whether a passage begins on the page that it names; None if its beginning is on no page."""
    beginning = "".join(words(passage["text"]))[:BEGINNING]
    if not any(beginning in page or page.endswith(beginning[: BEGINNING // 2]) for page in letters if page):
        return None
    here = letters[passage["page"] - 1]
    return beginning in here or here.endswith(beginning[: BEGINNING // 2])


def is_navigation(passage, source, text):
    lines = passage["text"].split("\n")
    if sum(re.search(r"(\.\s?){3,}\s*\d+$", line) is not None for line in lines) >= NAVIGATION * len(lines):
        return True
    own = words(passage["text"])
    at = text.find(f" {' '.join(own[:6])} ")
    first = text[:at].count(" ")
    return at >= 0 and len(own) > 0 and sum(linked for _, linked in source[first : first + len(own)]) >= NAVIGATION * len(own)


def shown(folder):
    """Passages of each file as `cepe index add --show` prints them."""
    # The summary follows the last passage.
    text, _, _ = output_of("node", "dist/src/cli.js", "index", "add", "--show", str(folder)).rpartition("\n\n")
    parts = re.split(r"^--- (\S.*)#[\w-]+(?: \(page (\d+)\))?\n(.*)\n", text, flags=re.M)[1:]
    files = defaultdict(list)
    for file, page, title, body in zip(*[iter(parts)] * 4, strict=True):
        files[file].append({"page": int(page or 0), "title": title, "text": body.strip()})
    return files


def main():
    folder, sample, seed = Path(sys.argv[1]), *map(int, (sys.argv[2:] + ["0", "1"])[:2])
    sums = defaultdict(Counter)
    every, failed, worst = [], [], []
    passages_of = shown(folder)
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        file, kind = str(path.relative_to(folder)), path.suffix[1:].lower()
        if kind not in KINDS:
            continue
        passages = passages_of[file]
        if not passages:
            failed.append(f"{file}: not read")
            continue
        try:
            source, pages = read(path, kind)
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            failed.append(f"{file}: not compared ({error})")
            continue
        found = said(passages)
        if len(source) < found.total() / 3:
            failed.append(f"{file}: the other program reads {len(source)} words, these passages have {found.total()}")
            continue
        total = sums[kind]
        all_words = Counter(word for word, _ in source)
        unlinked = Counter(word for word, linked in source if not linked)
        lost, added = unlinked - found, found - all_words
        total.update(files=1, passages=len(passages), words=unlinked.total(), lost=lost.total(), said=found.total(), added=added.total())
        text = f" {' '.join(word for word, _ in source)} "
        total["navigation"] += sum(is_navigation(passage, source, text) for passage in passages)
        for passage in passages if pages else []:
            right = page_is_right(passage, pages)
            total.update(placed=right is not None, right=right is True)
        worst.append((lost.total() + added.total(), file, lost.most_common(12), added.most_common(12)))
        every += [(file, passage) for passage in passages]

    def share(part, whole):
        return f"{100 * part / whole:.2f} %" if whole else ""

    print("| kind | files | passages | words lost | words added | page right | only navigation |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kind in KINDS:
        total = sums[kind]
        if total["files"] > 0:
            cells = [share(total["lost"], total["words"]), share(total["added"], total["said"]), share(total["right"], total["placed"])]
            print(f"| {kind} | {total['files']} | {total['passages']} | {' | '.join(cells)} | {share(total['navigation'], total['passages'])} |")
    print("\nNot read or compared:", *failed, sep="\n  ")
    print("\nMost words lost or added:")
    for count, file, lost, added in sorted(worst, reverse=True)[:12]:
        print(f"  {count} {file}\n    lost: {lost}\n    added: {added}")
    random.seed(seed)
    for number, (file, passage) in enumerate(random.sample(every, min(sample, len(every))), 1):
        print(f"\n=== {number}. {file} page {passage['page'] or '-'}\n[{passage['title']}]\n{passage['text']}")


main()
