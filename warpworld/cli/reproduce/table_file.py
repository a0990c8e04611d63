"""A table's YAML file, read and checked: each task with the words that train it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from warpworld.cli.reproduce.sections import Judged, Published, Rules, Source, Table, Task
from warpworld.config import (
    Document,
    KeyPath,
    LearnerConfig,
    RunConfig,
    Section,
    check_encodable,
    load_config,
    validated,
    with_env,
)
from warpworld.environment import Environment
from warpworld.errors import ConfigError, suggest
from warpworld.files import read_file, reason
from warpworld.packaged import packaged_configs, packaged_tables

QUICK_SHARE = 50  # a quick training has this part of the budget, but two iterations at least
QUICK_SEED = 1  # none of the fresh ones


@dataclass(frozen=True)
class Planned:
    """A task as it is trained.

    Attributes:
        name: of the task.
        task: its keys.
        words: for ``warpworld train``: a config and overrides, without seed and folder.
        seed: the first.
        seeds: how many.
        env_steps: of each training.
    """

    name: str
    task: Task
    words: tuple[str, ...]
    seed: int
    seeds: int
    env_steps: int


class TableFile:
    """A table whose file was checked.

    Args:
        source: a packaged table's name, or the path of a file.

    Attributes:
        table: its keys.
        name: the packaged name, or the file's.

    Raises:
        ConfigError: there is no such table, or a key or a value is wrong.
    """

    def __init__(self, source: str) -> None:
        self._document, self._folder = _read(source)
        self.name = Path(source).stem
        self.table: Table = validated(TypeAdapter(Table), self._document.data, self._document, (), _keys_at)
        for name, task in self.table.tasks.items():
            self._check_task(name, task)
        self._check_rules()

    def check_names(self, names: Sequence[str]) -> None:
        """Refuse names that are no tasks; raises ConfigError, which names the nearest."""
        for name in names:
            if name not in self.table.tasks:
                known = ", ".join(self.table.tasks)
                raise ConfigError(
                    f"table '{self.name}' has no task '{name}'.{suggest(name, self.table.tasks)} Known: {known}"
                )

    def planned(self, quick: bool = False, overrides: Sequence[str] = ()) -> Iterator[Planned]:
        """The tasks as they are trained, checked as configurations.

        Args:
            quick: with a small part of the budget and one seed.
            overrides: key=value each, behind those of the table.

        Raises:
            ConfigError: a config refuses an override, or there is no such metric.
        """
        for whole in self.recorded(overrides):
            source, *words = whole.words
            config = self._loaded(whole.name, whole.task, words)
            if quick:
                iteration = config.trainer.num_envs * config.trainer.num_steps
                budget = max(whole.env_steps // QUICK_SHARE, 2 * iteration)
                given = (source, *words[:-1], f"trainer.total_env_steps={budget}")
                yield Planned(whole.name, whole.task, given, QUICK_SEED, 1, budget)
            else:
                yield whole

    def recorded(self, overrides: Sequence[str] = ()) -> Iterator[Planned]:
        """The tasks with the whole budget, as committed results name them; no configuration is loaded.

        Args:
            overrides: key=value each, behind those of the table.
        """
        for name, task in self.table.tasks.items():
            budget = task.env_steps or self.table.env_steps
            assert budget is not None
            own = (*self.table.overrides, *task.overrides, *overrides, f"trainer.total_env_steps={budget}")
            seeds = (task.first_seed or self.table.first_seed, task.seeds or self.table.seeds)
            yield Planned(name, task, (self._source_of(task), *own), *seeds, budget)

    def _source_of(self, task: Task) -> str:
        """The config of a task, for ``load_config``."""
        source = task.config or self.table.config
        assert source is not None
        return source if source in packaged_configs() else str(self._folder / source)

    def _loaded(self, name: str, task: Task, overrides: list[str]) -> RunConfig:
        where = self._document.where(("tasks", name))
        try:
            config = load_config(self._source_of(task), [*overrides, f"saving.name={name}"])
        except ConfigError as error:
            raise ConfigError(f"{where}: tasks.{name}: {re.sub('^command line, ', '', str(error))}") from error
        metric, found = self.table.judged.metric, [*config.policy, *_own_metrics(config)]
        if self.table.judged.is_measured:
            self._check_measured(name, config)
        elif metric not in found:
            raise ConfigError(
                f"{self._document.where(('judged', 'metric'))}: judged.metric is '{metric}', which task '{name}' does "
                f"not have.{suggest(metric, found)} Known: {', '.join(found)}"
            )
        self._check_judged(name, config)
        if self.table.cross_play:
            self._check_partners(name, config)
        return config

    def _check_measured(self, name: str, config: RunConfig) -> None:
        """Refuse what an environment measures, where it measures nothing or others should play."""
        judged = self.table.judged
        where, what = self._document.where(("judged", "metric")), f"judged.metric is '{judged.metric}', but"
        if type(config.make_environment()).measure is Environment.measure:
            raise ConfigError(f"{where}: {what} the environment of task '{name}' measures nothing of policies")
        for key in ("references", "opponents", "earlier"):
            if getattr(judged, key):
                raise ConfigError(f"{where}: {what} judged.{key} is about episodes, and none is played to measure it")

    def _check_judged(self, name: str, config: RunConfig) -> None:
        """Refuse parameters with which the policies could not play, and scripts that are not there."""
        judged = self.table.judged
        try:
            with_env(config, judged.env, "judged.env")
        except ConfigError as error:
            where = self._document.where(("judged", "env"))
            raise ConfigError(f"{where}: task '{name}': {error}") from error
        scripts = config.make_environment().scripts() if judged.references or judged.opponents else {}
        for key, named in (("references", judged.references), ("opponents", judged.opponents)):
            where = self._document.where(("judged", key), ("judged", "earlier"), ("judged",))
            for script in named:
                if script not in scripts:
                    raise ConfigError(
                        f"{where}: judged.{key} names '{script}', which is no script of task '{name}'."
                        f"{suggest(script, scripts)} Known: {', '.join(scripts) or 'none'}"
                    )
            faces = key == "opponents" and (named or judged.earlier is not None)
            if faces and not any(e.train and len(e.groups) > 1 for e in config.policy.values()):
                raise ConfigError(
                    f"{where}: opponents play the groups of a policy but its first, and no policy of task '{name}' has "
                    "several"
                )

    def _check_partners(self, name: str, config: RunConfig) -> None:
        """Refuse cross-play where no policy plays the agents of one group, or where it remembers."""
        metric = self.table.judged.metric
        entry = config.policy.get(metric)
        sizes = {group.name: group.size for group in config.make_environment().groups()}
        problem = ""
        if not isinstance(entry, LearnerConfig):
            problem = "is no policy that learns"
        elif len(entry.groups) > 1 or sizes[entry.groups[0]] < 2:
            problem = f"plays {', '.join(entry.groups)}, expected one group with several agents"
        elif entry.model.remembers:
            problem = "has a memory, expected one without"
        if problem:
            where = self._document.where(("cross_play",))
            raise ConfigError(f"{where}: cross_play is true, but '{metric}' of task '{name}' {problem}")

    def _check_task(self, name: str, task: Task) -> None:
        table, path = self.table, ("tasks", name)
        where = self._document.where(path)
        for key in ("config", "env_steps"):
            if getattr(task, key) is None and getattr(table, key) is None:
                raise ConfigError(f"{where}: tasks.{name}.{key} is missing, and the table has none for all tasks")
        for source in task.published:
            if source not in table.sources:
                place = self._document.where((*path, "published", source), path)
                raise ConfigError(
                    f"{place}: tasks.{name}.published names '{source}', which is not among the sources."
                    f"{suggest(source, table.sources)} Known: {', '.join(table.sources) or 'none'}"
                )
        if table.normalised and not task.published:
            raise ConfigError(
                f"{where}: tasks.{name}.published is missing, and scores are divided by it; set normalised: false to "
                "leave them as they are"
            )

    def _check_rules(self) -> None:
        rules = self.table.rules
        for rule, row in (rules.rows if rules is not None else {}).items():
            if rules is not None and len(row) != len(rules.versions):
                raise ConfigError(
                    f"{self._document.where(('rules', 'rows', rule))}: rules.rows.{rule} has {len(row)} entries, "
                    f"expected one for each of {', '.join(rules.versions)}"
                )


def listed_tables() -> Iterator[list[str]]:
    """Name and a sentence of each packaged table."""
    for name in packaged_tables():
        table = TableFile(name).table
        yield [name, f"{table.about} {len(table.tasks)} tasks: {', '.join(table.tasks)}"]


def _own_metrics(config: RunConfig) -> list[str]:
    """The metrics that the environment declares, by the names that a run logs them under."""
    environment = config.make_environment()
    found = []
    for array in (each for each in environment.arrays() if each.metric is not None):
        groups = [""] if array.per == "env" else [f"{group.name}/" for group in environment.groups()]
        found += [f"env/{group}{array.name}" for group in groups]
    return found


def _read(source: str) -> tuple[Document, Path]:
    """The document, and the folder that its configs are relative to."""
    path, packaged = Path(source), packaged_tables()
    if source in packaged and not path.is_file():
        raw, named = packaged[source].read_bytes(), f"packaged table '{source}'"
    else:
        named = str(source)
        try:
            raw = read_file(path)
        except FileNotFoundError as error:
            raise ConfigError(
                f"no file '{source}', and no packaged table of that name.{suggest(source, packaged)} "
                f"Known: {', '.join(packaged)}"
            ) from error
        except OSError as error:
            raise ConfigError(f"table '{source}' cannot be read: {reason(error)}; expected a YAML file") from error
    document = Document.parse(raw, named)
    check_encodable(document.data, document)
    return document, path.parent


def _keys_at(path: KeyPath) -> dict[str, str]:
    inner: dict[KeyPath, type[Section]] = {("judged",): Judged, ("rules",): Rules}
    section: type[Section] = inner.get(path, Table)
    if path[:1] == ("sources",):
        section = Source
    elif path[:1] == ("tasks",):
        section = Task if len(path) == 2 else Published
    return {name: field.description or "" for name, field in section.model_fields.items()}
