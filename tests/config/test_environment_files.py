"""Environments that a config names by file: `name: walk.py`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.chase import changed
from warpworld.config import config_from_dict, load_config
from warpworld.environment import get_environment
from warpworld.errors import ConfigError, DeclarationError, RunError
from warpworld.runs import Run
from warpworld.runs.resume import check_same_trajectory

WALK = """
from tests.chase import Chase

class Walk(Chase):
    pass
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an environment and a config that names its file; the working folder is another one."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "walk.py").write_text(WALK)
    (folder / "walk.yaml").write_text(changed("tests.chase:Chase", "walk.py"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for name in ("walk", "walk_2"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return folder


def load(project: Path, name: str) -> None:
    """Read the config with another name in it."""
    (project / "walk.yaml").write_text(changed("tests.chase:Chase", name))
    load_config(project / "walk.yaml")


def test_a_file_lies_beside_the_config(project: Path) -> None:
    config = load_config("../project/walk.yaml")
    assert config.name == str(project / "walk.py")
    assert config.title == "walk"
    assert config.env["chasers"] == 3
    assert get_environment(config.name).__name__ == "Walk"
    assert load_config("../project/walk.yaml").name == config.name


def test_a_class_of_a_file_with_several(project: Path) -> None:
    (project / "walk.py").write_text(WALK + "class Run(Walk):\n    pass\n")
    (project / "walk.yaml").write_text(changed("tests.chase:Chase", "./walk.py:Run"))
    config = load_config(project / "walk.yaml")
    assert (config.name, config.title) == (f"{project}/walk.py:Run", "walk:Run")
    with pytest.raises(ConfigError, match=r"walk.yaml, line 1: name: .*walk.py: expected a file that defines one Env"):
        load(project, "walk.py")


def test_on_the_command_line_a_file_is_sought_in_the_working_folder(project: Path) -> None:
    assert load_config("../project/walk.yaml", ["name=../project/walk.py"]).name == str(project / "walk.py")
    with pytest.raises(ConfigError, match=r"^command line, name=walk.py: name: no file '.*/elsewhere/walk.py'"):
        load_config("../project/walk.yaml", ["name=walk.py"])


def test_a_missing_file_is_told_with_the_nearest_name(project: Path) -> None:
    with pytest.raises(
        ConfigError,
        match=r"walk.yaml, line 1: name: no file '.*/project/wolk.py'; expected a Python file that defines an "
        r"Environment\. Did you mean 'walk.py'\?$",
    ):
        load(project, "wolk.py")


def test_two_files_of_one_name_are_two_modules(project: Path) -> None:
    other = project / "other"
    other.mkdir()
    (other / "walk.py").write_text(WALK)
    first, second = (get_environment(str(folder / "walk.py")) for folder in (project, other))
    assert (first.__module__, second.__module__) == ("walk", "walk_2")
    assert [get_environment(str(folder / "walk.py")) for folder in (project, other)] == [first, second]


def packaged(folder: Path) -> str:
    """Put the file into a package in a folder; its path."""
    package = folder / "crowds"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "walk.py").write_text(WALK)
    return str(package / "walk.py")


def test_a_file_of_a_package_is_not_taken_from_another_of_that_name(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = packaged(project / "one"), packaged(project / "two")
    for name in ("crowds", "crowds.walk"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert get_environment(first).__module__ == "crowds.walk"
    with pytest.raises(
        DeclarationError, match=r"'.*/two/crowds/walk.py' cannot be imported: its package 'crowds' is another one"
    ) as caught:
        get_environment(second)
    assert f"{project}/one/crowds: rename the folder" in str(caught.value)


def test_a_folder_whose_name_cannot_be_a_packages(project: Path) -> None:
    folder = project / "version.2"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "walk.py").write_text(WALK)
    assert get_environment(str(folder / "walk.py")).__name__ == "Walk"


def test_a_file_that_ends_python_is_told(project: Path) -> None:
    (project / "walk.py").write_text("raise SystemExit(3)\n")
    with pytest.raises(DeclarationError, match=r"'.*/walk.py' cannot be imported: SystemExit: 3$"):
        get_environment(str(project / "walk.py"))


def test_a_run_finds_its_environment_from_anywhere(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.create(load_config("../project/walk.yaml"))
    assert run.path.name.startswith("walk-2")
    path = run.path.resolve()
    run.close()
    monkeypatch.chdir(project)
    assert Run.open(path).config.name == str(project / "walk.py")


def test_a_moved_project_is_the_same_trajectory_another_file_is_not(project: Path) -> None:
    config = load_config(project / "walk.yaml")
    saved = config.to_yaml()
    check_same_trajectory(saved.replace(str(project), "/where/it/was"), config)
    with pytest.raises(RunError, match=r"^name was '.*/run.py' when it was saved and is '.*/walk.py' in config.yaml"):
        check_same_trajectory(saved.replace("walk.py", "run.py"), config)
    with pytest.raises(RunError, match=r"^name was 'walk' when it was saved"):
        check_same_trajectory(saved.replace(config.name, "walk"), config)


def test_a_config_from_memory_starts_from_the_working_folder(project: Path) -> None:
    policy = {"chaser": {}, "evader": {}}
    trainer = dict(num_envs=8, num_steps=4, total_env_steps=64)
    data = dict(name="../project/walk.py", env=dict(chasers=2), trainer=trainer, policy=policy)
    assert config_from_dict(data).name == str(project / "walk.py")
