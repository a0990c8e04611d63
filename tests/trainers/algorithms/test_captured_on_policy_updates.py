"""Whole on-policy updates as CUDA graphs: what is learnt is what would have been, bit for bit."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import torch

from tests.cases import often
from tests.stand_in.driver import StandIn
from tests.stand_in.host_calls import HostCalls
from tests.trainers.small_networks import small_networks
from tests.trainers.test_resumed_runs import MEMORY, ONE, REMEMBERING_CRITIC, RUN_CONFIGS
from warpworld.config import config_from_dict, load_config
from warpworld.trainers.algorithms.algorithm import Progress
from warpworld.trainers.algorithms.on_policy import OnPolicy
from warpworld.trainers.algorithms.targets.gae import gae
from warpworld.trainers.algorithms.targets.vtrace import vtrace
from warpworld.trainers.algorithms.updates import one_kernel
from warpworld.trainers.algorithms.updates.kernel_gradients import ByKernels
from warpworld.trainers.algorithms.updates.minibatches import Epoch, Minibatches
from warpworld.trainers.algorithms.updates.one_kernel import InOneKernel
from warpworld.trainers.algorithms.updates.updates import Updates
from warpworld.trainers.trainer import Trainer

pytestmark = [pytest.mark.cuda_backend, pytest.mark.usefixtures("whole_products")]

ON_POLICY = (
    *("cartpole", "normalised observations", "a2c with schedules", "python phases", "agents that leave", "lstm"),
    *("gru, frozen gru and v-trace", "named observations"),
)
RELAY = "tests.trainers.small_worlds:Relay"
ONCE = {"kernels": 0, "read": 1}  # calls of the host in an iteration, whatever is learnt
BY_KL = {"desired_kl": 0.002, "anneal_lr": False, "learning_rate": 1e-3}
MAGNET = {"ema_decay": 0.7, "magnet_coef": [[0, 0.5], [250, 0.1]], "norm_adv": False}
SEVERAL = {"num_minibatches": 2, "update_epochs": 4}  # epochs, of which target_kl leaves some out

# what ends some updates early
ENDING: dict[str, dict[str, Any]] = {
    "normalised, popart": {
        "name": "cartpole",
        "policy": {
            "agent": {
                **SEVERAL,
                "target_kl": 0.01,
                "learning_rate": 0.01,
                "normalise_returns": "popart",
                "model": {"normalise_observations": True},
            }
        },
    },
    "v-trace, agents that leave": {
        "name": RELAY,
        "policy": {
            "left": {**SEVERAL, "target_kl": 0.015, "value_targets": "vtrace", "learning_rate": 0.01},
            "right": ONE,
        },
    },
    "v-trace of a gru": {
        "name": "tests.trainers.recall:Lives",
        "policy": {
            "left": {
                **{**SEVERAL, "target_kl": 0.005, "value_targets": "vtrace", "learning_rate": 0.01},
                "model": {"recurrent": "gru", "normalise_observations": True},
            },
            "right": {"train": False},
        },
    },
}
WAYS: dict[str, dict[str, Any]] = {
    **{name: RUN_CONFIGS[name] for name in ON_POLICY},
    "all that may change": {
        "name": "cartpole",
        "policy": {
            "agent": {
                **ONE,
                "learning_rate": [[0, 0.01], [200, 0.001]],
                "clip_coef": [[0, 0.1], [250, 0.3]],
                "ent_coef": [[0, 0.5], [250, 0.0]],
                "vf_coef": [[0, 1.0], [250, 0.1]],
            }
        },
    },
    "popart, normalised, agents that leave": {
        "name": RELAY,
        "policy": {
            "left": {**ONE, "normalise_returns": "popart", "model": {"normalise_observations": True}},
            "right": {**ONE, "value_targets": "vtrace"},
        },
    },
    "mingru": {"name": "cartpole", "policy": {"agent": {**ONE, "model": {**MEMORY, "recurrent": "mingru"}}}},
    "lstms": {"name": "cartpole", "policy": {"agent": {**ONE, "model": {**MEMORY, "recurrent_layers": 2}}}},
    "bf16, beside an off-policy learner": RUN_CONFIGS["bf16"],
    "a Box": {"name": "pendulum", "env": {"episode_length": 5}, "policy": {"agent": ONE}},
    "mappo": {"name": "tag_gridworld", "policy": {"tagger": {**ONE, "algorithm": "mappo"}, "runner": ONE}},
    "a critic with memory": {
        "name": "tag_gridworld",
        "env": {"episode_length": 6},
        "policy": {"tagger": REMEMBERING_CRITIC, "runner": {"algorithm": "random"}},
    },
    "segments": {
        "name": "cartpole",
        "policy": {"agent": {**SEVERAL, "priority_alpha": 0.7, "priority_beta": [[0, 0.2], [250, 1.0]]}},
    },
    "segments of agents that leave, target_kl and v-trace": {
        "name": RELAY,
        "policy": {
            "left": {**SEVERAL, "priority_alpha": 0.7, "target_kl": 0.015, "value_targets": "vtrace"},
            "right": {**ONE, "priority_alpha": 0.0, "replay_ratio": 0.5},
        },
    },
    "segments with a memory": {
        "name": "cartpole",
        "policy": {"agent": {**RUN_CONFIGS["segments"]["policy"]["agent"], "model": MEMORY}},
    },
    "desired_kl": {"name": "cartpole", "policy": {"agent": {**SEVERAL, **BY_KL}}},
    "desired_kl, target_kl, agents that leave": {
        "name": RELAY,
        "policy": {"left": {**SEVERAL, **BY_KL, "target_kl": 0.015}, "right": {**ONE, "kl_coef": 0.3}},
    },
    "a penalty that follows, target_kl": {
        "name": RELAY,
        "policy": {
            "left": {**SEVERAL, "kl_coef": 0.5, "kl_coef_target": 0.01},
            "right": {**SEVERAL, "kl_coef": 8, "kl_coef_target": 1e-3, "target_kl": 0.015},
        },
    },
    "averaged weights and a magnet": {
        "name": "cartpole",
        "policy": {"agent": {**SEVERAL, **MAGNET, "model": {"normalise_observations": True}}},
    },
    "a penalty on a schedule, muon": {
        "name": "cartpole",
        "policy": {
            "agent": {**SEVERAL, **BY_KL, "kl_coef": [[0, 2.0], [250, 0.1]], "optimizer": "muon", "desired_kl": 0.05}
        },
    },
    **{f"target_kl, {name}": way for name, way in ENDING.items()},
}


# What these show, others of them show with more beside it.
PARTS = ("cartpole", "normalised observations", "agents that leave", "lstm", "segments", "desired_kl", "mappo")
PARTS += ("segments with a memory", "desired_kl, target_kl, agents that leave", "target_kl, normalised, popart")


def trained(config: dict[str, Any], graph_steps: int, updates: int = 6) -> tuple[Trainer, list[dict[str, Any]]]:
    """A trainer after some updates, and its metrics."""
    trainer = {"num_envs": 6, "num_steps": 8, "total_env_steps": 48 * updates, "graph_steps": graph_steps, "seed": 3}
    settings = {**config, "trainer": {**trainer, **config.get("trainer", {})}}
    made, metrics = Trainer(config_from_dict(settings)), list[dict[str, Any]]()
    made.train(None, metrics.append)
    return made, metrics


@pytest.mark.usefixtures("bf16_everywhere")
@pytest.mark.parametrize("way", often(WAYS.keys() - set(PARTS), WAYS))
def test_captured_updates_equal_eager_ones(way: str, caplog: pytest.LogCaptureFixture) -> None:
    """One update before it is captured, one that is, and two by its graph."""
    with caplog.at_level(logging.WARNING):
        config = small_networks(WAYS[way])
        (eager, metrics), (captured, of_captured) = (trained(config, steps, updates=4) for steps in (0, 4))
    assert "one by one" not in caplog.text
    for own, others in ((eager.policies, captured.policies), (eager.shown, captured.shown)):
        for name, policy in own.items():
            for key, value in policy.state_dict().items() if policy is not None else ():
                assert torch.equal(value, others[name].state_dict()[key]), key  # type: ignore[union-attr]
    for one, other in zip(metrics, of_captured, strict=True):
        untimed = [{key: each[key] for key in each if not key.startswith(("perf/", "time"))} for each in (one, other)]
        assert repr(untimed[0]) == repr(untimed[1])  # NaN where no episode ended
    losses = [value for name, value in metrics[-1].items() if name.startswith("losses/")]
    assert losses and any(losses)


def test_captured_targets_are_those_of_the_functions() -> None:
    """From what networks gave the kernels in the latest update; GAE's for one policy, V-trace's for the other."""
    world = trained(WAYS["popart, normalised, agents that leave"], 4)[0].world
    for group, discounts in (("left", {}), ("right", {"rho_bar": 1.0, "c_bar": 1.0})):
        agents = world.groups[group].slice
        array = {name: world[f"estimate_{name}_{group}"].double() for name in ("values", "next_values", "final_values")}
        mask, terminated = world["rollout_agent_mask"][:, :, agents], world["rollout_terminated"]
        given = {
            "rewards": world["rollout_rewards"][:, :, agents].where(mask, 0.0).double(),
            "values": array["values"],
            "terminated": terminated,
            "truncated": world["rollout_truncated"] & ~terminated,
            "agent_terminated": world["rollout_agent_terminated"][:, :, agents],
            "next_value": array["next_values"],
            "truncated_values": array["final_values"][:-1],
            **{"gamma": 0.99, "gae_lambda": 0.95, **discounts},
        }
        if discounts:
            log_ratios = world[f"estimate_log_ratios_{group}"].double()
            assert log_ratios.any()
            expected = {"returns": vtrace(**given, log_ratios=log_ratios)}
        else:
            expected = dict(zip(("advantages", "returns"), gae(**given), strict=True))
        for name, wanted in expected.items():
            found = world[f"estimate_{name}_{group}"].double()
            torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("way", ["cartpole", "agents that leave", "segments", "all that may change", "mingru"])
def test_networks_learn_in_one_kernel_what_torch_would_learn(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, take = list[bool](), InOneKernel.steps

    def note(self: InOneKernel, rows: Any, epoch: Epoch) -> torch.Tensor | None:
        found = take(self, rows, epoch)
        taken.append(found is not None)
        return found

    monkeypatch.setattr(InOneKernel, "steps", note)
    _, metrics = trained(WAYS[way], 4)
    assert taken and all(taken)
    for kernels in ("perceptron_kernels", "sequence_kernels"):
        monkeypatch.setattr(one_kernel, kernels, lambda *given: None)
    other, expected = trained(WAYS[way], 4)
    kinds = [type(each.updates.gradients) for each in other.algorithms.values()]  # type: ignore[attr-defined]
    assert set(kinds) == {ByKernels}
    of_losses = [name for name in metrics[0] if name.startswith("losses/")]
    assert of_losses
    for name in of_losses:
        assert metrics[0][name] == pytest.approx(expected[0][name], rel=1e-4, abs=1e-5)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with each pass over rows that Python does."""
    done, make_pass = list[int](), Updates._pass

    def count(self: Updates, passes: int = 1) -> None:
        done.append(1)
        make_pass(self, passes)

    monkeypatch.setattr(Updates, "_pass", count)
    return done


@pytest.mark.parametrize(("way", "parts"), [("agents that leave", 1), ("target_kl, normalised, popart", 2)])
def test_python_does_no_pass_once_it_is_captured(way: str, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all passes together without a read between them, or of the first and of all that may follow."""
    done = counted(monkeypatch)
    trained(WAYS[way], 4)
    assert len(done) == 2 * parts  # to warm up, and to be captured


@pytest.mark.stand_in
@pytest.mark.parametrize("way", ENDING)
def test_the_same_graphs_serve_updates_of_any_number_of_epochs(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU rounds in its own way, so that passes may end elsewhere."""
    numbers, learn = list[int](), OnPolicy.learn

    def note(self: OnPolicy, progress: Progress) -> Any:
        found = learn(self, progress)
        if self.may_end_early:
            numbers.append(int(self.updates.passes.tensors()[0]))
        return found

    monkeypatch.setattr(OnPolicy, "learn", note)
    trained(ENDING[way], 4)
    assert len(numbers) == 6 and 4 in numbers and min(numbers) in (1, 2)  # all epochs, and some left out


def test_each_epoch_of_an_update_has_an_order_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    permutations, shuffle = list[torch.Tensor](), Minibatches.shuffle

    def note(self: Minibatches, given: Any, passes: int) -> Epoch:
        found = shuffle(self, given, passes)
        permutations.extend(found.shuffled.clone().chunk(passes))
        return found

    monkeypatch.setattr(Minibatches, "shuffle", note)
    trained(WAYS["agents that leave"], 0)
    assert len({tuple(order.tolist()) for order in permutations}) == len(permutations) == 6 * 2


POLICIES = ("tagger", "runner")
FEWER = ("trainer.num_steps=4", *(f"policy.{name}.num_minibatches=2" for name in POLICIES))
NARROW = [f"policy.{name}.model.hidden_sizes=[4, 4]" for name in POLICIES]  # whose widths add no call either


def calls_of_an_iteration(stand_in: StandIn, *overrides: str) -> dict[str, int]:
    """What the host asks for in an iteration of the packaged config, with few envs, whose number adds no call."""
    fewer = ["trainer.num_envs=8", "trainer.total_env_steps=4800", "saving.log_every=5", *NARROW]
    trainer = Trainer(load_config("tag_gridworld", [*fewer, *overrides]))
    for _ in range(2):
        trainer._iterate()
    calls = HostCalls()
    with stand_in.recording() as launches, calls:
        trainer._iterate()
    learners: Any = list(trainer.algorithms.values())
    epochs = [int(each.updates.passes.tensors()[0]) for each in learners]
    # acting, step, reset; episodes; advantages; then orders, passes and diagnostics: orders one each, the others one
    # for all policies where the host reads nothing within; else diagnostics are one a pass, and one at the end
    at_once = [each.updates._at_once for each in learners]
    rounds = sum(n // together for n, together in zip(epochs, at_once, strict=True))
    is_read = any(each.may_end_early for each in learners)
    launches_of_passes = rounds + (rounds + rounds + len(learners) if is_read else 2)
    captured = trainer.collector.num_steps * 3 + 1 + len(learners) + launches_of_passes
    return {**calls.counts, "kernels": len(launches) - captured}


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.stand_in
def test_few_calls_of_the_host_make_an_iteration(stand_in: StandIn) -> None:
    """With all of the config's steps, passes and minibatches."""
    counts = calls_of_an_iteration(stand_in)
    assert counts == {"graph": 2, "aten.copy_": 1, **ONCE}


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.stand_in
def test_an_update_is_few_nodes_of_its_graph(stand_in: StandIn) -> None:
    """Of 160 minibatches, with targets; one launch takes the passes of both policies, and one all diagnostics."""
    fewer = ["trainer.num_envs=8", "trainer.num_steps=20", "trainer.total_env_steps=960", "saving.log_every=5", *NARROW]
    trainer = Trainer(load_config("tag_gridworld", fewer))
    for _ in range(2):
        trainer._iterate()
    calls = HostCalls()
    with stand_in.recording() as launches, calls:
        trainer._iterate()
    _, update = calls.nodes
    for name in ("learn_passes", "summarise"):
        assert sum(name in launch.name for launch in launches) == 1
    learners: Any = list(trainer.algorithms.values())
    assert [each.num_epochs * each.settings.num_minibatches for each in learners] == [160, 160]
    assert update <= 54  # of both policies


REMEMBERING = {"model": {**MEMORY, "recurrent": "mingru", "hidden_sizes": [8, 8]}, "optimizer": "muon"}


@pytest.mark.long
@pytest.mark.stand_in
def test_an_update_of_a_memory_by_muon_is_no_more_nodes_with_more_minibatches() -> None:
    nodes = []
    for minibatches in (2, 5):
        agent = {**REMEMBERING, "num_minibatches": minibatches, "update_epochs": 3}
        trainer = {"num_envs": 10, "num_steps": 4, "total_env_steps": 400, "graph_steps": 4}
        made = Trainer(config_from_dict({"name": "cartpole", "trainer": trainer, "policy": {"agent": agent}}))
        for _ in range(2):
            made._iterate()
        calls = HostCalls()
        with calls:
            made._iterate()
        nodes.append(calls.nodes[-1])
    assert nodes[0] == nodes[1] <= 60


@pytest.mark.long
@pytest.mark.stand_in
def test_a_rate_that_follows_the_divergence_is_not_read_between_steps(stand_in: StandIn) -> None:
    names, settings = ("tagger", "runner"), {"anneal_lr": "false", "desired_kl": 0.01, "kl_coef": 0.1}
    words = [f"policy.{name}.{key}={value}" for name in names for key, value in settings.items()]
    assert calls_of_an_iteration(stand_in, *words, *FEWER) == {"graph": 2, "aten.copy_": 1, **ONCE}


@pytest.mark.stand_in
@pytest.mark.parametrize(("target_kl", "epochs"), [(1e9, 4), (1e-9, 1)])
def test_a_graph_and_a_read_more_are_called_for_each_further_epoch(
    target_kl: float, epochs: int, stand_in: StandIn
) -> None:
    """Of each of two policies, the first epoch and what follows the last have a graph, too."""
    limits = [f"policy.{name}.target_kl={target_kl}" for name in ("tagger", "runner")]
    counts = calls_of_an_iteration(stand_in, *limits, *FEWER)
    reads = 2 * min(epochs, 3)
    assert counts == {"graph": 1 + 2 * (epochs + 1), "aten._local_scalar_dense": reads, "aten.copy_": 2, **ONCE}


@pytest.mark.parametrize("settings", [{}, BY_KL], ids=["a fixed rate", "desired_kl"])
def test_a_loaded_state_is_learnt_from(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The optimiser's moments and rate lie elsewhere then, so that the graph of before would write to nowhere."""
    config = {"name": "cartpole", "policy": {"agent": {**ONE, "anneal_lr": False, **settings}}}
    (trainer, _), (other, _) = (trained(config, 4) for _ in range(2))
    state = trainer.state_dict()
    before = {name: value.clone() for name, value in state["policies"]["agent"].items()}
    other.load_state_dict(state)
    done = counted(monkeypatch)
    for each in (trainer, other):
        each._iterate()
    assert len(done) == 2  # the other's, to be captured again
    after = [each.policies["agent"].state_dict() for each in (trainer, other)]  # type: ignore[union-attr]
    assert all(torch.equal(value, after[1][name]) for name, value in after[0].items())
    assert not any(torch.equal(value, before[name]) for name, value in after[0].items() if "weight" in name)


def test_the_learning_rate_falls_on_the_device() -> None:
    trainer, metrics = trained({"name": "cartpole", "policy": {"agent": {**ONE, "learning_rate": 0.006}}}, 4)
    algorithm = trainer.algorithms["agent"]
    assert isinstance(algorithm, OnPolicy)
    assert float(algorithm.parameters.rate_on_device()) == pytest.approx(0.001)  # a sixth of the run is left
    assert metrics[-1]["charts/agent/learning_rate"] == pytest.approx(0.001)
