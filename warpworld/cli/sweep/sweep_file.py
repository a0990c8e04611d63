"""A sweep's YAML file: which config, which keys are searched and where, and what is sought."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, TypeAdapter

from warpworld.cli.sweep.finding import as_json, determining
from warpworld.config import (
    Count,
    Document,
    KeyPath,
    Label,
    Section,
    Text,
    check_encodable,
    dump_value,
    load_config,
    validated,
)
from warpworld.errors import ConfigError
from warpworld.files import read_file, reason
from warpworld.packaged import packaged_configs
from warpworld.runs import as_folder_name


class Space(Section):
    """Space in which the values of a key are searched: exactly one of these is given."""

    values: tuple[Any, ...] | None = Field(default=None, min_length=1, description="any of a list")
    range: tuple[float, float] | None = Field(default=None, description="numbers between two ends")
    log_range: tuple[float, float] | None = Field(default=None, description="numbers, evenly by their logarithm")
    whole: tuple[int, int] | None = Field(default=None, alias="int", description="whole numbers between two ends")

    @property
    def given(self) -> list[str]:
        """The kinds that are given, by their keys."""
        kinds = {"values": self.values, "range": self.range, "log_range": self.log_range, "int": self.whole}
        return [name for name, value in kinds.items() if value is not None]

    @property
    def ends(self) -> tuple[float, float] | None:
        """The lowest and the highest number; None of a list of values."""
        return self.whole or self.range or self.log_range

    def probes(self) -> list[str]:
        """The values that stand for all of them, as YAML: every one of a list, both ends of a range."""
        return [dump_value(value) for value in self.ends or self.values or ()]


class Sweep(Section):
    """The keys of a sweep's file."""

    config: Text = Field(description="a YAML file, relative to the sweep's, or a packaged config")
    search: dict[str, Space] = Field(min_length=1, description="the keys that are searched, each with its space")
    overrides: tuple[Text, ...] = Field(default=(), description="key=value each, the same in all trials")
    objective: Text | None = Field(
        default=None, description="a metric; null for the episodic return of the only policy that learns"
    )
    direction: Literal["maximise", "minimise"] = Field(default="maximise", description="which values are better")
    trials: Count = Field(default=20, description="runs in all, over all workers")
    sampler: Literal["tpe", "random", "nsgaii", "brute_force", "gp", "cmaes", "qmc"] = Field(
        default="tpe", description="how Optuna chooses values"
    )
    pruner: Literal["asha", "hyperband", "median", "none"] = Field(
        default="asha", description="how Optuna ends trials early that others have left behind"
    )
    name: Label | None = Field(default=None, description="of the study and its runs; null for the file's name")
    storage: Text | None = Field(
        default=None,
        description="a file, or the URL of a database that machines share; null for NAME.db beside the runs",
    )


class SweepFile:
    """A sweep whose file and whose values were checked.

    Args:
        path: of the file.

    Attributes:
        sweep: its keys.
        name: of the study and its runs.
        source: of the config, for ``load_config``.
        base: the config that the trials change.
        objective: the metric.

    Raises:
        ConfigError: a key or a value is wrong, in the file or as a setting of the config.
    """

    def __init__(self, path: str | Path) -> None:
        self._document = _read(Path(path))
        self.sweep: Sweep = validated(TypeAdapter(Sweep), self._document.data, self._document, (), _keys_at)
        self.name = self.sweep.name or as_folder_name(Path(path).stem)
        beside = Path(path).parent / self.sweep.config
        self.source = self.sweep.config if self.sweep.config in packaged_configs() else str(beside)
        self.base = load_config(self.source, self.sweep.overrides)
        for key, space in self.sweep.search.items():
            self._check_space(key, space)
        self.objective = self.sweep.objective or self._only_return()

    def words(self, values: dict[str, str], trial: int) -> list[str]:
        """The words for ``warpworld train`` of a trial, from its values as YAML."""
        settings = [f"{key}={value}" for key, value in values.items()]
        return [self.source, *self.sweep.overrides, *settings, f"saving.name={self.name}-trial-{trial}"]

    def _check_space(self, key: str, space: Space) -> None:
        where = f"{self._document.where(('search', key))}: search.{key}"
        # one kind of space
        if len(space.given) != 1:
            found = " and ".join(space.given) or "nothing"
            raise ConfigError(f"{where} gives {found}, expected one of values, range, log_range and int")
        kind, ends = space.given[0], space.ends
        # its ends
        if ends is not None and ends[0] >= ends[1]:
            raise ConfigError(f"{where}.{kind} is {dump_value(list(ends))}, expected the lower end first")
        if space.log_range is not None and space.log_range[0] <= 0:
            raise ConfigError(f"{where}.{kind} is {dump_value(list(space.log_range))}, expected ends above 0")
        # values that the config takes
        for value in space.probes():
            try:
                load_config(self.source, [*self.sweep.overrides, f"{key}={value}"])
            except ConfigError as error:
                raise ConfigError(f"{where}: {re.sub('^command line, .*?: ', '', str(error))}") from error

    def _only_return(self) -> str:
        learning = [name for name, entry in self.base.policy.items() if entry.train]
        returns = [f"charts/{name}/episodic_return" for name in learning]
        if len(returns) != 1:
            raise ConfigError(
                f"{self._document.source}: objective is missing, since {len(returns)} policies learn; "
                f"expected a metric such as {returns[0] if returns else 'charts/episodic_length'}"
            )
        return returns[0]

    def about(self) -> dict[str, Any]:
        """Settings that all sweeps of one study share: the base's settings, the spaces and the objective, nested."""
        spaces = {
            key.replace(".", "/"): space.model_dump(exclude_none=True, by_alias=True)
            for key, space in self.sweep.search.items()
        }
        sought = {"search": spaces, "objective": self.objective, "direction": self.sweep.direction}
        return {**determining(self.base.to_dict()), **as_json(sought)}


def _read(path: Path) -> Document:
    try:
        document = Document.parse(read_file(path), str(path))
    except OSError as error:
        raise ConfigError(f"sweep '{path}' cannot be read: {reason(error)}; expected a YAML file") from error
    check_encodable(document.data, document)
    return document


def _keys_at(path: KeyPath) -> dict[str, str]:
    section = Space if path[:1] == ("search",) else Sweep
    return {field.alias or name: field.description or "" for name, field in section.model_fields.items()}
