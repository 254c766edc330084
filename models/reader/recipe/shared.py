"""Makes the modules of models/recipe importable: a program imports it first."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "recipe"))
