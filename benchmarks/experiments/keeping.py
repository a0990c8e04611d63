"""What is kept of a training so that others can watch it: its configuration and its policies' weights.

``python -m benchmarks.experiments.keeping RUN FOLDER`` keeps the last checkpoint of a run, as ``warpworld train`` or
``warpworld reproduce`` leave one.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warpworld.config import RunConfig
from warpworld.errors import RunError
from warpworld.runs import Run
from warpworld.runs.checkpoints import Checkpoints


def keep(config: RunConfig, state: Mapping[str, Any], folder: Path) -> None:
    """Write a run folder that is as small as can be played: ``config.yaml`` and ``checkpoints/best.pt``.

    ``warpworld watch FOLDER --checkpoint best`` plays it. It cannot be resumed.

    Args:
        config: of the training.
        state: of its trainer, or of its checkpoint.
        folder: of the run that is written.

    Raises:
        RunError: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "checkpoints").mkdir(exist_ok=True)
        (folder / "config.yaml").write_text(config.to_yaml(), encoding="utf-8")
    except OSError as error:
        raise RunError(f"'{folder}' cannot be written: {error.strerror}") from error
    Checkpoints(folder / "checkpoints").save_best({name: state[name] for name in ("config", "policies", "layout")})


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiments.keeping", description=__doc__)
    parser.add_argument("run", help="folder of a run")
    parser.add_argument("folder", type=Path, help="what is written")
    arguments = parser.parse_args()
    run = Run.open(arguments.run)
    config = run.config.model_copy(update={"saving": type(run.config.saving)()})  # names no folder of a machine
    keep(config, run.load_checkpoint(), arguments.folder)


if __name__ == "__main__":
    main()
