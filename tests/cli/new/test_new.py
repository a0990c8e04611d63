"""`warpworld new`: what it writes works as it is, under any name, and nothing is overwritten."""

from __future__ import annotations

import glob
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from warpworld.cli.main import main
from warpworld.cli.new.template import (
    CLASS,
    CPP_TEMPLATE,
    MODULE,
    TEMPLATE,
    renamed,
    template_files,
    write_environment,
)
from warpworld.errors import TemplateError

TEMPLATES = [pytest.param(TEMPLATE, id="kernels"), pytest.param(CPP_TEMPLATE, id="class")]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working folder; what other tests have imported of the template is out of the way."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    yield tmp_path
    sys.modules.pop("gem_hunt", None)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def expanded(command: str) -> list[str]:
    """The words of a command line, patterns replaced by what they match."""
    return [word for part in shlex.split(command) for word in (sorted(glob.glob(part)) or [part])]


@pytest.mark.heavy
@pytest.mark.cpu_backend
@pytest.mark.long
@pytest.mark.parametrize("more", [[], ["--cpp"]])
def test_the_commands_that_it_prints_work_as_they_stand(
    here: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    (here / "my games").mkdir()
    assert main(["new", "GemHunt", "--into", "my games", *more]) == 0
    files, _, commands = capsys.readouterr().out.partition("\n\nIt works as it is:\n")
    written = ["gem_hunt.py", *(["gem_hunt.hpp"] if more else []), "gem_hunt.cu", "gem_hunt.yaml", "test_gem_hunt.py"]
    written.append("AGENTS.md")
    assert [line.partition("  ")[0] for line in files.splitlines()] == [f"my games/gem_hunt/{name}" for name in written]
    train, watch, check, pytest_ = (re.split(r"  +", line.strip())[0] for line in commands.splitlines())
    short = ["trainer.total_env_steps=25_600", "trainer.device=cpu"]
    assert main([*expanded(train)[1:], *short]) == 0
    assert main(expanded(watch)[1:]) == 0
    assert main([*expanded(check)[1:], "--steps", "3"]) == 0  # the tests below check as many steps as it does
    assert "gem_hunt: 0 findings" in capsys.readouterr().out
    (run,) = (here / "runs").iterdir()
    assert (run / "replay.html").is_file()
    words = [sys.executable, *expanded(pytest_)[1:], "-q", "-p", "no:cacheprovider"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^5 passed in", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.cpu_backend
@pytest.mark.long
def test_its_run_is_played_from_another_folder(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_environment("gem_hunt")
    short = ["trainer.total_env_steps=512", "trainer.num_envs=8", "trainer.num_steps=32", "trainer.device=cpu"]
    assert main(["train", "gem_hunt/gem_hunt.yaml", *short, "--stop-at", "256"]) == 0
    (run,) = (here / "runs").iterdir()
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    assert main(["train", "--resume", str(run)]) == 0
    assert main(["eval", str(run), "--episodes", "20"]) == 0
    assert "continuing" in capsys.readouterr().out
    (here / "gem_hunt" / "gem_hunt.py").unlink()
    assert main(["eval", str(run)]) == 2
    assert f"name: no file '{here}/gem_hunt/gem_hunt.py'; expected a Python file" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["gem_hunt", "GemHunt"])
def test_names_of_files_and_class(here: Path, name: str) -> None:
    folder = write_environment(name)
    assert folder == Path("gem_hunt")
    assert names(folder) == ["AGENTS.md", "gem_hunt.cu", "gem_hunt.py", "gem_hunt.yaml", "test_gem_hunt.py"]
    assert "class GemHunt(Environment):\n" in (folder / "gem_hunt.py").read_text()
    assert '@register("gem_hunt")\n' in (folder / "gem_hunt.py").read_text()
    assert names(here) == ["gem_hunt"]


@pytest.mark.parametrize("name", ["walk_2_homes", "x", MODULE, f"my_{MODULE}", f"{CLASS}{CLASS}", "template", "step"])
@pytest.mark.parametrize("template", TEMPLATES)
def test_any_name_takes_the_place_of_the_template_s_own_and_of_nothing_else(name: str, template: Path) -> None:
    folder = write_environment(name, template=template)
    module = folder.name
    class_name = re.search(r"^class (\w+)\(Environment\)", (folder / f"{module}.py").read_text(), re.MULTILINE)
    assert class_name is not None
    for source in template_files(template):
        written = (folder / source.name.replace(MODULE, module)).read_text()
        parts = re.split(f"({MODULE}|{CLASS})", source.read_text())
        assert written == "".join({MODULE: module, CLASS: class_name[1]}.get(part, part) for part in parts)
        if source.suffix == ".py":
            compile(written, source.name, "exec")


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_template_s_names_stand_for_themselves_only(template: Path) -> None:
    """Each is a word of its own or part of a file's name wherever it stands, so that another can take its place."""
    for source in template_files(template):
        text = source.read_text()
        assert renamed(text, MODULE, CLASS) == text
        for found in re.finditer(rf"(\w*)({MODULE}|{CLASS})(\w*)", text, re.IGNORECASE):
            assert found[0] in (MODULE, CLASS), f"{source.name}: {found[0]}"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("1st", "'1st' cannot name an environment: expected letters, digits and underscores, a letter first, such as "),
        ("a-b", "'a-b' cannot name an environment: expected letters"),
        ("../a", "'../a' cannot name an environment: expected letters"),
        ("", "'' cannot name an environment: expected letters"),
        ("_a", "'_a' cannot name an environment: expected letters"),
        ("straße", "'straße' cannot name an environment: expected letters"),
        ("class", "'class' is a keyword of Python: choose another name"),
        ("none", "'none' is a keyword of Python: choose another name"),
        ("cartpole", "'cartpole' comes with warpworld: choose another name"),
        ("TagGridworld", "'TagGridworld' comes with warpworld: choose another name"),
        ("warpworld", "'warpworld' comes with warpworld: choose another name"),
        ("random", "'random' would hide the module 'random', which is '"),
        ("sys", "'sys' would hide the module 'sys', which is built into Python: choose another name"),
        ("pytest", "'pytest' would hide the module 'pytest', which is '"),
        ("mine", "'mine' would hide the module 'mine', which is '"),
        ("discs", "'discs' would make a class Discs, a name that its files need already: choose another name"),
        ("conftest", "'conftest' is a name that pytest gives a meaning: choose another name"),
        ("value_error", "'value_error' would make a class ValueError, a name that its files need already"),
        ("world", "'world' would make a class World, a name that its files need already"),
        ("taken", "'taken' exists already, and nothing is overwritten: choose another name or folder (--into)"),
        ("linked", "'linked' exists already, and nothing is overwritten"),
    ],
)
def test_names_that_will_not_do(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, message: str
) -> None:
    monkeypatch.syspath_prepend(here)
    (here / "mine.py").write_text("")
    (here / "taken").mkdir()
    (here / "linked").symlink_to("nowhere")
    before = names(here)
    assert main(["new", name]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}") and err.count("\n") == 1
    assert names(here) == before and not names(here / "taken")


def test_the_folder_must_be_there(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "gem_hunt", "--into", "a/b"]) == 2
    assert capsys.readouterr().err == (
        "error: 'a/b' is not a folder, expected one in which 'gem_hunt' can be made: mkdir -p a/b\n"
    )
    assert not names(here)


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_fails_half_way_leaves_nothing(here: Path, monkeypatch: pytest.MonkeyPatch, failure: Any) -> None:
    write, left = Path.write_text, iter([True, True, False])

    def fail_the_third_time(path: Path, *arguments: Any, **options: Any) -> int:
        if not next(left):
            raise failure
        return write(path, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", fail_the_third_time)
    expected = TemplateError if isinstance(failure, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as caught:
        write_environment("gem_hunt")
    assert expected is KeyboardInterrupt or str(caught.value) == "'gem_hunt' cannot be written: No space left on device"
    assert not names(here)
