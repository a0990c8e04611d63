"""Compiles what the parts up to "profile" need, with as many processes as there are cores.

Measured on a CPU: for the worlds g++ takes 90 s of processor time and nvcc 150 s, for the trainers nvcc takes 41 s. A
process takes 2.3 s to import torch and the package: so it does that once, and carries out many jobs. What is built
without fused multiply-add is built by the parts that need it.
"""

from __future__ import annotations

import time

from warpworld.config import load_config
from warpworld.managers.cpu.workers import available_cores
from warpworld.trainers.trainer import Trainer

from . import acting, breakout, graphs
from .cases import CARTPOLE, GRAPH_STEPS, TAG_CONTINUOUS, TAG_GRIDWORLD, Case, build_trainer
from .compare import compared_worlds
from .few_steps import short_worlds
from .learners import LEARNERS
from .part import Context
from .workers import Job, run_jobs

# Kernels depend on the steps of a rollout and on the networks, so that each is of the size that is measured.
CASES: tuple[Case, ...] = (
    TAG_GRIDWORLD,
    TAG_CONTINUOUS,
    CARTPOLE,
    *graphs.CASES,
    *acting.CASES,
    TAG_GRIDWORLD.smaller(32, GRAPH_STEPS),
    TAG_GRIDWORLD.smaller(200, 32),
)
NUM_ENVS = 8  # of a trainer that is only built; kernels of rollouts do not depend on them


def build(context: Context) -> None:
    """Runs a few steps of every world, on cpu and on the device, and builds the trainers on the device."""
    began = time.perf_counter()
    jobs = jobs_of(context)
    for done in run_jobs(context, jobs, available_cores()):
        if done.fault:
            context.wrong(f"{done.job.name}: {done.fault}")
    context.report(jobs=len(jobs), seconds=time.perf_counter() - began)
    context.holds(f"{len(jobs)} builds in {context.figures['seconds']:.0f} s")


def jobs_of(context: Context) -> list[Job]:
    """List the builds in the order of the parts that need them; where all is run on cpu, no trainer is among them."""
    device, of_compare = context.device, len(compared_worlds())
    jobs = [
        Job(f"{compared.name} on {where}", ".few_steps:main", (number, where))
        for number, compared in enumerate(short_worlds()[: context.size(len(short_worlds()), 2)])
        for where in (sorted({"cpu", device}) if number < of_compare else [device])
    ]
    if device == "cpu":
        return jobs
    trained = range(context.size(len(CASES), 1))
    jobs += [Job(f"trainer of {CASES[number].name}", ".builds:build_case", (number, device)) for number in trained]
    jobs.append(Job("trainer of breakout", ".builds:build_breakout", (device,)))
    learnt = range(context.size(len(LEARNERS), 0))
    return [
        *jobs,
        *(Job(f"trainer of {LEARNERS[n].config}", ".builds:build_learner", (n, device)) for n in learnt),
    ]


def build_case(number: int, device: str) -> None:
    """Build the trainer of a case."""
    case = CASES[number]
    build_trainer(case.smaller(NUM_ENVS, case.num_steps), device)


def build_breakout(device: str) -> None:
    """Build the trainer of the part "breakout", in its own size."""
    Trainer(breakout.config_of(breakout.BREAKOUT, device, breakout.precision_on(device)))


def build_learner(number: int, device: str) -> None:
    """Build the trainer of a learner, in its own size: the kernels of a replay depend on it."""
    learner = LEARNERS[number]
    Trainer(load_config(learner.config, [f"trainer.device={device}", *learner.overrides]))
