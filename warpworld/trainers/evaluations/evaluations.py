"""Evaluations during training, which leave the training as it is."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from warpworld.config import RunConfig, sides_of, with_env
from warpworld.config.evaluation_checks import trained_policies
from warpworld.policies import Policy, action_distribution
from warpworld.runs import Run
from warpworld.trainers.evaluations.evaluation_state import Best, EvaluationState, read_evaluation_state
from warpworld.trainers.evaluations.games import Game, games_of, kinds_of
from warpworld.trainers.evaluations.measures import measures_of
from warpworld.trainers.evaluations.rival_files import files_of, read_files, read_rivals
from warpworld.trainers.evaluations.rivals import build_rivals, players_of
from warpworld.trainers.league import copied
from warpworld.trainers.play import Stage
from warpworld.trainers.processes import ProcessGroup
from warpworld.trainers.state import generators_kept
from warpworld.world import World

Metrics = dict[str, Any]


class Evaluations:
    """Plays fixed games with a run's policies, and keeps their best weights; nothing where ``eval_every`` is null.

    Every evaluation plays the same episodes in worlds of its own, with random numbers of their own: training takes the
    same trajectory with evaluations and without. Of several processes each plays a part of the games; all know the
    results.

    Attributes:
    ^        state: what was found so far.

    Args:
        config: the run's settings.
        policies: by name; they are evaluated as they are when ``take`` is called.
        world: that they are trained in; games are played on its device.
        processes: those that train the run.
        read: whether to read the weights of other runs' policies; False where a checkpoint follows.

    Raises:
        RunError: another run that is named as opponent has no such policy, or its weights have other shapes.
    """

    def __init__(
        self,
        config: RunConfig,
        policies: Mapping[str, Policy | None],
        world: World,
        processes: ProcessGroup,
        read: bool = True,
    ) -> None:
        self._config, self._policies, self._processes, self._world = config, policies, processes, world
        self._every = config.saving.eval_every
        self._players = players_of(config, policies, world.environment)
        self._names = trained_policies(config)
        self.state = EvaluationState()
        self._stages: list[Stage] = []
        others = {name for name, entry in config.policy.items() for group in self._met() if group in entry.groups}
        self._rivals = build_rivals(config, others, world.device)
        if read:
            read_rivals(self._rivals)
        world.when_sealed(self._check_scripts)

    def _check_scripts(self) -> None:
        """Check what scripts give before anything of the run is written.

        Raises:
            DeclarationError: a script fails, or gives another shape or dtype than a policy of its group.
        """
        for rival in self._rivals:
            if rival.script is not None:
                for name in sorted(self._met()):
                    group = self._world.groups[name]
                    rival.script.check(self._world, group, action_distribution(group).num_outputs)

    def _met(self) -> set[str]:
        """The groups that opponents play against one policy or another."""
        return {group for name in self._names for group in sides_of(self._config, name)[1]}

    @property
    def ending(self) -> str:
        """Reason to end the training here, before its budget is used up; "" if it continues."""
        return self.state.ending(self._config.trainer)

    def is_due(self, iteration: int, is_last: bool) -> bool:
        """Whether an iteration is followed by an evaluation."""
        return self._every is not None and (iteration % self._every == 0 or is_last)

    def take(self, iteration: int, env_steps: int, run: Run | None) -> Metrics:
        """Evaluate the policies as they are now; those that are better than ever are written to ``best.pt``.

        Args:
            iteration: iterations done.
            env_steps: env steps done.
            run: an open run folder; None where another process writes it.

        Returns:
            The returns of all games, each policy's score and what the environment measures, by metric.

        Raises:
            RunError: episodes do not end, or the file cannot be written.
        """
        began = time.perf_counter()
        returns = self._returns()
        found = {}
        for name in self._names:
            score = self._score(name, returns)
            policy = self._policies[name]
            assert policy is not None  # it is trained
            found[name] = Best(score, iteration, env_steps, copied(policy))
        if self.state.take(found) and run is not None:
            run.save_best(self.best_state())
        scores = {f"eval/{name}/score": now.score for name, now in found.items()}
        measures = measures_of(self._config, self._world.environment, self._policies)
        return {**returns, **scores, **measures, "perf/eval_s": time.perf_counter() - began}

    def _returns(self) -> dict[str, float]:
        """Every game's returns; each process plays some of the games."""
        games = games_of(self._config, self._players, self._names, self._rivals)
        own, size = self._processes.rank, self._processes.size
        played: list[float] = []
        with generators_kept(self._world):
            for number, game in enumerate(games):
                torch.manual_seed(self._config.saving.eval_seed)
                mine = number % size == own
                played += game.returns(self._stage(game)).values() if mine else [0.0] * len(game.read)
        values = self._processes.sum(torch.tensor(played, dtype=torch.float64)).tolist()
        return dict(zip((name for game in games for name in game.read), values, strict=True))

    def _stage(self, game: Game) -> Stage:
        """The world of a game; it is used again, unless its envs cannot begin as they did."""
        saving, trainer = self._config.saving, self._config.trainer
        stage = next((stage for stage in self._stages if stage.greedily == game.greedily), None)
        if stage is None:
            workers = trainer.num_workers or self._processes.workers()
            changed = {"trainer": trainer.model_copy(update={"num_workers": workers})}
            config = with_env(self._config, saving.eval_env).model_copy(update=changed)
            first = {group: self._players[name] for name, e in config.policy.items() for group in e.groups}
            stage = Stage(config, first, saving.eval_episodes, saving.eval_seed, game.greedily)
            self._stages += [stage] if self._world.environment.resumable else []
        return stage

    def _score(self, name: str, returns: Mapping[str, float]) -> float:
        """Score of a policy: its mean return over all opponents, or that with all policies as trained."""
        kind = kinds_of(self._config, [name])[0]
        against = [returns[f"eval/{name}/{kind}/{rival.name}"] for rival in self._rivals]
        return sum(against) / len(against) if against else returns[f"eval/{name}/{kind}"]

    # ---- saving ------------------------------------------------------------------------------------------------------
    def best_state(self) -> dict[str, Any]:
        """The contents of ``best.pt``: each policy at its best, and those that are not trained as they are."""
        fixed = {name: copied(policy) for name, policy in self._policies.items() if policy is not None}
        best = self.state.best
        return {
            "config": self._config.to_yaml(),
            "policies": {**fixed, **{name: dict(one.weights) for name, one in best.items()}},
            "best": {
                name: {"score": one.score, "iteration": one.iteration, "env_steps": one.env_steps}
                for name, one in best.items()
            },
            "layout": self._world.data.layout(),
        }

    def files(self, folder: Path | None = None) -> dict[str, bytes]:
        """Files of the run's ``league`` folder, by name: the weights of other runs' policies.

        Args:
            folder: what this one holds already is left out.
        """
        return files_of(self._rivals, folder)

    def state_dict(self) -> dict[str, Any]:
        """State of the evaluations for a checkpoint; empty if there are none."""
        if self._every is None:
            return {}
        digests = {rival.source: {name: digest for name, (_, digest) in rival.files.items()} for rival in self._rivals}
        return {"evaluations": {**self.state.state_dict(), "opponents": digests}}

    def read_state(self, state: Mapping[str, Any], folder: Path | None) -> EvaluationState:
        """Read and check what ``state_dict`` returned; only the weights of other runs' policies are taken up yet.

        Args:
            state: a checkpoint; of a run that began without evaluations it holds nothing of them.
            folder: the run's ``league`` folder; None keeps the weights at hand.

        Raises:
            RunError: it is not what it should be, or a file is missing or was changed.
        """
        if self._every is None or "evaluations" not in state:
            return EvaluationState()
        saved = state["evaluations"]
        found = read_evaluation_state(saved, self._policies, self._names)
        if folder is not None:
            read_files(self._rivals, saved.get("opponents"), folder)
        return found

    def restore(self, run: Run) -> None:
        """Make a run's ``best.pt`` what it was at the checkpoint that the run is resumed from.

        Raises:
            RunError: it cannot be written.
        """
        if self.state.best:
            run.save_best(self.best_state())
        elif self._every is not None:
            run.best_path.unlink(missing_ok=True)
