"""`warpworld list` and `warpworld info`."""

from __future__ import annotations

import inspect
import json

import pytest

from tools.write_catalogue import catalogue as expected_catalogue
from warpworld.cli.main import main
from warpworld.environment import environment_names, get_environment
from warpworld.errors import BuildError
from warpworld.packaged import FAMILIES, packaged_configs, pretrained_runs
from warpworld.runs.pretrained import check_format


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.partition("\ntrained policies")[0].splitlines()
    assert lines[lines.index("tag") + 1].split()[0] == "tag_gridworld"
    for name in ("cartpole", "tag_continuous", "tag_gridworld"):
        assert len([line for line in lines if line.startswith(f"  {name} ")]) == 2  # an environment and a config
    assert any(line.split() == ["cartpole", "agent", "4", "numbers", "2", "choices"] for line in lines)


def test_list_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["environments"]) == set(environment_names())
    spaces = expected_catalogue()
    for family, members in FAMILIES.items():
        for name in members:
            about = (inspect.getdoc(get_environment(name)) or "").partition("\n")[0]
            expected = {"family": family, **spaces[name], "about": about}
            assert (name, found["environments"][name]) == (name, expected), "make catalogue writes it anew"
    assert set(found["environments"]["external"]) == {"family", "about"}
    assert list(found["configs"]) == list(packaged_configs())
    assert found["configs"]["cartpole"].startswith("CartPole-v1: ")


def test_info(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()[:3]] == ["warpworld", "python", "torch"]
    assert "cuda" in out

    def find_compiler() -> None:
        raise BuildError("no C++ compiler found; install g++")

    monkeypatch.setattr("warpworld.managers.cpu.host_compiler.find_compiler", find_compiler)
    assert main(["info"]) == 0
    assert "compiler          none: no C++ compiler found; install g++" in capsys.readouterr().out


def test_list_has_trained_policies_with_their_scores(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    listed = capsys.readouterr().out.partition("trained policies (warpworld watch --pretrained NAME)\n")[2].splitlines()
    assert [line.split()[0] for line in listed] == list(pretrained_runs())
    (soups,) = [line for line in listed if "overcooked" in line]
    stated = check_format(pretrained_runs()["overcooked"])["scores"][0]["mean"]
    assert soups.endswith(f"cook: mean return {stated:g}")
    assert main(["list", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["pretrained"]) == list(pretrained_runs())
