"""Policies that act in one kernel, beside the same ones in torch: what they give, and what a step takes."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from warpworld.policies import Policy, RecurrentPolicy
from warpworld.trainers.collecting import Trajectories, begun
from warpworld.trainers.collecting.rollout import Rollout
from warpworld.trainers.trainer import Trainer

from .cases import CARTPOLE, GRAPH_STEPS, TAG_GRIDWORLD, Case, build_trainer
from .clock import measure
from .part import Context

PENDULUM = Case("pendulum", {}, num_envs=16384, policies={"agent": ("agent",)})
RECALL = Case("recall", {}, num_envs=256, num_steps=22, hidden_sizes=(32,), policies={"agent": ("agent",)})
REMEMBERING = tuple(replace(RECALL, recurrent=cell) for cell in ("mingru", "gru", "lstm"))
CASES = (TAG_GRIDWORLD.smaller(2000, GRAPH_STEPS), CARTPOLE, PENDULUM, *REMEMBERING)
LARGEST_ERROR = 1e-5  # of a log-probability


def compare(context: Context) -> None:
    """A rollout's log-probabilities are those of torch's networks; then the seconds of a step, both ways."""
    said = []
    cases = [case.smaller(8, 4) for case in CASES] if context.quick else CASES
    for case in context.in_time(cases, _name):
        fused, plain = (_trainer(case, context.device, fused) for fused in (True, False))
        if context.device == "cuda" and not fused.collector.kernels:
            context.wrong(f"{_name(case)}: no kernel acts; the log says why")
            continue
        fused.collector.collect()
        error = max(_error(fused, group) for group in fused.collector.actors)
        if not error <= LARGEST_ERROR:
            context.wrong(f"{_name(case)}: log-probabilities are {error:.2g} from torch's, expected {LARGEST_ERROR:g}")
        window = 0.01 if context.quick else 0.1
        kernel, torchs = (
            measure(each.collector.collect, context.device, window, 3).median / case.num_steps
            for each in (fused, plain)
        )
        said.append(f"{_name(case)} {torchs / kernel:.2f} times as fast")
        context.row(world=_name(case), num_envs=case.num_envs, error=error, kernel_seconds=kernel, torch_seconds=torchs)
    context.holds(f"rollout steps beside torch's networks: {', '.join(said)}")


def _name(case: Case) -> str:
    return case.name if case.recurrent is None else f"{case.name} with {case.recurrent}"


def _trainer(case: Case, device: str, fused: bool) -> Trainer:
    """A trainer whose policies' outputs are not near 0."""
    trainer, generator = build_trainer(case, device, fused=fused), torch.Generator().manual_seed(3)
    for policy in filter(None, trainer.policies.values()):
        for parameter in policy.parameters():
            parameter.detach().add_(0.1 * torch.randn(parameter.shape, generator=generator).to(parameter.device))
    return trainer


def _error(trainer: Trainer, group: str) -> float:
    """The largest distance of a log-probability of the rollout from torch's."""
    policy, seen = trainer.collector.actors[group].policy, trainer.collector.shared(Rollout).trajectories(group)
    assert isinstance(policy, Policy)
    with torch.no_grad():
        outputs = _outputs(policy, seen)
        expected, _ = policy.distribution.log_prob_and_entropy(outputs, seen.actions, seen.action_masks)
    return float((seen.log_probs - expected).abs().max())


def _outputs(policy: Policy, seen: Trajectories) -> Tensor:
    """What torch's networks give for a rollout's observations, (T, num_envs, n, numbers)."""
    if not isinstance(policy, RecurrentPolicy):
        return policy.outputs(seen.observations)
    lead = seen.observations.shape[:3]
    assert seen.first_state is not None
    ends = seen.terminated, seen.truncated, seen.agent_terminated, lead[2], seen.agent_truncated, seen.first_cut
    sequences = seen.observations.flatten(1, 2), seen.first_state.flatten(0, 1), begun(*ends)[:-1].flatten(1)
    return policy.replay(*sequences)[0].view(*lead, -1)
