"""`warpworld completion`: what shells complete with its scripts, for each shell that is installed."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from warpworld.cli.completion import SHELLS
from warpworld.cli.main import main

# What is typed after `warpworld`, and some of the words that complete the last.
TYPED = [
    ("tr", ["trace", "train"]),
    ("train tag_g", ["tag_gridworld", "tag_gridworld_dqn"]),
    ("train --dev", ["--device"]),
    ("train --device c", ["cpu", "cuda"]),
    ("watch pendulum_t", ["pendulum_td3"]),
    ("watch --pretrained over", ["overcooked"]),
    ("check cart", ["cartpole"]),
    ("report r", ["runs"]),
    ("completion f", ["fish"]),
    ("train r", ["recall", "recall_dqn", "recall_r2d2", "run.yaml", "runs"]),
]
ASK = {
    "bash": """
source {script}
words=(warpworld {typed})
COMP_WORDS=("${{words[@]}}") COMP_CWORD=$((${{#words[@]}} - 1)) COMPREPLY=()
_shtab_warpworld "${{words[-1]}}" "${{words[-1]}}" "${{words[-2]}}"
printf '%s\\n' "${{COMPREPLY[@]}}"
""",
    "fish": "source {script}; complete -C 'warpworld {typed}' | string split -f1 \\t",
}


def script(shell: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The completion of a shell, in a folder with a config and a folder of runs."""
    assert main(["completion", shell]) == 0
    path = folder / "_warpworld"
    path.write_text(capsys.readouterr().out)
    (folder / "run.yaml").write_text("")
    (folder / "runs").mkdir()
    return path


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_one_of_its_shell(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = script(shell, tmp_path, capsys)
    assert "tag_gridworld" in path.read_text()
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert subprocess.run([shell, "-n", path], capture_output=True, check=False).stderr == b""


@pytest.mark.parametrize("shell", ASK)
def test_words_are_completed(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    path = script(shell, tmp_path, capsys)
    for typed, expected in TYPED:
        question = ASK[shell].format(script=shlex.quote(str(path)), typed=typed)
        asked = subprocess.run([shell, "-c", question], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert sorted({word.rstrip("/") for word in asked.stdout.split()}) == expected, (typed, asked.stderr)


def test_zsh_knows_whose_completion_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    path = script("zsh", tmp_path, capsys)
    question = f'autoload -U compinit; compinit -u -D; eval "$(<{shlex.quote(str(path))})"; print $_comps[warpworld]'
    assert subprocess.run(["zsh", "-fc", question], capture_output=True, check=False).stdout == b"_shtab_warpworld\n"


def test_another_shell(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["completion", "csh"])
    assert caught.value.code == 2
    expected = "error: argument SHELL: invalid choice: 'csh' (choose from "
    assert expected in capsys.readouterr().err
