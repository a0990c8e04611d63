"""``saving.loggers``: names that a config may hold, and messages for those that it may not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from warpworld.cli.main import main
from warpworld.config import RunConfig, load_config
from warpworld.errors import ConfigError

OWN = "tests.runs.own_loggers"
KNOWN = "expected one of tensorboard, wandb, mlflow, or module:Class."


def of(*names: str) -> str:
    """The text of a config with loggers, each on a line of its own, the first on line 5."""
    entries = "".join(f"    - {name}\n" for name in names)
    trainer = "{num_envs: 4, num_steps: 8, total_env_steps: 64}"
    return f"name: cartpole\ntrainer: {trainer}\nsaving:\n  loggers:\n{entries}policy: {{agent: }}\n"


def test_the_default_is_tensorboard() -> None:
    config = load_config("cartpole")
    assert config.saving.loggers == ("tensorboard",)
    assert yaml.safe_load(config.to_yaml())["saving"]["loggers"] == ["tensorboard"]


def test_names_are_kept_as_given(load: Callable[..., RunConfig]) -> None:
    assert load(of("tensorboard", f"{OWN}:Keeps")).saving.loggers == ("tensorboard", f"{OWN}:Keeps")
    assert load(of("tensorboard"), f"loggers=[{OWN}:Least,{OWN}:Keeps]").saving.loggers == (
        f"{OWN}:Least",
        f"{OWN}:Keeps",
    )
    assert load(of("tensorboard"), "saving.loggers=[]").saving.loggers == ()
    assert load(of("wandb", "mlflow"), "saving.wandb=a", "saving.mlflow=b").saving.loggers == ("wandb", "mlflow")


def test_params_shows_the_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["params", "cartpole"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.strip().startswith("loggers:")]
    assert "[tensorboard]" in line
    assert "tensorboard, wandb, mlflow, or module:Class of your own" in line


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tensorbord", f"logger 'tensorbord', {KNOWN} Did you mean 'tensorboard'?"),
        ("w&b", f"logger 'w&b', {KNOWN}"),
        ("nowhere:Mine", "logger 'nowhere:Mine' cannot be imported: No module named 'nowhere'"),
        (".mine:Mine", "logger '.mine:Mine' cannot be imported: '.mine' is relative, expected the module's full name"),
        (
            f"{OWN}:Keps",
            f"logger '{OWN}:Keps' cannot be imported: module '{OWN}' has no attribute 'Keps'. Did you mean 'Keeps'?",
        ),
        (f"{OWN}:NoBase", f"logger '{OWN}:NoBase' is not a subclass of warpworld.runs.loggers.Logger"),
        (f"{OWN}:number", f"logger '{OWN}:number' is not a subclass of warpworld.runs.loggers.Logger"),
        (f"{OWN}:NoLog", f"logger '{OWN}:NoLog' has no log; see warpworld.runs.loggers.Logger"),
        (
            f"{OWN}:OtherArguments",
            f"logger '{OWN}:OtherArguments': __init__ cannot be called as __init__(folder, config): missing a required "
            "argument: 'port'",
        ),
        (
            f"{OWN}:LogsWithout",
            f"logger '{OWN}:LogsWithout': log cannot be called as log(metrics): too many positional arguments",
        ),
        (
            f"{OWN}:RewindsByOne",
            f"logger '{OWN}:RewindsByOne': rewind cannot be called as rewind(iteration, env_steps): "
            "too many positional arguments",
        ),
        (f"{OWN}:ClosedByName", f"logger '{OWN}:ClosedByName': close is 'later', expected a method close()"),
        ("wandb", "logger 'wandb' logs to saving.wandb, which is null: set saving.wandb=PROJECT"),
        ("mlflow", "logger 'mlflow' logs to saving.mlflow, which is null: set saving.mlflow=EXPERIMENT"),
        (f"{OWN}:Least", f"logger '{OWN}:Least' is saving.loggers[0] already: leave one out"),
        ("3", "3, expected a text"),
        ("''", "'', expected a text that is not empty"),
    ],
)
def test_a_bad_entry(load: Callable[..., RunConfig], tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        load(of(f"{OWN}:Least", name))
    words = " is " if message.endswith(("a text", "empty")) else ": "
    assert str(error.value) == f"{tmp_path}/run.yaml, line 6: saving.loggers[1]{words}{message}"


def test_one_class_under_two_names(load: Callable[..., RunConfig], tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        load(of("tensorboard", "warpworld.runs.loggers:TensorBoard"))
    assert str(error.value) == (
        f"{tmp_path}/run.yaml, line 6: saving.loggers[1]: logger 'warpworld.runs.loggers:TensorBoard' is "
        "saving.loggers[0] already, as 'tensorboard': leave one out"
    )


@pytest.mark.parametrize("given", ["tensorboard", "", "{tensorboard: true}"])
def test_what_is_no_list(load: Callable[..., RunConfig], given: str) -> None:
    with pytest.raises(ConfigError, match=r"expected a list of names, such as \[tensorboard, my_module:MyClass\]$"):
        load(of("tensorboard"), f"saving.loggers={given}")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def", "invalid syntax (broken_logger.py, line 1)"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
    ],
)
def test_a_module_that_cannot_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], code: str, message: str
) -> None:
    """One line and exit status 2, where the override is named."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    (tmp_path / "broken_logger.py").write_text(code)
    word = "saving.loggers=[broken_logger:Mine]"
    assert main(["train", "cartpole", word]) == 2
    err = capsys.readouterr().err
    assert err == (
        f"error: command line, {word}: saving.loggers[0]: logger 'broken_logger:Mine' cannot be imported: {message}\n"
    )
