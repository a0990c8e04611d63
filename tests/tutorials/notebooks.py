"""The notebooks of docs/tutorials: how they are run, and what of their outputs is kept with them.

``python -m tests.tutorials.notebooks [NAME ...]``, or ``make tutorials``, runs them and writes their outputs back.
"""

from __future__ import annotations

import base64
import io
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from PIL import Image

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "tutorials"

LARGEST_TEXT = 4_000  # characters of a text that is kept
LARGEST_PICTURE = 40_000  # characters of a picture, or of a table with pictures in it
LARGEST_NOTEBOOK = 150_000  # bytes of a file
VARIES = "varies"  # tag of a cell whose outputs are not compared: they depend on speed, or quote many docstrings

# Variables of a process of tests that a reader's notebook does not have: libraries set matplotlib's backend on import.
_OF_THE_TESTS = ("WARPWORLD_KERNELFLAGS", "MPLBACKEND")

_KEPT = {"text/plain": LARGEST_TEXT, "image/png": LARGEST_PICTURE, "text/html": LARGEST_PICTURE}
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def tutorials() -> list[Path]:
    """All notebooks, in the order in which they are read."""
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> NotebookNode:
    """A notebook as it lies in its file."""
    return nbformat.read(path, as_version=4)


def run(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """Run a copy from the first cell to the last in a kernel of its own.

    Args:
        notebook: what to run.
        folder: an empty one, in which the kernel works.

    Returns:
        The copy, with the outputs of this run.

    Raises:
        CellExecutionError: a cell failed.
    """
    copy = nbformat.from_dict(notebook)
    environment = {name: value for name, value in os.environ.items() if name not in _OF_THE_TESTS}
    environment |= {"PYTHONPATH": str(ROOT), "IPYTHONDIR": str(folder / ".ipython"), "OMP_NUM_THREADS": "1"}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # for !python
    client = NotebookClient(copy, timeout=300, resources={"metadata": {"path": str(folder)}})
    client.execute(env=environment)
    return copy


def kept(notebook: NotebookNode) -> NotebookNode:
    """A notebook as it is kept: light outputs alone, and nothing that changes from one run to the next."""
    copy = nbformat.from_dict(notebook)
    copy.metadata = nbformat.from_dict(_METADATA)
    for cell in copy.cells:
        cell.metadata = {name: value for name, value in cell.metadata.items() if name == "tags"}
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = [light for output in cell.outputs for light in _light(output)]
    return copy


def _light(output: Any) -> Iterator[Any]:
    """What is kept of one output: standard output, and those forms of a result that are not too large."""
    if output.output_type == "stream":
        if output.name == "stdout" and len(output.text) <= LARGEST_TEXT:
            yield output
        return
    if "image/png" in output.data:
        output.data["image/png"] = _in_few_colours(output.data["image/png"])
    output.data = {kind: data for kind, data in output.data.items() if _is_light(kind, data)}
    output.metadata = {}
    if "execution_count" in output:
        output.execution_count = None
    if output.data:
        yield output


def _in_few_colours(data: str) -> str:
    """A picture with a palette, which takes a third of the room; one that has a palette stays as it is."""
    with Image.open(io.BytesIO(base64.b64decode(data))) as opened:
        if opened.mode == "P":
            return data
        paper = Image.new("RGBA", opened.size, "white")
        paper.alpha_composite(opened.convert("RGBA"))
    file = io.BytesIO()
    paper.convert("RGB").quantize(64).save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def _is_light(kind: str, data: Any) -> bool:
    return len(data) <= _KEPT.get(kind, -1) and "<iframe" not in data  # a player, which few pages would show


def text_of(notebook: NotebookNode) -> str:
    """What a notebook's file holds."""
    return nbformat.writes(notebook) + "\n"


def main(names: Sequence[str]) -> None:
    """Run the notebooks of these names, or all, and write each back as it is kept."""
    for path in tutorials():
        if not names or path.stem in names:
            with tempfile.TemporaryDirectory() as folder:
                path.write_text(text_of(kept(run(read(path), Path(folder)))), encoding="utf-8")
            print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
