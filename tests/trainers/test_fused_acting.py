"""A trainer's policies act in one kernel on cuda, and the log says which do not, and why."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from tests.stand_in.driver import StandIn
from tests.stand_in.host_calls import HostCalls
from warpworld.config import config_from_dict
from warpworld.errors import ConfigError
from warpworld.trainers.building import build_policies, build_world, fuse_acting
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.trainer import Trainer


def agent(hidden: Sequence[int] = (8, 5), **entry: Any) -> dict[str, Any]:
    return {"num_minibatches": 2, "update_epochs": 2, "model": {"hidden_sizes": list(hidden)}, **entry}


def config_of(name: str = "cartpole", fused: Any = True, precision: str = "float32", **policies: Any) -> Any:
    trainer = {"num_envs": 4, "num_steps": 4, "total_env_steps": 64, "fused": fused, "precision": precision}
    return config_from_dict({"name": name, "trainer": trainer, "policy": policies})


def declared(config: Any) -> Collector:
    """A collector as a trainer makes it, without algorithms: every group acts."""
    world = build_world(config)
    policies = build_policies(config, world.environment, torch.Generator(), world.device)
    collector = Collector(world, config.trainer.num_steps)
    for name, entry in config.policy.items():
        for group in entry.groups:
            collector.act(group, policies[name])
    return collector


WHY = {
    "its memory is a Transformer": agent(model={"recurrent": "transformer", "recurrent_heads": 2}),
    "its model is a MultiInput, not the plain MLP": agent(model={"type": "multi_input"}),
    "its actor has widths 4 - 129 - 2; the kernel takes up to 512 inputs and 2 hidden layers": agent((129,)),
    "its actor has widths 4 - 3 - 3 - 3 - 2": agent((3, 3, 3)),
}


@pytest.mark.parametrize("reason", WHY)
def test_the_log_names_why_a_policy_acts_in_torch(reason: str, caplog: pytest.LogCaptureFixture) -> None:
    config = config_of(agent=WHY[reason])
    with caplog.at_level(logging.INFO, "warpworld"):
        collector = declared(config)
        fuse_acting(collector, config)
    assert f"policy 'agent' acts in torch, for group 'agent': {reason}" in caplog.text
    assert not collector.kernels
    with pytest.raises(ConfigError, match=r"trainer\.fused is required, but policy 'agent' acts in torch alone: it"):
        fuse_acting(declared(config), config, required=True)


def test_products_in_bf16_are_left_to_torch(caplog: pytest.LogCaptureFixture) -> None:
    config = config_of(precision="bf16", agent=agent())
    with caplog.at_level(logging.INFO, "warpworld"):
        collector = declared(config)
        fuse_acting(collector, config)
    assert (
        "acts in torch, for group 'agent': trainer.precision is bf16, and the kernel computes in float32" in caplog.text
    )
    assert not collector.kernels
    with pytest.raises(
        ConfigError, match=r"trainer\.fused is required, but policy 'agent' acts in torch alone: trainer"
    ):
        fuse_acting(declared(config), config, required=True)


@pytest.mark.cuda_backend
@pytest.mark.long
def test_required_on_cuda_is_kept_where_all_policies_act_in_the_kernel() -> None:
    trainer = Trainer(config_of(fused="required", agent=agent()))
    assert [kernel.actors for kernel in trainer.collector.kernels] == [[trainer.collector.actors["agent"]]]
    with pytest.raises(ConfigError, match=r"trainer\.fused is required, but policy 'agent' acts in torch alone: its"):
        Trainer(config_of(fused="required", agent=agent((200,))))
    assert not Trainer(config_of(fused=False, agent=agent())).collector.kernels


PLAYED = {
    "perceptrons": ("tag_gridworld", {"tagger": agent((32, 32)), "runner": agent((32, 32))}),
    "a minimal GRU": ("recall", {"agent": agent(model={"hidden_sizes": [8], "recurrent": "mingru"})}),
    "a GRU": ("recall", {"agent": agent(model={"hidden_sizes": [8], "recurrent": "gru"})}),
}


@pytest.mark.stand_in
@pytest.mark.long
@pytest.mark.parametrize("played", PLAYED)
def test_a_step_with_its_policies_is_three_launches(played: str, stand_in: StandIn) -> None:
    """Of the packaged configs: policies, step, reset; and no operation of torch's."""
    name, policies = PLAYED[played]
    trainer = Trainer(config_of(name, **policies))
    collector = trainer.collector
    acting = collector.acting()
    acting._begin()
    calls = HostCalls()
    with stand_in.recording() as launches, calls:
        for _ in range(collector.num_steps):
            acting._step()
    assert [launch.name for launch in launches] == ["ww_entry_act", "ww_entry_step", "ww_entry_reset"] * 4
    assert not calls.counts
    assert trainer.world["rollout_row"].item() == 3


MEMORY = {"hidden_sizes": [8], "recurrent": "gru", "recurrent_size": 6}
RECORDED = ("observations", "actions", "log_probs", "first_state")
REMEMBERING = {
    "a critic of its own": agent(algorithm="mappo", model=MEMORY),
    "a critic that remembers": agent(algorithm="mappo", model={**MEMORY, "recurrent": "mingru"}, recurrent_critic=True),
    "values in other units": agent(model=MEMORY, normalise_returns="popart"),
}


@pytest.mark.cuda_backend
@pytest.mark.long
@pytest.mark.parametrize("kind", REMEMBERING)
def test_a_run_with_a_memory_records_what_torch_would(kind: str) -> None:
    """Also with other weights, from states in the middle of episodes."""
    configs = [config_of("particles_spread", fused, agent=REMEMBERING[kind]) for fused in (True, False)]
    trainers = [Trainer(config) for config in configs]
    assert [len(trainer.collector.kernels) for trainer in trainers] == [1, 0]
    for _ in range(2):
        for trainer in trainers:
            policy, generator = trainer.policies["agent"], torch.Generator().manual_seed(3)
            assert policy is not None
            for weights in policy.parameters():
                weights.detach().add_((0.2 * torch.randn(weights.shape, generator=generator)).to(weights.device))
            if policy.value_scale is not None:
                policy.value_scale.mean.add_(2.0)
                policy.value_scale.deviation.mul_(3.0)
            trainer.collector.collect()
        of_memory = (
            ["values"] if REMEMBERING[kind].get("algorithm") != "mappo" else []
        )  # which says no values as it acts
        for name in (*(f"rollout_{what}_agent" for what in (*RECORDED, *of_memory)), "recurrent_state_agent"):
            found, expected = (trainer.world[name] for trainer in trainers)
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
