"""The trainer, end to end on small worlds."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from tests.trainers.by_python import update_by_python
from tests.trainers.small_networks import small_networks
from tests.trainers.together import Unwritten
from warpworld.config import RunConfig, config_from_dict, load_config
from warpworld.policies.distributions.distribution import log_prob
from warpworld.policies.fused import FusedNetworks, fused_gradient
from warpworld.runs import Run
from warpworld.runs.curve import draw_curves
from warpworld.runs.metrics.metric_files import read_metrics
from warpworld.trainers import building
from warpworld.trainers.algorithms import ppo
from warpworld.trainers.algorithms.experience.batch import Batch
from warpworld.trainers.algorithms.on_policy import OnPolicy
from warpworld.trainers.algorithms.ppo import PPO
from warpworld.trainers.session.progress import TrainingProgress
from warpworld.trainers.state import random_state
from warpworld.trainers.trainer import Trainer

DIAGNOSTICS = (*PPO.loss_diagnostics, "grad_norm", "explained_variance")
COUNTERS = {"iteration", "env_steps", "agent_steps", "time"}
SPEED = {"perf/env_steps_per_s", "perf/agent_steps_per_s", "perf/rollout_s", "perf/update_s", "perf/cpu_s"}
EPISODES = {"charts/episodes", "charts/episodic_length"}


def of_policy(name: str, trained: bool = True) -> set[str]:
    learning = {f"losses/{name}/{key}" for key in DIAGNOSTICS} | {f"charts/{name}/learning_rate"}
    learning.add(f"perf/{name}/update_s")
    return {f"charts/{name}/episodic_return"} | (learning if trained else set())


def trained(config: RunConfig) -> tuple[Trainer, Unwritten]:
    trainer, run = Trainer(config), Unwritten()
    trainer.train(run)  # type: ignore[arg-type]
    return trainer, run


def cartpole(iterations: int = 3, width: int = 8, **trainer: Any) -> RunConfig:
    settings = {"num_envs": 16, "num_steps": 16, "total_env_steps": 256 * iterations, **trainer}
    words = [f"trainer.{name}={value}" for name, value in settings.items()]
    return load_config("cartpole", [f"policy.agent.model.hidden_sizes=[{width}, {width}]", *words])


def clockwork(policy: Mapping[str, Any], env: Mapping[str, Any] | None = None, **trainer: Any) -> RunConfig:
    settings = {"num_envs": 8, "num_steps": 8, "total_env_steps": 256, **trainer}
    name = "tests.trainers.small_worlds:Clockwork"
    return config_from_dict(small_networks({"name": name, "env": env or {}, "trainer": settings, "policy": policy}))


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    """All policies' weights by name, copied."""
    return {
        f"{name}.{key}": value.clone()
        for name, policy in trainer.policies.items()
        for key, value in policy.state_dict().items()
    }


def same(one: Mapping[str, torch.Tensor], other: Mapping[str, torch.Tensor]) -> bool:
    """Whether the names are the same, and the weights bit for bit; those of a checkpoint are on the CPU."""
    return one.keys() == other.keys() and all(torch.equal(one[key].cpu(), other[key].cpu()) for key in one)


def untimed(metrics: Mapping[str, Any]) -> dict[str, str]:
    """What does not depend on the machine's speed, as text, so that NaN equals NaN."""
    return {key: repr(value) for key, value in metrics.items() if key != "time" and not key.startswith("perf/")}


# --- metrics ----------------------------------------------------------------------------------------------------------


def test_metrics_carry_the_documented_names() -> None:
    trainer, run = trained(cartpole(iterations=3))
    assert len(run.lines) == trainer.iteration == trainer.num_iterations == 3
    for number, line in enumerate(run.lines, 1):
        assert set(line) == COUNTERS | SPEED | EPISODES | of_policy("agent")
        assert (line["iteration"], line["env_steps"], line["agent_steps"]) == (number, 256 * number, 256 * number)
        assert all(line[key] > 0 for key in SPEED)
        assert 0 < line["perf/agent/update_s"] < line["perf/update_s"]
        assert all(math.isfinite(line[key]) for key in of_policy("agent") if key.startswith("losses/"))
    assert [line["time"] for line in run.lines] == sorted(line["time"] for line in run.lines)
    rates = [line["charts/agent/learning_rate"] for line in run.lines]
    assert rates == pytest.approx([1e-3, 1e-3 * 2 / 3, 1e-3 / 3])


def test_agent_steps_count_every_agent() -> None:
    _, run = trained(clockwork({"both": {"groups": ["left", "right"]}}))
    assert [(line["env_steps"], line["agent_steps"]) for line in run.lines][-1] == (256, 768)
    speeds = run.lines[-1]
    assert speeds["perf/agent_steps_per_s"] == pytest.approx(3 * speeds["perf/env_steps_per_s"])


@pytest.mark.parametrize("groups", [["left"], ["right"], ["left", "right"], ["right", "left"]])
def test_the_return_of_a_policy_is_the_mean_over_its_agents(groups: list[str]) -> None:
    policy = {"some": {"groups": groups, "train": False}}
    rest = [group for group in ("left", "right") if group not in groups]
    trainer, run = trained(clockwork({**policy, **{group: {"train": False} for group in rest}}, total_env_steps=64))
    returns = trainer.world["rollout_rewards"].view(2, 4, 8, 3).sum(1)  # each env ends after 4 steps, twice
    agents = torch.cat([returns[..., trainer.world.groups[group].slice] for group in groups], -1)
    line = run.lines[0]
    assert (line["charts/episodes"], line["charts/episodic_length"]) == (16, 4.0)
    assert line["charts/some/episodic_return"] == pytest.approx(agents.mean().item())


@pytest.mark.long
def test_where_no_episode_ends_the_return_is_no_number(tmp_path: Path) -> None:
    config = clockwork({"left": {}, "right": {}}, env={"episode_length": 12})
    run = Run.create(config, tmp_path)
    progress = TrainingProgress(config, console=Console(file=io.StringIO()), interval=0.0)
    seen: list[dict[str, Any]] = []
    with progress:
        Trainer(config).train(run, on_iteration=lambda metrics: (seen.append(metrics), progress.update(metrics)))
    run.close()
    returns = [metrics["charts/left/episodic_return"] for metrics in seen]
    assert [math.isnan(value) for value in returns] == [True, False, False, True]
    assert math.isnan(seen[0]["charts/episodic_length"])
    lines = read_metrics(run.metrics_path).rows
    assert [line["charts/left/episodic_return"] for line in lines] == [None, returns[1], returns[2], None]
    assert lines[0]["charts/episodic_length"] is None
    counts = [metrics["charts/episodes"] for metrics in seen]
    assert progress.last["left"] == pytest.approx((counts[1] * returns[1] + counts[2] * returns[2]) / sum(counts))
    assert draw_curves(run.metrics_path, run.curve_path).stat().st_size > 1000


def test_lines_and_checkpoints_come_when_the_config_says() -> None:
    config = cartpole(iterations=7)
    config = config_from_dict({**config.to_dict(), "saving": {"log_every": 3, "checkpoint_every": 2}})
    trainer, run = Trainer(config), Unwritten()
    seen: list[int] = []
    last = trainer.train(run, on_iteration=lambda metrics: seen.append(metrics["iteration"]))  # type: ignore[arg-type]
    assert [line["iteration"] for line in run.lines] == [3, 6, 7]
    assert run.checkpoints() == [0, 2, 4, 6, 7]
    assert seen == list(range(1, 8))
    assert last == run.lines[-1]


# --- the same seed ----------------------------------------------------------------------------------------------------


def test_the_same_seed_is_the_same_run() -> None:
    torch.manual_seed(1)
    first, first_run = trained(cartpole())
    torch.manual_seed(2)  # torch's own generator has no part in it
    again, again_run = trained(cartpole())
    assert [untimed(line) for line in first_run.lines] == [untimed(line) for line in again_run.lines]
    assert same(weights(first), weights(again))
    other, other_run = trained(cartpole(seed=2))
    assert not same(weights(first), weights(other))
    assert untimed(first_run.lines[-1]) != untimed(other_run.lines[-1])


@pytest.mark.cpu_backend
def test_the_number_of_workers_does_not_matter() -> None:
    runs = [trained(cartpole(num_envs=256, total_env_steps=3 * 256 * 16, num_workers=n)) for n in (1, 2)]
    (one, one_run), (two, two_run) = runs
    assert same(weights(one), weights(two))
    assert [untimed(line) for line in one_run.lines] == [untimed(line) for line in two_run.lines]


# --- learning ---------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("fused", ["true", "false"])
def test_cartpole_is_learnt(fused: str) -> None:
    trainer, run = trained(cartpole(width=64, num_envs=64, num_steps=32, total_env_steps=20 * 64 * 32, fused=fused))
    is_fused = fused == "true" and not trainer.world.captures  # what graphs hold is torch's
    assert (fused_gradient(trainer.policies["agent"]) is not None) == is_fused
    returns = [line["charts/agent/episodic_return"] for line in run.lines]
    assert 15 < returns[0] < 30  # at random
    assert sum(returns[-5:]) / 5 > 100


@pytest.fixture(params=["torch", pytest.param("fused", marks=pytest.mark.cpu_backend)])
def minibatches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What every minibatch was, and what the policy made of it."""
    seen: list[dict[str, Any]] = []
    loss, gradients = ppo.ppo_loss, FusedNetworks.gradients

    def fused_spy(networks: FusedNetworks, batch: Batch) -> Any:
        of_batch = gradients(networks, batch)

        def of_rows(rows: torch.Tensor, loss: Any) -> torch.Tensor:
            minibatch = batch.take(rows)
            outputs, values = networks.outputs(minibatch.observations), networks.value(minibatch.observations)
            log_probs = log_prob(outputs, minibatch.actions, networks.head_sizes)
            result = of_batch(rows, loss)
            diagnostics = dict(zip(PPO.loss_diagnostics, result, strict=True))
            seen.append({"log_probs": log_probs, "values": values, "batch": minibatch, **diagnostics})
            return result

        return of_rows

    if request.param == "fused":
        monkeypatch.setattr(FusedNetworks, "gradients", fused_spy)
        monkeypatch.setattr(OnPolicy, "passes_in_cpp", False)  # one call for each minibatch
        return seen
    monkeypatch.setattr(building, "fuse", lambda *_: False)
    monkeypatch.setattr(PPO, "loss_terms", lambda self: None)  # no kernel computes the loss, on any device
    update_by_python(monkeypatch)

    def spy(log_probs: Any, entropies: Any, values: Any, batch: Batch, settings: Any) -> Any:
        result = loss(log_probs, entropies, values, batch, settings)
        seen.append({"log_probs": log_probs.detach(), "values": values.detach(), "batch": batch, **result[1]})
        return result

    monkeypatch.setattr(ppo, "ppo_loss", spy)
    return seen


@pytest.mark.long
def test_the_ratio_moves_away_from_exactly_one(minibatches: list[dict[str, Any]]) -> None:
    _, run = trained(cartpole(iterations=3))
    per_update = 4 * 8  # epochs, minibatches
    assert len(minibatches) == 3 * per_update
    for update in range(3):
        first, *later = minibatches[update * per_update : (update + 1) * per_update]
        torch.testing.assert_close(first["log_probs"], first["batch"].log_probs, rtol=0, atol=1e-5)
        torch.testing.assert_close(first["values"], first["batch"].values, rtol=0, atol=1e-5)
        assert first["approx_kl"].abs() < 1e-6
        assert later[-1]["approx_kl"] > 1e-6
        assert (later[-1]["log_probs"] - later[-1]["batch"].log_probs).abs().max() > 1e-3
    assert all(line["losses/agent/approx_kl"] > 0 for line in run.lines)


@pytest.mark.long
def test_separate_policies_learn_from_their_own_groups(minibatches: list[dict[str, Any]]) -> None:
    config = clockwork({"left": {"learning_rate": 1e-2}, "right": {"num_minibatches": 2}})
    trainer = Trainer(config)
    before = weights(trainer)
    run = Unwritten()
    trainer.train(run)  # type: ignore[arg-type]
    after = weights(trainer)
    assert not any(torch.equal(after[key], value) for key, value in before.items())
    assert set(run.lines[0]) == COUNTERS | SPEED | EPISODES | of_policy("left") | of_policy("right")
    agents = [minibatch["batch"].observations[:, 2].unique().tolist() for minibatch in minibatches]
    assert agents == ([[0.0, 1.0]] * 16 + [[2.0]] * 8) * 4
    assert {len(minibatch["batch"]) for minibatch in minibatches} == {8 * 8 * 2 // 4, 8 * 8 // 2}


def test_a_shared_policy_learns_from_all_of_its_groups(minibatches: list[dict[str, Any]]) -> None:
    trainer, run = trained(clockwork({"all": {"groups": ["left", "right"], "num_minibatches": 1}}))
    assert set(run.lines[0]) == COUNTERS | SPEED | EPISODES | of_policy("all")
    assert trainer.collector.actors["left"].policy is trainer.collector.actors["right"].policy
    assert all(len(minibatch["batch"]) == 8 * 8 * 3 for minibatch in minibatches)
    assert all(minibatch["batch"].observations[:, 2].unique().tolist() == [0, 1, 2] for minibatch in minibatches)


def test_a_frozen_policy_plays_but_keeps_its_weights() -> None:
    trainer = Trainer(clockwork({"left": {}, "right": {"train": False}}))
    before = weights(trainer)
    run = Unwritten()
    trainer.train(run)  # type: ignore[arg-type]
    after = weights(trainer)
    for key, value in before.items():
        assert torch.equal(after[key], value) == key.startswith("right.")
    assert set(run.lines[0]) == COUNTERS | SPEED | EPISODES | of_policy("left") | of_policy("right", trained=False)
    assert list(trainer.algorithms) == ["left"]
    assert trainer.collector.actors["right"].policy is trainer.policies["right"]


def test_rows_of_agents_that_have_left_are_not_learnt_from(minibatches: list[dict[str, Any]]) -> None:
    # 3 agents on the left that leave in timesteps 2, 3 and 4 of 6; 2 on the right
    settings = {"num_envs": 4, "num_steps": 12, "total_env_steps": 96}
    policies = {"left": {"num_minibatches": 1}, "right": {"num_minibatches": 1}}
    trainer, run = trained(
        config_from_dict({"name": "tests.trainers.small_worlds:Relay", "trainer": settings, "policy": policies})
    )
    left, right = minibatches[:4], minibatches[4:8]
    assert {len(minibatch["batch"].counted()) for minibatch in left} == {4 * 2 * (2 + 3 + 4)}
    assert {len(minibatch["batch"]) for minibatch in right} == {4 * 12 * 2}
    assert max(minibatch["batch"].counted().returns.max() for minibatch in left) < 1e4
    assert run.lines[0]["charts/left/episodic_return"] < 1e4
    assert trainer.world["rollout_rewards"].max() == 1e6


# --- checkpoints ------------------------------------------------------------------------------------------------------


def test_a_checkpoint_holds_everything_that_the_further_trajectory_depends_on(tmp_path: Path) -> None:
    config = config_from_dict({**cartpole(iterations=4).to_dict(), "saving": {"checkpoint_every": 2}})
    run = Run.create(config, tmp_path)
    whole = Trainer(config)
    whole.train(run)
    run.close()
    assert run.checkpoints() == [0, 2, 4]
    state = run.load_checkpoint(2)  # torch.load with weights_only=True
    assert (state["iteration"], state["env_steps"]) == (2, 512)
    counters = {"iteration", "env_steps", "seconds", "config", "torch_threads"}
    assert set(state) == counters | {"policies", "learners", "generator", "random", "layout", "store"}
    assert state["torch_threads"] == torch.get_num_threads()

    resumed = Trainer(config)
    resumed.load_state_dict(state)
    rest = Unwritten()
    resumed.train(rest)  # type: ignore[arg-type]
    assert same(weights(resumed), weights(whole))
    written = [untimed(line) for line in read_metrics(run.metrics_path).rows]
    assert [untimed(line) for line in rest.lines] == written[2:]

    last = run.load_checkpoint()
    assert same(weights(whole), {f"agent.{key}": value for key, value in last["policies"]["agent"].items()})


def test_torch_s_generators_are_left_as_they_are_where_policies_are_made() -> None:
    """The device's, too: a model that draws from it would draw other numbers once opponents have been built."""
    trainer = Trainer(cartpole())
    before = random_state(trainer.world)
    Trainer(cartpole(seed=5))
    assert same(random_state(trainer.world), before)


def test_the_first_checkpoint_is_of_the_untrained_policies(tmp_path: Path) -> None:
    config = cartpole(iterations=1)
    run = Run.create(config, tmp_path)
    untrained = weights(Trainer(config))
    Trainer(config).train(run)
    run.close()
    first = run.load_checkpoint(0)
    assert (first["iteration"], first["env_steps"]) == (0, 0)
    assert same(untrained, {f"agent.{key}": value for key, value in first["policies"]["agent"].items()})
