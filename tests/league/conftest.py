"""Where tests of leagues find what those of trainers and runs share."""

import sys
from pathlib import Path

for neighbour in ("trainers", "runs"):
    folder = str(Path(__file__).resolve().parent.parent / neighbour)
    if folder not in sys.path:
        sys.path.append(folder)
