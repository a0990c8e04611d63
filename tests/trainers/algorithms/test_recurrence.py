"""Recurrent policies in rollouts and updates: what is remembered, forgotten and learnt from."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.cases import seldom
from tests.trainers.algorithms.ppo_cases import JUNK, equal_weights, seeded
from tests.trainers.by_python import update_by_python
from tests.trainers.recall import Lives
from tests.trainers.recorded import Recorded, batches_of
from warpworld.config import ModelConfig, RunConfig, config_from_dict
from warpworld.environment import Environment
from warpworld.errors import StoreError
from warpworld.policies import RecurrentPolicy, StatefulModel, build_policy
from warpworld.policies.fused import DIAGNOSTICS, FusedGradients
from warpworld.trainers.algorithms import a2c, ppo
from warpworld.trainers.algorithms.experience.sequences import Sequences
from warpworld.trainers.algorithms.on_policy import OnPolicy
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.play import play
from warpworld.trainers.trainer import Trainer
from warpworld.world import World

# The rollout's cell takes the rows of all envs at a time, the update's those of a minibatch, and products of other
# sizes add up in another order; the kernel's exponentials and logarithms are not torch's either.
MARGIN = 2e-5


OWN = "tests.policies.stateful_models:"  # a model of one's own that declares a state


def recurrent(kind: str = "lstm", size: int = 6, **settings: Any) -> ModelConfig:
    if kind.startswith(OWN):
        return ModelConfig(type=kind, width=size)
    if kind == "transformer":
        settings = {"recurrent_heads": 2, "recurrent_window": 4, **settings}
    return ModelConfig(recurrent=kind, recurrent_size=size, hidden_sizes=[8], activation="tanh", **settings)


def policy_of(world: World, group: str, model: ModelConfig, seed: int = 0) -> RecurrentPolicy:
    """One that is far from uniform and whose values are not small, so that what it remembers shows."""
    policy = build_policy(model, world.groups[group], seeded(seed)).to(world.device)
    assert isinstance(policy, RecurrentPolicy)
    with torch.no_grad():
        if isinstance(policy.model, StatefulModel):
            policy.model.model.choice.weight.mul_(5)
        else:
            policy.model.actor_layer.weight.mul_(200)
            policy.model.critic_layer.weight.mul_(5)
    return policy


def ready(environment: Environment, num_envs: int, num_steps: int, kind: str = "lstm", layers: int = 1) -> Recorded:
    """A rollout of a reset world; every group has a recurrent policy of its own."""
    world, model = World(environment, num_envs, seed=3), recurrent(kind, recurrent_layers=layers)
    policies = {group: policy_of(world, group, model, seed) for seed, group in enumerate(world.groups)}
    rollout = Recorded(world, policies, num_steps)
    world.reset()
    return rollout


class Walked:
    """One group's rollout walked through step by step, with its own account of the states.

    Attributes:
        values: (T, num_envs, n).
        log_probs: (T, num_envs, n).
        states: (T, num_envs, n, state size), after each step and before anything is forgotten.
        last: (num_envs, n, state size), after the last step, forgotten where that ended an episode.
        cut: (num_envs, n), who was cut in the last step, and forgets a step later.
    """

    def __init__(self, rollout: Recorded, group: str, first: Tensor, cut: Tensor | None = None) -> None:
        policy, rows = rollout.actors[group].policy, rollout.trajectories(group)
        assert isinstance(policy, RecurrentPolicy)
        values, log_probs, states = [], [], []
        state = first.clone()
        self.cut = torch.zeros(rows.rewards.shape[1:], dtype=torch.bool) if cut is None else cut.clone()
        with torch.no_grad():
            for t in range(len(rows.rewards)):
                outputs, value, state = policy.step(rows.observations[t], state)
                log_probs.append(policy.distribution.log_prob_and_entropy(outputs, rows.actions[t])[0])
                values.append(value)
                states.append(state.clone())
                for env in range(rows.rewards.shape[1]):
                    for agent in range(rows.rewards.shape[2]):
                        died = rows.agent_terminated is not None and bool(rows.agent_terminated[t, env, agent])
                        cut_now = rows.agent_truncated is not None and bool(rows.agent_truncated[t, env, agent])
                        ended = died or bool(rows.terminated[t, env]) or bool(rows.truncated[t, env])
                        if ended or self.cut[env, agent]:
                            state[env, agent] = 0.0
                        self.cut[env, agent] = cut_now and not ended
        self.values, self.log_probs = torch.stack(values), torch.stack(log_probs)
        self.states, self.last = torch.stack(states), state


ENDS = [{}, {"dying": 0.15}, {"dying": 0.1, "cutting": 0.15}]


@pytest.mark.parametrize("kind", ["lstm", "gru", "mingru", "transformer", f"{OWN}Recent"])
@pytest.mark.parametrize("ends", ENDS, ids=["of envs", "of lives", "of lives that are cut"])
def test_agents_remember_to_the_end_of_their_episode_and_no_longer(kind: str, ends: dict[str, float]) -> None:
    """Three rollouts, each going on where the last one ended; envs and agents end at steps of their own."""
    rollout = ready(Lives(ending=0.1, **ends), 5, 9, kind)
    firsts = {group: torch.zeros_like(rollout.world[f"recurrent_state_{group}"]) for group in rollout.actors}
    cuts: dict[str, Tensor] = {}
    for _ in range(3):
        rollout.collect()
        for group, first in firsts.items():
            rows, walked = rollout.trajectories(group), Walked(rollout, group, first, cuts.get(group))
            cuts[group] = walked.cut
            assert torch.equal(rollout.world[f"rollout_first_state_{group}"], first)
            torch.testing.assert_close(rollout.world[f"rollout_values_{group}"], walked.values, rtol=0, atol=MARGIN)
            torch.testing.assert_close(rows.log_probs, walked.log_probs, rtol=0, atol=MARGIN)
            torch.testing.assert_close(
                rollout.world[f"recurrent_state_{group}"], walked.states[-1], rtol=0, atol=MARGIN
            )
            ended = rows.terminated | rows.truncated
            assert ended[:-1].any() and not ended.all(1).any()  # some envs in the middle, never all of them
            firsts[group] = rollout.world[f"recurrent_state_{group}"].clone()
            firsts[group][walked.last.eq(0).all(-1)] = 0.0


@pytest.mark.parametrize(
    ("kind", "layers"), [("lstm", 1), ("gru", 1), ("gru", 2), ("mingru", 1), ("transformer", 2), (f"{OWN}LongShort", 1)]
)
@pytest.mark.parametrize("ends", ENDS, ids=["of envs", "of lives", "of lives that are cut"])
def test_a_replay_of_the_sequences_is_the_rollout(kind: str, layers: int, ends: dict[str, float]) -> None:
    rollout = ready(Lives(ending=0.1, **ends), 6, 8, kind, layers)
    rollout.collect()
    rollout.collect()
    for group, actor in rollout.actors.items():
        policy, rows = actor.policy, rollout.trajectories(group)
        assert isinstance(policy, RecurrentPolicy)
        batch = rollout.batch(group, policy, 0.9, 0.8)
        assert isinstance(batch, Sequences) and len(batch) == 6 * actor.group.size and batch.length == 8
        order = torch.randperm(len(batch), generator=seeded()).to(rows.actions.device)
        for part in batch.take(order).split([len(batch) // 3] * 3):
            outputs, values = part.evaluated(policy)
            log_probs, _ = policy.distribution.log_prob_and_entropy(outputs, part.rows.actions)
            torch.testing.assert_close(log_probs, part.rows.log_probs, rtol=0, atol=MARGIN)
            torch.testing.assert_close(values, part.rows.values, rtol=0, atol=MARGIN)
        assert torch.equal(batch.rows.log_probs.view(6, actor.group.size, 8), rows.log_probs.permute(1, 2, 0))
        never = dataclasses.replace(batch, starts=torch.zeros_like(batch.starts))
        assert (never.evaluated(policy)[1] - batch.rows.values).abs().max() > 100 * MARGIN  # so forgetting shows


@pytest.mark.parametrize("cutting", [0.0, 0.1])
def test_what_follows_a_rollout_and_a_time_limit_is_told_of_with_the_state_of_that_moment(cutting: float) -> None:
    rollout = ready(Lives(ending=0.05, episode_length=5, cutting=cutting), 6, 9)
    first = {group: rollout.world[f"recurrent_state_{group}"].clone() for group in rollout.actors}
    rollout.collect()
    for group, actor in rollout.actors.items():
        policy, rows, walked = actor.policy, rollout.trajectories(group), Walked(rollout, group, first[group])
        assert isinstance(policy, RecurrentPolicy)
        batch = rollout.batch(group, policy, 0.9, 0.0)  # lambda 0: returns are one step ahead
        assert isinstance(batch, Sequences)
        returns = batch.rows.returns.view(6, actor.group.size, 9).permute(2, 0, 1)
        with torch.no_grad():
            of_final = policy.step(rollout.rollout._final_rows(rows), walked.states)[1]
            of_next = policy.step(actor.observations(), walked.last)[1]
            without = policy.value(rollout.rollout._final_rows(rows))
        following = torch.cat([walked.values[1:], of_next[None]])
        expected = torch.where(rows.truncated.unsqueeze(-1), of_final, following)
        expected = rows.rewards + 0.9 * expected.masked_fill(rows.terminated.unsqueeze(-1), 0.0)
        torch.testing.assert_close(returns, expected, rtol=0, atol=MARGIN)
        assert rows.truncated.sum() > 3 and rows.terminated.any()
        assert (without - of_final)[rows.truncated].abs().min() > 100 * MARGIN  # so the state shows


# ---- learning --------------------------------------------------------------------------------------------------------
def config(
    name: str = "tests.trainers.recall:Lives",
    env: dict[str, Any] | None = None,
    policy: dict[str, Any] | None = None,
    num_envs: int = 8,
    num_steps: int = 8,
    updates: int = 2,
    fused: bool = True,
    **settings: Any,
) -> RunConfig:
    entry = {"num_minibatches": 4, "model": recurrent().model_dump(), **settings}
    total = num_envs * num_steps * updates
    sizes = {"num_envs": num_envs, "num_steps": num_steps, "total_env_steps": total}
    return config_from_dict(
        {
            "name": name,
            "env": env or {},
            "trainer": {"device": "cpu", "fused": fused, **sizes},
            "policy": policy or {"both": {"groups": ["left", "right"], **entry}},
        }
    )


@pytest.mark.parametrize("algorithm", ["ppo", "a2c"])
@pytest.mark.parametrize("counted", [1.0, 0.5])
def test_the_first_minibatch_s_ratio_is_one(algorithm: str, counted: float, monkeypatch: pytest.MonkeyPatch) -> None:
    update_by_python(monkeypatch)
    ratios: list[Tensor] = []
    for algorithm_class in (ppo.PPO, a2c.A2C):
        monkeypatch.setattr(algorithm_class, "loss_terms", lambda self: None)  # no kernel computes the loss
    for module, loss in ((ppo, "ppo_loss"), (a2c, "a2c_loss")):
        real = getattr(module, loss)

        def recorded(*given: Any, real: Any = real) -> Any:
            log_ratios = given[0].detach() - given[3].log_probs
            ratios.append(log_ratios if given[3].mask is None else log_ratios[given[3].mask])
            return real(*given)

        monkeypatch.setattr(module, loss, recorded)
    model = recurrent(normalise_observations=True).model_dump()
    settings = {"algorithm": algorithm, "model": model, "learning_rate": 0.01}
    trainer = Trainer(config(env={"counted": counted, "dying": 0.1}, fused=False, **settings))
    for iteration in range(2):
        trainer.collector.collect()
        ratios.clear()
        trainer._learn()
        assert ratios[0].abs().max() < MARGIN, iteration
        assert ratios[-1].abs().max() > 50 * MARGIN  # and moves
        assert len(ratios) == (16 if algorithm == "ppo" else 4)


@pytest.mark.cpu_backend
@pytest.mark.parametrize("cell", ["lstm", "gru", "mingru"])
def test_so_it_is_where_cpp_plays_and_learns(cell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of steps that follow ends of episodes, too: a state that one of both reset a step late would show."""
    found: list[Tensor] = []
    gradient = FusedGradients.__call__

    def recorded(*given: Any) -> Tensor:
        found.append(gradient(*given))
        return found[-1]

    monkeypatch.setattr(FusedGradients, "__call__", recorded)
    monkeypatch.setattr(OnPolicy, "passes_in_cpp", False)  # one call for each minibatch
    model = {**recurrent().model_dump(), "recurrent": cell}
    trainer = Trainer(config(env={"counted": 0.5, "dying": 0.1}, model=model, learning_rate=0.01))
    for _ in range(2):
        trainer.collector.collect()
        found.clear()
        trainer._learn()
        kl = [each[DIAGNOSTICS.index("approx_kl")].item() for each in found]
        assert abs(kl[0]) < 1e-6 < 1e-4 < max(kl)


def test_minibatches_are_whole_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    update_by_python(monkeypatch)
    seen: list[Sequences] = []
    evaluated = Sequences.evaluated

    def recorded(sequences: Sequences, policy: Any) -> Any:
        seen.append(sequences)
        return evaluated(sequences, policy)

    trainer = Trainer(config(update_epochs=2, fused=False))
    trainer.collector.collect()
    batches = batches_of(trainer, "both")
    whole = torch.cat([rows.rows.observations.view(-1, 8, 3) for rows in batches.values()])
    monkeypatch.setattr(Sequences, "evaluated", recorded)
    trainer._learn()
    assert [len(part) for part in seen] == [6] * 8  # 24 sequences in 4 minibatches, twice
    for epoch in (seen[:4], seen[4:]):
        dealt = torch.cat([part.rows.observations.view(-1, 8, 3) for part in epoch])
        assert torch.equal(dealt.flatten(1).sort(0).values, whole.flatten(1).sort(0).values)
        found = (dealt[:, None] == whole[None]).flatten(2).all(-1).int().argmax(1)
        assert sorted(found.tolist()) == list(range(24))
        starts = torch.cat([rows.starts for rows in batches.values() if isinstance(rows, Sequences)])
        assert torch.equal(torch.cat([part.starts for part in epoch]), starts[found])
    assert not torch.equal(seen[0].rows.observations, seen[4].rows.observations)


@pytest.mark.parametrize("junk", JUNK)
def test_rows_that_do_not_count_have_no_influence(junk: float) -> None:
    """Agents that are out see and get what they like; one that is out in all steps has any state."""
    made = [Trainer(config(env={"counted": 0.6, "dying": 0.1})) for _ in range(2)]
    for trainer in made:
        trainer.collector.collect()
    right, spoilt = (batches_of(trainer, "both")["left"] for trainer in made)
    assert isinstance(right, Sequences) and isinstance(spoilt, Sequences)
    right, spoilt = (out_from_the_third_step(batch) for batch in (right, spoilt))
    mask = spoilt.rows.mask
    assert mask is not None
    rows = copy.deepcopy(spoilt.rows)
    for name, column in rows.named_tensors():
        if name not in ("mask", "actions"):
            column[~mask] = junk
    turned = {
        name: column.view(16, 8, *column.shape[1:]).transpose(0, 1).flatten(0, 1)
        for name, column in rows.named_tensors()
    }
    spoilt = Sequences.of_rollout(dataclasses.replace(rows, **turned), spoilt.states, spoilt.starts.t())
    first, second = (trainer.algorithms["both"] for trainer in made)
    assert first.update(right, seeded()) == second.update(spoilt, seeded())
    assert equal_weights(first.policy, second.policy)


def out_from_the_third_step(batch: Sequences) -> Sequences:
    """The same with masks as where agents leave for good: what they saw then cannot have led to anything."""
    mask = torch.ones_like(batch.starts)
    mask[::2, 3:] = False
    mask[3] = False
    return batch.with_columns(mask=mask.flatten())


@pytest.mark.parametrize("targets", ["gae", "vtrace"])
def test_agents_that_are_out_may_see_what_is_not_a_number(targets: str) -> None:
    """Across the ends of rollouts too: their state is not a number then, until their env begins anew."""
    trainer = Trainer(config("tests.trainers.recall:Departed", num_steps=5, updates=4, value_targets=targets))
    remembered: list[Tensor] = []
    trainer.train(None, on_iteration=lambda _: remembered.append(trainer.world["recurrent_state_left"].clone()))
    assert any(state.isnan().any() for state in remembered)
    assert all(state[:, 1].isfinite().all() for state in remembered)
    policy = trainer.policies["both"]
    assert policy is not None and all(weight.isfinite().all() for weight in policy.parameters())


def test_nothing_to_learn_from_changes_nothing() -> None:
    trainer = Trainer(config(env={"counted": 0.0}))
    before = copy.deepcopy(trainer.policies["both"])
    trainer.train(None)
    assert before is not None and equal_weights(before, trainer.policies["both"])  # type: ignore[arg-type]


RECALL = {"learning_rate": 0.01, "anneal_lr": False, "num_minibatches": 2, "gamma": 0.9, "ent_coef": 0.001}


def recalled(model: dict[str, Any], **settings: Any) -> float:
    """Share of cues that are recalled after training; chance is a half."""
    entry = {"agent": {**RECALL, "model": model, **settings}}
    made = config("tests.trainers.recall:Recall", {"episode_length": 5}, entry, num_envs=64, num_steps=12, updates=40)
    trainer = Trainer(made)
    trainer.train(None)
    return float(play(made, trainer.policies, 500, greedy=True).returns["agent"].mean())


@pytest.mark.heavy
@pytest.mark.parametrize("settings", [{}, {"algorithm": "a2c", "learning_rate": 0.02}], ids=["ppo", "a2c"])
@pytest.mark.parametrize("kind", ["lstm", "mingru", pytest.param("gru", marks=[pytest.mark.slow, seldom])])
@pytest.mark.long
def test_a_cue_is_recalled_with_a_memory(kind: str, settings: dict[str, Any]) -> None:
    assert recalled({"recurrent": kind, "recurrent_size": 16, "hidden_sizes": [16]}, **settings) > 0.95


@pytest.mark.heavy
@pytest.mark.long
def test_a_cue_is_recalled_by_a_transformer_whose_window_reaches_it() -> None:
    model = {"recurrent": "transformer", "recurrent_size": 16, "recurrent_heads": 2, "hidden_sizes": [16]}
    assert recalled({**model, "recurrent_window": 5}) > 0.95
    assert 0.4 < recalled({**model, "recurrent_window": 4}) < 0.6  # the cue is shown four steps before


@pytest.mark.heavy
@pytest.mark.long
def test_a_cue_is_recalled_by_a_state_of_one_s_own() -> None:
    assert recalled({"type": f"{OWN}LongShort", "width": 16}) > 0.95


@pytest.mark.long
def test_a_cue_is_not_recalled_without() -> None:
    assert 0.4 < recalled({"hidden_sizes": [16]}) < 0.6


# ---- what else a policy can be ---------------------------------------------------------------------------------------
def test_a_policy_with_other_states_is_refused() -> None:
    rollout = ready(Lives(), 2, 3)
    actor = rollout.actors["left"]
    actor.policy = policy_of(rollout.world, "left", recurrent(size=7))
    with pytest.raises(
        StoreError,
        match=r"^group 'left': the policy has states of 14 numbers, but the store has states of 12 numbers; make",
    ):
        actor.act()
    actor.policy = policy_of(rollout.world, "left", recurrent("gru", size=12))
    actor.act()
    world = World(Lives(), 2)
    plain = Actor(world, "left")
    world.reset()
    plain.policy = actor.policy
    with pytest.raises(StoreError, match="has states of 12 numbers, but the store has none; make the Actor"):
        plain.act()


@pytest.mark.long
def test_policies_of_all_kinds_play_in_one_run() -> None:
    lstm = recurrent().model_dump()
    policies = {
        "left": {"model": lstm, "num_minibatches": 2},
        "right": {"train": False, "model": recurrent("gru").model_dump()},
    }
    trainer = Trainer(config(policy=policies))
    frozen = copy.deepcopy(trainer.policies["right"])
    trainer.train(None)
    assert frozen is not None and equal_weights(frozen, trainer.policies["right"])  # type: ignore[arg-type]
    mixed = {"left": {"model": lstm, "num_minibatches": 2}, "right": {"algorithm": "a2c"}}
    Trainer(config(policy=mixed)).train(None)
    Trainer(config(policy={**mixed, "right": {"algorithm": "random"}})).train(None)


@pytest.mark.parametrize("env", ["tests.trainers.small_worlds:Aim", "tests.trainers.small_worlds:Narrowing"])
def test_boxes_and_action_masks(env: str) -> None:
    model = recurrent(normalise_observations=True).model_dump()
    groups = ["archer"] if env.endswith("Aim") else ["left", "right"]
    made = config(env, policy={group: {"model": model, "num_minibatches": 2} for group in groups}, num_steps=12)
    metrics = Trainer(made).train(None)
    assert all(abs(metrics[f"losses/{group}/grad_norm"]) > 0 for group in groups)
