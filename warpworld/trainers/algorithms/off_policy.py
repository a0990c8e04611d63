"""Base of off-policy algorithms: a replay, steps of an optimiser on its draws, target networks."""

from __future__ import annotations

import reprlib
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from warpworld.config import (
    Sizes,
)
from warpworld.errors import ConfigError, RunError
from warpworld.managers import torch_dtype
from warpworld.policies import ObservationRows, Policy
from warpworld.trainers.algorithms.algorithm import Algorithm, Progress
from warpworld.trainers.algorithms.parameters import FlatParameters
from warpworld.trainers.algorithms.settings import OffPolicySettings
from warpworld.trainers.algorithms.target_network import TargetNetwork
from warpworld.trainers.algorithms.updates import choose_hold
from warpworld.trainers.collecting import Collector, History
from warpworld.trainers.processes import ALONE, ProcessGroup
from warpworld.trainers.replay import Replay, ReplaySizes, TransitionReplay
from warpworld.trainers.spans import GRADIENT, span

SMALL_OBSERVATION = 256  # bytes; final observations of this size are kept unless the settings say otherwise


class OffPolicy(Algorithm):
    """Learns from transitions that are drawn from a replay: ``updates`` gradient steps per iteration.

    Attributes:
        diagnostics: names of the metrics that an update gives.
        now: the settings of the present update, with the values of schedules.
        num_updates: gradient steps done.
        beta: () float32 on the device: how far importance weights make up for priorities.
        learnt: what has an optimiser, by name; a subclass fills it in.
        targets: networks that follow, by name; a subclass fills it in.
        replay: what is drawn from; ``declare`` makes it.
    """

    Settings: ClassVar[type[OffPolicySettings]] = OffPolicySettings
    needs_critic = False
    acts_greedily = True
    overlaps = True
    diagnostics: ClassVar[tuple[str, ...]]
    settings: OffPolicySettings
    replay: Replay

    def __init__(self, policy: Policy, settings: Any, processes: ProcessGroup = ALONE) -> None:
        super().__init__(policy, settings, processes)
        if settings.batch_size % processes.size:
            raise ConfigError(
                f"batch_size is {settings.batch_size}, expected a multiple of the {processes.size} processes, each of "
                "which draws an equal part of a batch"
            )
        self.now = settings.at(0)
        self.num_updates = self._steps = 0
        self._is_taken = False
        device = next(policy.parameters()).device
        self.beta = torch.zeros((), device=device)
        self._found = torch.zeros(len(self.diagnostics), device=device)
        self._runs: dict[Hashable, Callable[[], None]] = {}
        self.learnt: dict[str, FlatParameters] = {}
        self.targets: dict[str, TargetNetwork] = {}

    # ---- what an algorithm defines -----------------------------------------------------------------------------------
    @abstractmethod
    def update(self) -> dict[str, Tensor]:
        """Draw a batch and learn from it; gives ``diagnostics`` by name, () each."""

    # ---- an algorithm's part of a run --------------------------------------------------------------------------------
    def declare(self, collector: Collector) -> None:
        """Make the replay and let the policy explore in all its groups."""
        self._collector = collector
        self._hold = choose_hold(collector, self.processes, self.learnt.values())

    def take(self, progress: Progress, acted: Policy) -> None:
        """Settle how the next rollout explores; the ring keeps the rows that are drawn from apart from new ones."""
        self.now = self.settings.at(progress.env_steps)
        self._steps += self._collector.num_steps
        self.set_exploration(progress)
        self._is_taken = True

    def learn(self, progress: Progress) -> dict[str, Tensor]:
        """Make as many updates as the settings ask for, once enough transitions are recorded."""
        # schedules and statistics, which also change before learning starts
        if not self._is_taken:
            self.take(progress, self.policy)
        self._is_taken = False
        self._normalise()
        if self.transitions < self.settings.learning_starts:
            return {name: torch.zeros((), device=self._collector.world.device) for name in self.diagnostics}
        if self.num_updates == 0:  # since targets were made, process 0's weights may have come
            for target in self.targets.values():
                target.copy()
        # settings that updates read
        self.set_learning_rate(self.now.learning_rate)
        self._set_beta(self.now.priority_beta)
        # the updates, with the means of their diagnostics
        total = torch.zeros_like(self._found)
        for _ in range(self.settings.updates):
            self._next()()
            total += self._found
            self.num_updates += 1
            self.updated()
        return dict(zip(self.diagnostics, total / self.settings.updates, strict=True))

    def _normalise(self) -> None:
        """Let a normaliser take in what was seen in this iteration."""
        if self.policy.normaliser is not None:
            seen = self.replay.ring.recorded()
            self.take_in(seen, int(self.processes.sum(torch.tensor(len(seen)))))

    def draw_sizes(self, rows: int) -> dict[str, Any]:
        """Sizes from the settings for every kind of replay, see ``DrawSizes``; ``rows`` are those of the ring."""
        settings = self.settings
        return {
            "rows": rows + settings.whole_rows(self._collector.rows_ahead),
            "batch_size": settings.batch_size // self.processes.size,
            "n_step": settings.n_step,
            "gamma": settings.gamma,
            "alpha": settings.priority_alpha,
            "actors_priority": settings.first_priority == "actor",
            "reward_scale": settings.reward_scale,
            "reward_clip": settings.reward_clip or 0.0,
        }

    def transition_replay(self, collector: Collector, rows: int, **others: Any) -> TransitionReplay:
        """A replay of transitions as the settings have it.

        Args:
            collector: of an unsealed world.
            rows: of the ring.
            others: sizes that not all algorithms have.
        """
        sizes = ReplaySizes(**self.draw_sizes(rows), final_observations=self.keeps_finals(collector), **others)
        return TransitionReplay(collector, self.settings.groups, sizes, self.processes)

    def keeps_finals(self, collector: Collector) -> bool:
        """Whether final observations of truncated episodes are kept."""
        if self.settings.final_observations is not None:
            return self.settings.final_observations
        seen = ObservationRows(collector.world.groups[self.settings.groups[0]].observation)
        return seen.size * torch_dtype(seen.dtype).itemsize <= SMALL_OBSERVATION

    # ---- one update --------------------------------------------------------------------------------------------------
    def variant(self) -> Hashable:
        """Key of the next update's CUDA graph; override it if updates differ."""
        return None

    def written(self) -> list[Tensor]:
        """Tensors that an update writes, besides state and scratch arrays of the store."""
        of_optimisers = [tensor for parameters in self.learnt.values() for tensor in parameters.tensors()]
        followers = [target.vector for target in self.targets.values()]
        return [*of_optimisers, *followers, *self.replay.priorities.history()]

    def share_gradient(self, parameters: FlatParameters) -> None:
        """Make a gradient, of the mean over this process's part of a batch, that of the whole batch."""
        self.processes.mean(parameters.gradient)

    def _next(self) -> Callable[[], None]:
        """The next update: as a CUDA graph where the device has such and no other process takes part."""
        variant = self.variant()
        if variant not in self._runs:
            self._runs[variant] = self._hold(self._update, list(self.learnt.values()), self.written)
        return self._runs[variant]

    def _update(self) -> None:
        """An update whose diagnostics lie at one place."""
        with span(GRADIENT):
            found = self.update()
        torch.stack([found[name].float() for name in self.diagnostics], out=self._found)
        self.processes.mean(self._found)

    def _set_beta(self, beta: float) -> None:
        """Let the next updates' importance weights make up for priorities so far."""
        self.beta.fill_(beta)

    @property
    def sizes(self) -> Sizes:
        """Sizes of an iteration of all processes."""
        collector, groups = self._collector, self._collector.world.groups
        agents = sum(groups[name].size for name in self.settings.groups)
        return Sizes(collector.total_envs, collector.num_steps, agents)

    @property
    def transitions(self) -> int:
        """Number of transitions ever recorded, in all processes."""
        return self._steps * self.sizes.num_envs * self.settings.per_env(self.sizes)

    def set_exploration(self, progress: Progress) -> None:
        """Settle how far the next iteration's actions explore."""

    def set_learning_rate(self, rate: float) -> None:
        """Settle the learning rate of the next updates."""
        for parameters in self.learnt.values():
            parameters.learning_rate = rate

    def updated(self) -> None:
        """Take note of an update, after it."""

    def charts(self) -> dict[str, float]:
        """The learning rate, and how often each transition is learnt from."""
        per_iteration = self.sizes.num_steps * self.sizes.num_envs * self.settings.per_env(self.sizes)
        ratio = self.settings.updates * self.settings.batch_size / per_iteration
        return {"learning_rate": float(self.now.learning_rate), "replay_ratio": ratio}

    # ---- saving ------------------------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """Counters, optimisers and targets, as references to the live tensors; weights are saved with the policies."""
        return {
            "num_updates": self.num_updates,
            "steps": self._steps,
            "optimizers": {name: parameters.optimizer.state_dict() for name, parameters in self.learnt.items()},
            "targets": {name: target.vector for name, target in self.targets.items()},
        }

    def check_state(self, saved: Mapping[str, Any]) -> None:
        """Whether all is there and fits."""
        for key, own in self.state_dict().items():
            is_alike = (
                isinstance(saved.get(key), Tensor) if isinstance(own, Tensor) else type(saved.get(key)) is type(own)
            )
            if not is_alike:
                raise RunError(f"the saved learner's {key} is {reprlib.repr(saved.get(key))}, expected another kind")
            if isinstance(own, Tensor) and saved[key].shape != own.shape:
                found, expected = tuple(saved[key].shape), tuple(own.shape)
                raise RunError(f"the saved learner's {key} has shape {found}, expected {expected}")
        for key, parts in (("optimizers", self.learnt), ("targets", self.targets)):
            missing = [name for name in parts if name not in saved[key]]
            if missing:
                raise RunError(f"the saved learner's {key} lack {', '.join(missing)}")
        for name, parameters in self.learnt.items():
            parameters.check_state(saved["optimizers"][name])
        for name, target in self.targets.items():
            target.check_state(saved["targets"][name])

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Continue from a ``state_dict``, copying its tensors."""
        self.num_updates, self._steps = saved["num_updates"], saved["steps"]
        for name, parameters in self.learnt.items():
            parameters.load_state(saved["optimizers"][name])
        for name, target in self.targets.items():
            target.vector.copy_(saved["targets"][name])
        self._runs = {}  # what an optimiser keeps lies elsewhere now

    def histories(self) -> list[History]:
        """Histories of the replay."""
        return [self.replay.history]

    def forget(self) -> str:
        """Implement ``Algorithm``; it learns again once ``learning_starts`` transitions are recorded."""
        super().forget()
        self._steps = 0
        return f"it learns again after {self.settings.learning_starts:,} more transitions"
