"""A run's settings."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, SerializeAsAny, SkipValidation

from warpworld.config.documents import dump_yaml
from warpworld.config.schedules import value_at
from warpworld.config.sections import (
    CurriculumConfig,
    PolicyConfig,
    SavingConfig,
    Section,
    TrainerConfig,
)
from warpworld.config.types import AnySchedule, Text
from warpworld.environment import Environment, get_environment
from warpworld.importing import title_of


class RunConfig(Section):
    """Everything that determines a run. Made by ``load_config`` or ``config_from_dict``, never changed afterwards."""

    name: Text = Field(description="which environment")
    env: dict[str, Any] = Field(default={}, description="the environment's parameters")
    trainer: TrainerConfig = Field(description="how much is simulated, where and from which seed")
    schedules: dict[str, AnySchedule] = Field(
        default={}, description="world arrays of the environment that are set before every rollout, by name"
    )
    curriculum: CurriculumConfig | None = Field(
        default=None, description="parameters of episodes that a teacher draws by success; null for none"
    )
    # an entry is checked by its algorithm's own settings, see checked_policies
    policy: Annotated[dict[str, SerializeAsAny[SkipValidation[PolicyConfig]]], Field(min_length=1)] = Field(
        description="one entry per policy"
    )
    saving: SavingConfig = Field(default=SavingConfig(), description="what the run saves")

    @property
    def title(self) -> str:
        """Name of the environment for people, without the folders where that is a file."""
        return title_of(self.name)

    def make_environment(self) -> Environment:
        """The run's environment, with its parameters."""
        return get_environment(self.name)(**self.env)

    @property
    def device(self) -> str:
        """The device that the run's world asks for: ``trainer.device``, or the only one that the environment runs on.

        Raises:
            DeviceError: ``trainer.device`` is one that it does not run on.
        """
        return get_environment(self.name).allowed_device(self.trainer.device)

    def scheduled_values(self, env_steps: int) -> dict[str, float]:
        """Values that the section ``schedules`` gives after ``env_steps`` env steps, by array."""
        return {name: value_at(schedule, env_steps) for name, schedule in self.schedules.items()}

    def to_dict(self) -> dict[str, Any]:
        """Plain nested dicts, with every default filled in."""
        return self.model_dump()

    def to_yaml(self) -> str:
        """YAML text that ``load_config`` reads back equal."""
        return dump_yaml(self.to_dict())
