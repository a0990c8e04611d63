"""The keys of a table's YAML file: its tasks, how they are judged, and what others report of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from warpworld.config import Count, Flag, Fraction, Positive, Section, Text

Scores = Annotated[tuple[float, ...], Field(min_length=1, max_length=2)]
Overrides = tuple[Text, ...]


class Source(Section):
    """The ``sources`` section: one who reports results."""

    by: Text = Field(description="whose results they are, and where they stand")
    rules: Text = Field(description="what differs from the tasks here, in rules or in how scores are taken")
    hardware: Text | None = Field(default=None, description="what it was trained on")
    read: Text | None = Field(default=None, description="how the numbers were taken, such as by eye from a curve")


class Published(Section):
    """An entry of ``published``: a source's score on the task."""

    score: Scores = Field(description="a number in brackets, or the least and the greatest")
    env_steps: Count | None = Field(default=None, description="of a training")
    minutes: Positive | None = Field(default=None, description="of a training, on the source's hardware")

    @property
    def middle(self) -> float:
        """The number, or the middle between the least and the greatest."""
        return sum(self.score) / len(self.score)


class Judged(Section):
    """The ``judged`` section: the definition of a score."""

    metric: Text = Field(
        description="a policy, for its mean return; a metric of the environment such as env/won; or what that measures "
        "of the policies, such as eval/exploitability"
    )
    lower_is_better: Flag = Field(default=False, description="whether of two scores the lower one is better")
    agents: Literal["mean", "sum"] = Field(default="mean", description="of the returns of the policy's agents")
    greedy: Flag = Field(default=False, description="whether policies take their likeliest actions, or draw them")
    episodes: Count = Field(default=1000, description="that are played")
    env: dict[str, Any] = Field(default={}, description="parameters of the environment, in place of those trained with")
    references: tuple[Text, ...] = Field(
        default=(), description="scripts of the environment that are judged beside the policies"
    )
    opponents: tuple[Text, ...] = Field(
        default=(),
        description="scripts that play all groups of a policy but its first, one after the other; a score is the worst",
    )
    earlier: Fraction | None = Field(
        default=None,
        description="share of the training after which the policy is an opponent of itself, too, beside the score",
    )

    @property
    def is_measured(self) -> bool:
        """Flag of a score that the environment measures of the policies themselves, without an episode."""
        return self.metric.startswith("eval/")


class Rules(Section):
    """The ``rules`` section: how versions of the same tasks differ."""

    versions: tuple[Text, ...] = Field(min_length=1, description="the columns")
    rows: dict[str, tuple[Text, ...]] = Field(min_length=1, description="by rule, what it is in each version")
    note: Text | None = Field(default=None, description="what follows from them")


class Task(Section):
    """An entry of ``tasks``: what is trained, and what others report of it."""

    config: Text | None = Field(default=None, description="in place of the table's")
    overrides: Overrides = Field(default=(), description="key=value each, behind the table's")
    env_steps: Count | None = Field(default=None, description="in place of the table's")
    first_seed: Count | None = Field(default=None, description="in place of the table's")
    seeds: Count | None = Field(default=None, description="in place of the table's")
    published: dict[str, Published] = Field(
        default={}, description="by source; the first is what scores are divided by"
    )
    wanted: float | None = Field(default=None, description="what the interquartile mean should reach")
    note: Text | None = Field(default=None, description="what a reader should know of it")


class Table(Section):
    """The keys of a table's file."""

    about: Text = Field(description="what it shows, in a sentence")
    judged: Judged = Field(description="what a score is")
    tasks: dict[str, Task] = Field(min_length=1, description="by name")
    config: Text | None = Field(
        default=None, description="a YAML file, relative to the table's, or a packaged config; or each task names one"
    )
    overrides: Overrides = Field(default=(), description="key=value each, the same in all tasks")
    env_steps: Count | None = Field(default=None, description="of a training, unless its task says otherwise")
    first_seed: Count = Field(default=101, description="of the trainings; the others follow it")
    seeds: Count = Field(default=5, description="trainings of each task")
    normalised: Flag = Field(
        default=True, description="over tasks, whether 0 is random play and 1 the first source; or scores as they are"
    )
    cross_play: Flag = Field(default=False, description="whether seeds also play with each other's policies")
    wanted: float | None = Field(default=None, description="what the interquartile mean over tasks should reach")
    note: Text | None = Field(default=None, description="what a reader should know of all tasks")
    sources: dict[str, Source] = Field(default={}, description="who reports results, by name")
    rules: Rules | None = Field(default=None, description="how versions of the tasks differ")
