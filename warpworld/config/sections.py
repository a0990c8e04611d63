"""The sections of a run's YAML file: which keys there are, what they hold, and their defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import Self

from warpworld.config.named_classes import declares_state
from warpworld.config.schedules import value_at
from warpworld.config.types import Count, Device, Flag, Fraction, Label, Names, Seed, Text, Wish

if TYPE_CHECKING:
    from warpworld.environment import Group

Groups = tuple[str, ...]
GROUPS = "agent groups that it plays; left out: the group of its own name"
SECONDS = "seconds"  # the key of stop_when that is a time rather than a policy's score
CELLS = "lstm, gru, mingru or transformer"
ALGORITHM = "how it learns: a name such as ppo or dqn, module:Class of your own, or random or script for not at all"


class Section(BaseModel):
    """A mapping whose keys are all known; it cannot be changed."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class TrainerConfig(Section):
    """The ``trainer`` section: how much is simulated, where and from which seed."""

    num_envs: Count = Field(description="envs that step together")
    num_steps: Count = Field(description="steps of every env between two updates")
    total_env_steps: Count = Field(description="length of the run, in env steps (num_envs of them pass per world step)")
    device: Device = Field(default="auto", description="where envs and policies run: auto, cpu or cuda")
    seed: Seed = Field(default=1, description="same seed, same run")
    num_workers: Count | None = Field(
        default=None, description="threads that step the envs on cpu, and act there; null takes every core"
    )
    fused: Wish = Field(
        default=True,
        description=(
            "run packaged networks without torch: on cpu with their gradients, in C++; on cuda small ones in a kernel, "
            "where they act, and parts of updates in kernels; false leaves all to torch; or required"
        ),
    )
    precision: Literal["float32", "tf32", "bf16"] = Field(
        default="float32",
        description="of networks' products: float32; or tf32 or bf16, where the device has it; weights stay float32",
    )
    graph_steps: Annotated[int, Field(ge=0, le=1024)] = Field(
        default=128, description="on cuda, env steps that one CUDA graph holds at most; 0 runs without graphs"
    )
    envs_per_warp: Annotated[int, Field(ge=0, le=32)] | None = Field(
        default=None, description="envs that share a warp; 0 gives each a block of its own, null lets the device choose"
    )
    torch_threads: Count | None = Field(
        default=None, le=1024, description="threads of torch on cpu; null leaves it to torch, which takes every core"
    )
    overlap: Flag = Field(
        default=False,
        description="update beside the next rollout, which acts with the weights from before that update",
    )
    stop_when: dict[str, float] = Field(
        default={},
        description="evaluation scores by policy, all of which end the run once reached; seconds: of training, after "
        "which it ends in any case",
    )
    patience: Count | None = Field(
        default=None, description="evaluations without a new best score after which the run ends; null for never"
    )

    @property
    def stop_scores(self) -> dict[str, float]:
        """Scores by policy that end the run together; empty if none do."""
        return {name: score for name, score in self.stop_when.items() if name != SECONDS}

    @property
    def stop_seconds(self) -> float | None:
        """Seconds of training after which the run ends; None for no limit."""
        return self.stop_when.get(SECONDS)


class ModelConfig(Section):
    """The ``model`` of a policy; all keys but those below are the model's own, see ``settings``."""

    model_config = ConfigDict(extra="allow")

    type: Text = Field(
        default="mlp", description="kind of network: mlp, multi_input, impala, entities, or module:Class of your own"
    )
    normalise_observations: Flag = Field(default=False, description="shift and scale features to mean 0 and variance 1")
    shared: Flag = Field(
        default=False, description="actor and critic share all layers but their last; with a memory they always do"
    )
    recurrent: Literal["lstm", "gru", "mingru", "transformer"] | None = Field(
        default=None,
        description=f"recurrent cell between its encoder and its heads: {CELLS}; null for no memory",
    )
    recurrent_size: Annotated[int, Field(ge=1, le=65536)] = Field(default=128, description="width of that cell")
    recurrent_layers: Annotated[int, Field(ge=1, le=64)] = Field(
        default=1, description="layers of that cell, each with a state of its own"
    )
    recurrent_heads: Annotated[int, Field(ge=1, le=1024)] = Field(
        default=4, description="heads of a transformer's attention, a divisor of recurrent_size"
    )
    recurrent_window: Annotated[int, Field(ge=2, le=65536)] = Field(
        default=32, description="steps of an episode that each layer of a transformer attends to, the present one too"
    )

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of the model, its defaults filled in."""
        return dict(self.model_extra or {})

    @property
    def declares_state(self) -> bool:
        """Whether it is a model of one's own with a memory, see ``warpworld.policies.ModelWithState``."""
        return declares_state(self.type)

    @property
    def remembers(self) -> bool:
        """Whether it has a memory: a recurrent cell, or a state that the model declares."""
        return self.recurrent is not None or self.declares_state

    @property
    def memory(self) -> str:
        """Key and value that give it a memory, for messages."""
        if self.recurrent is not None:
            return f"model.recurrent is {self.recurrent}"
        return f"model.type is {self.type}, which declares a state in initial_state()"

    def beside_own_state(self) -> str | None:
        """Message about a setting that puts other layers behind the encoder of a model that declares a state."""
        given = f"recurrent is {self.recurrent}" if self.recurrent is not None else "shared is true"
        if not self.declares_state or (self.recurrent is None and not self.shared):
            return None
        expected = "null" if self.recurrent is not None else "false"
        return f"model.{given}, but model '{self.type}' declares a state of its own, expected {expected}"


class SelfPlayConfig(Section):
    """The ``self_play`` of a policy: the opponents that replace it in a share of the envs."""

    groups: Groups = Field(default=(), description="which of its groups opponents play; left out: all of them")
    share: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.5, description="part of the envs in which they do; elsewhere the policy itself plays"
    )
    slots: Count = Field(default=4, description="parts of these envs, each with an opponent of its own")
    pool_size: Annotated[int, Field(ge=0, le=10_000)] = Field(default=20, description="past selves that may be met")
    snapshot_every: Count = Field(default=20, description="iterations between two past selves that are kept")
    match_every: Count = Field(default=5, description="iterations that an opponent stays in its slot")
    match_making: Literal["prioritised", "uniform"] = Field(
        default="prioritised", description="who is met: prioritised, hard opponents more often, or uniform"
    )
    opponents: tuple[Text, ...] = Field(
        default=(), description="others beside its past selves: scripts of the environment, random, RUN or RUN#NAME"
    )
    elo_k: Annotated[float, Field(gt=0, le=1000)] = Field(
        default=16.0, description="most that an iteration's games in a slot change a rating by"
    )


class PopulationConfig(Section):
    """The ``population`` of a policy: members that learn with settings of their own, and copy those that do better."""

    members: Annotated[int, Field(ge=2, le=1024)] = Field(
        default=8, description="policies that learn, each in an equal part of the envs"
    )
    settings: dict[str, tuple[float, float]] = Field(
        description="settings in which members differ, with the lowest and the highest value of each"
    )
    interval: Count = Field(default=20, description="iterations between two rankings of the members by their returns")
    exploit: Annotated[float, Field(gt=0, le=0.5)] = Field(
        default=0.25, description="part of the members, the worst, that copy one of as many of the best at a ranking"
    )
    perturb: Annotated[tuple[Annotated[float, Field(gt=0)], ...], Field(min_length=1)] = Field(
        default=(0.8, 1.25), description="factors, of which one multiplies each setting of a member that copies another"
    )
    resample: Fraction = Field(
        default=0.25, description="probability that such a setting is drawn from its whole range instead"
    )


class CurriculumConfig(Section):
    """The ``curriculum`` section: a teacher draws the level of each env's next episode by success."""

    parameters: dict[str, Any] = Field(
        default={}, description="parameters per env, with their values in the easiest and in the hardest level"
    )
    levels: Annotated[int, Field(ge=2, le=1024)] = Field(
        default=10, description="levels from the easiest to the hardest, in equal steps"
    )
    success: float = Field(description="an episode succeeds if the group's mean return is at least this")
    group: Text | None = Field(default=None, description="whose return; null where there is one group")
    uniform: Fraction = Field(default=0.1, description="share of episodes whose level is drawn uniformly")
    decay: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.9, description="part of the counts of episodes and successes that stays in each iteration"
    )


class RandomConfig(Section):
    """A policy that acts uniformly at random."""

    groups: Groups = Field(default=(), description=GROUPS)
    algorithm: Literal["random"] = Field(default="random", description=ALGORITHM)
    train: ClassVar[bool] = False


class ScriptConfig(Section):
    """A policy that one of the environment's scripts plays, in all envs."""

    groups: Groups = Field(default=(), description=GROUPS)
    algorithm: Literal["script"] = Field(default="script", description=ALGORITHM)
    script: Text = Field(description="script of the environment that plays its groups")
    train: ClassVar[bool] = False


@dataclass(frozen=True)
class Sizes:
    """Sizes of an iteration, for a policy.

    Attributes:
        num_envs: envs of all processes.
        num_steps: steps of each.
        agents: of an env that the policy plays.
    """

    num_envs: int
    num_steps: int
    agents: int


@dataclass(frozen=True)
class Fault:
    """Settings that do not go together.

    Attributes:
        keys: of the policy's section, the likeliest culprit first; dotted where they lie in a section of it.
        text: what was given and what was expected, beginning with the first key.
        of_sizes: whether it may lie in num_envs or num_steps just as well.
    """

    keys: tuple[str, ...]
    text: str
    of_sizes: bool = False


class LearnerConfig(Section):
    """The keys of every policy that learns; each algorithm's ``Settings`` add their own.

    A subclass gives ``algorithm`` its name, as a ``Literal``, if the package knows the algorithm by one.

    Attributes:
        off_policy: whether the algorithm learns from transitions of earlier policies, for messages.
    """

    off_policy: ClassVar[bool] = False

    groups: Groups = Field(default=(), description=GROUPS)
    train: Flag = Field(default=True, description="false keeps its weights as they are")
    algorithm: Text = Field(description=ALGORITHM)
    model: ModelConfig = Field(default=ModelConfig(), description="its network")
    initial_weights: Text | None = Field(
        default=None,
        description="run folder whose latest weights it starts with; RUN#NAME for another name's",
    )
    initial_data: Text | None = Field(
        default=None,
        description="npz file of `warpworld rollout` whose actions it learns before the training; null for none",
    )
    initial_epochs: Annotated[int, Field(ge=1, description="passes over initial_data")] = 10
    self_play: SelfPlayConfig | None = Field(
        default=None, description="opponents that replace it in some envs, as a section; null for none"
    )
    population: PopulationConfig | None = Field(
        default=None, description="members that learn in its place, as a section; null for none"
    )

    def at(self, env_steps: int) -> Self:
        """The settings, with each schedule replaced by its value after ``env_steps`` env steps."""
        values = {name: value_at(getattr(self, name), env_steps) for name in self.scheduled()}
        return self.model_copy(update=values) if values else self

    def with_values(self, values: Mapping[str, float]) -> Self:
        """A copy with numbers in place of some settings that take a schedule: schedules that end where they begin."""
        return self.model_copy(update={name: ((0, value),) for name, value in values.items()})

    def scheduled(self) -> list[str]:
        """Names of the settings that are schedules."""
        return [name for name, value in vars(self).items() if _is_schedule(value)]

    def faults(self, sizes: Sizes) -> Iterator[Fault]:
        """Faults of settings that contradict each other or the sizes of an iteration."""
        yield from self._faults_of_cell()
        if self.model.shared and self.model.recurrent is not None:
            text = f"model.shared is true, but model.recurrent is {self.model.recurrent}"
            yield Fault(("model.shared",), f"{text}, whose actor and critic share a memory anyway, expected false")
        beside = self.model.beside_own_state()
        if beside is not None:
            yield Fault((beside.split()[0], "model"), beside)

    def _faults_of_cell(self) -> Iterator[Fault]:
        """Faults of settings of a recurrent cell that the model has not."""
        model = self.model
        if model.recurrent_layers > 1 and model.recurrent is None:
            text = f"model.recurrent_layers is {model.recurrent_layers}, but model.recurrent is null, expected 1"
            yield Fault(("model.recurrent_layers",), f"{text}; set model.recurrent to {CELLS} for a memory")
        if model.recurrent == "transformer":
            if model.recurrent_size % model.recurrent_heads:
                text = f"model.recurrent_heads is {model.recurrent_heads}, expected a divisor of recurrent_size"
                yield Fault(("model.recurrent_heads", "model.recurrent_size"), f"{text}, {model.recurrent_size}")
            return
        for key in ("recurrent_heads", "recurrent_window"):
            value, default = getattr(model, key), ModelConfig.model_fields[key].default
            if value != default:
                is_now = "null" if model.recurrent is None else model.recurrent
                text = f"model.{key} is {value}, but model.recurrent is {is_now}, expected {default}"
                yield Fault((f"model.{key}",), f"{text}; only a transformer has it")

    def misfits(self, group: Group) -> Iterator[Fault]:
        """Faults of settings that contradict the spaces of its groups, of which ``group`` is the first."""
        yield from ()


def _is_schedule(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], tuple)


PolicyConfig = LearnerConfig | RandomConfig | ScriptConfig


class SavingConfig(Section):
    """The ``saving`` section: what a run saves."""

    directory: Text = Field(default="runs", description="folder that run folders are made in")
    name: Label | None = Field(
        default=None, description="what the run folder's name begins with; null for the environment's name"
    )
    tags: tuple[Label, ...] = Field(default=(), description="words that `warpworld runs` finds the run by")
    log_every: Count = Field(default=1, description="iterations between two lines of metrics")
    checkpoint_every: Count = Field(default=50, description="iterations between two checkpoints")
    keep_checkpoints: Count | None = Field(
        default=None, description="how many checkpoints to keep besides that of iteration 0; null keeps all"
    )
    replay: Literal["newest", "none"] = Field(
        default="newest", description="replays that are saved: those of the newest two checkpoints, or none"
    )
    record_every: Count | None = Field(
        default=None, description="iterations between two replays of the policies in the run folder; null for none"
    )
    eval_every: Count | None = Field(default=None, description="iterations between two evaluations; null for none")
    eval_episodes: Annotated[int, Field(ge=1, le=100_000)] = Field(
        default=100, description="episodes of each pairing in an evaluation"
    )
    eval_seed: Seed = Field(default=0, description="seed of these episodes, the same in every evaluation")
    eval_env: dict[str, Any] = Field(
        default={}, description="parameters of the environment in evaluations, in place of those trained with"
    )
    eval_opponents: tuple[Text, ...] = Field(
        default=(), description="opponents in evaluations: scripts of the environment, random, RUN or RUN#NAME"
    )
    loggers: Names = Field(
        default=("tensorboard",),
        description="what gets metrics besides its files: tensorboard, wandb, mlflow, or module:Class of your own",
    )
    wandb: Text | None = Field(
        default=None, description="project on Weights & Biases that metrics go to as well; null sends nothing"
    )
    mlflow: Text | None = Field(
        default=None, description="MLflow experiment that metrics go to as well; null sends nothing"
    )
