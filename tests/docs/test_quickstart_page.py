"""docs/quickstart.md: its commands exist as they are typed there, and its program runs."""

from __future__ import annotations

import shlex

import pytest

from tests.docs.pages import blocks, page
from warpworld.cli.main import _parser

PAGE = page("quickstart")


def test_every_command_is_typed_as_it_exists() -> None:
    lines = [line for block in blocks(PAGE, "sh") for line in block.splitlines() if line.startswith("warpworld ")]
    parser, _ = _parser()
    for line in lines:  # an unknown command or option exits
        arguments, overrides = parser.parse_known_args(shlex.split(line, comments=True)[1:])
        assert all("=" in word for word in overrides), line
        assert arguments.command is not None
    assert len(lines) > 10


def test_the_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = blocks(PAGE, "python")
    exec(compile(program, "quickstart.md", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == "torch.Size([1000, 5, 21])\n"
