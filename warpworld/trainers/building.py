"""Builds the parts of a run from its configuration, and chooses how they are executed."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import torch

from warpworld.config import REQUIRED, LearnerConfig, RunConfig
from warpworld.environment import Environment
from warpworld.errors import ConfigError
from warpworld.policies import FLOAT32, Policy
from warpworld.policies.fused import fuse
from warpworld.trainers.algorithms import ALONE, Algorithm, ProcessGroup, get_algorithm
from warpworld.trainers.cloning import clone_from_data
from warpworld.trainers.collecting import Collector, Slot, player_of
from warpworld.trainers.collecting.acting_kernel import why_not
from warpworld.trainers.collecting.mingru_kernels import give_kernels
from warpworld.trainers.initial_weights import fresh_policy, load_initial_weights
from warpworld.trainers.population import Exploration, Population, first_members
from warpworld.world import World

if TYPE_CHECKING:
    from warpworld.trainers.overlap import ActingPolicies

logger = logging.getLogger(__name__)


def build_world(
    config: RunConfig, num_envs: int | None = None, seed: int | None = None, processes: ProcessGroup = ALONE
) -> World:
    """The world that a run's configuration describes, with its own number of envs and seed if these are given.

    Among several processes, this one's part of it.
    """
    trainer = config.trainer
    share = processes.share(trainer.num_envs if num_envs is None else num_envs)
    return World(
        config.make_environment(),
        len(share),
        device=trainer.device,
        seed=trainer.seed if seed is None else seed,
        num_workers=trainer.num_workers or processes.workers(),
        first_env=share.start,
        envs_per_warp=trainer.envs_per_warp,
    )


def build_policies(
    config: RunConfig,
    environment: Environment,
    generator: torch.Generator,
    device: torch.device | str = "cpu",
) -> dict[str, Policy | None]:
    """Fresh policies by name; None for those that have no network, see ``player_of``.

    Args:
        config: the run's settings.
        environment: that they play.
        generator: on the CPU, what weights are drawn from.
        device: where the policies are put.
    """
    return {
        name: fresh_policy(entry, environment, generator, device) if isinstance(entry, LearnerConfig) else None
        for name, entry in config.policy.items()
    }


def build_learners(
    config: RunConfig, world: World, generator: torch.Generator, initial_weights: bool
) -> dict[str, Policy | None]:
    """Policies of a training, by name, on the world's device; None for those without a network.

    Args:
        config: the run's settings.
        world: in which they learn.
        generator: on the CPU, what weights are drawn from.
        initial_weights: whether the weights and the data that the settings name are read.

    Raises:
        RunError: such weights or data cannot be read, or do not fit.
    """
    policies = build_policies(config, world.environment, generator, world.device)
    for policy in filter(None, policies.values()):
        policy.acting(masked="action_mask" in world.data)
    if initial_weights:
        load_initial_weights(config, policies)
        clone_from_data(config, policies)
    return policies


def build_algorithms(
    config: RunConfig,
    policies: Mapping[str, Policy | None],
    processes: ProcessGroup = ALONE,
    world: World | None = None,
    generator: torch.Generator | None = None,
) -> dict[str, Algorithm]:
    """An algorithm for each policy that is trained, by name.

    Args:
        config: the run's settings.
        policies: by name.
        processes: those that train the run.
        world: in which they learn; only a population needs it.
        generator: on the CPU, what weights of a population's members are drawn from.

    Raises:
        ConfigError: the device or the processes rule a population out.
    """
    algorithms: dict[str, Algorithm] = {}
    for name, policy in policies.items():
        entry = config.policy[name]
        if policy is None or not isinstance(entry, LearnerConfig) or not entry.train:
            continue
        if entry.population is None:
            algorithms[name] = get_algorithm(entry.algorithm)(policy, entry, processes)
        else:
            assert world is not None and generator is not None
            _check_population(name, world, processes)
            algorithms[name] = _population(config, name, policy, world, generator)
    return algorithms


def _check_population(name: str, world: World, processes: ProcessGroup) -> None:
    """Refuse a population on a device or among processes where its members cannot learn."""
    key = f"policy.{name}.population is set, but"
    if world.captures:
        raise ConfigError(f"{key} on cuda an update is a CUDA graph over all envs; set trainer.device to cpu")
    if processes.several:
        raise ConfigError(f"{key} {processes.size} processes train the run, expected one: start a single process")


def _population(config: RunConfig, name: str, policy: Policy, world: World, generator: torch.Generator) -> Population:
    """The population that learns a policy."""
    entry = config.policy[name]
    assert isinstance(entry, LearnerConfig) and entry.population is not None
    exploration = Exploration(entry.population, config.trainer.seed ^ zlib.crc32(name.encode()))
    members = first_members(entry, policy.state_dict(), exploration, world, generator)
    return Population(name, policy, entry, members, config.trainer.num_envs, exploration)


def population_of(algorithms: Mapping[str, Algorithm]) -> Population | None:
    """The run's population; None if it has none."""
    return next((algorithm for algorithm in algorithms.values() if isinstance(algorithm, Population)), None)


def build_collector(
    config: RunConfig,
    world: World,
    policies: Mapping[str, Policy | None],
    algorithms: Mapping[str, Algorithm],
    slots: Sequence[Slot],
    acting: ActingPolicies | None = None,
    beside: Callable[[], None] | None = None,
) -> Collector:
    """The collector of a training, and with it the execution of every policy's steps and updates.

    Args:
        config: the run's settings.
        world: that is not sealed.
        policies: by name; on the cpu their networks are given C++ where ``trainer.fused`` says so.
        algorithms: of those that are trained, by name.
        slots: in which opponents or members of a population play.
        acting: copies of the policies, which act with ``trainer.overlap``.
        beside: waits for the update beside a rollout, with ``trainer.overlap``.

    Raises:
        ConfigError: C++ or kernels are required, and a policy cannot have them.
    """
    trainer = config.trainer
    required, on_device = trainer.fused == REQUIRED, world.captures
    if trainer.fused and not on_device:  # a graph would not hold what the host computes
        fuse_policies(policies, required, trainer.precision)
    collector = Collector(world, trainer.num_steps, trainer.graph_steps, slots, trainer.num_envs)
    collector.uses_kernels = bool(trainer.fused) and on_device
    collector.is_reduced = trainer.precision == "bf16"
    if acting is not None:
        fuse_copies(config, world, acting.copies())
    population = population_of(algorithms)
    if population is not None:
        fuse_copies(config, world, {population.name: [member.policy for member in population.members]})
    if beside is not None:
        collector.overlap(beside)
    # how every group acts, what is recorded of it, how its policy learns
    for name, entry in config.policy.items():
        if name in algorithms:
            algorithms[name].declare(collector)
        else:
            for group in entry.groups:
                collector.act(group, player_of(policies[name], entry, world.environment))
        if acting is not None and policies[name] is not None:
            for group in entry.groups:
                collector.actors[group].policy = acting.acting[name]
    if collector.uses_kernels:
        fuse_acting(collector, config, required)
        for policy in () if acting is None else acting.in_updates():  # which play nothing
            give_kernels(policy, world)
    return collector


def fuse_copies(config: RunConfig, world: World, copies: Mapping[str, Sequence[Policy]]) -> None:
    """Give copies of policies fused kernels, such as a league's opponents, by the name of the policy."""
    if config.trainer.fused and not world.captures:
        for name, policies in copies.items():
            for policy in policies:
                fuse_policies({name: policy}, precision=config.trainer.precision)


def fuse_rivals(config: RunConfig, policies: Mapping[str, Policy]) -> None:
    """Give the opponents of evaluations fused kernels, where the run's settings say so."""
    if config.trainer.fused:
        fuse_policies(policies, precision=config.trainer.precision)


def fuse_policies(policies: Mapping[str, Policy | None], required: bool = False, precision: str = FLOAT32) -> None:
    """Give policies on the cpu fused kernels where they can have them; elsewhere there are none, and nothing to say.

    Args:
        policies: by name.
        required: whether torch will not do.
        precision: of their products.

    Raises:
        ConfigError: they are required, and a policy cannot have them.
    """
    for name, policy in policies.items():
        if policy is not None and all(weight.device.type == "cpu" for weight in policy.parameters()):
            fuse(policy, name, required, precision)


def fuse_acting(collector: Collector, config: RunConfig, required: bool = False) -> None:
    """Let policies act in one kernel where they can; torch runs the networks of all others, and the log says why.

    A minimal GRU among those is a kernel, too, as it acts and as it learns.

    Args:
        collector: of an unsealed world, whose groups have their actors.
        config: knows which policy plays a group.
        required: whether torch will not do.

    Raises:
        ConfigError: it is required, and a policy cannot act there.
    """
    precision = config.trainer.precision
    is_reduced = precision != FLOAT32
    exact_kernel = f"trainer.precision is {precision}, and the kernel computes in float32"
    # policies that stay with torch
    for name, entry in config.policy.items():
        for actor in (collector.actors[group] for group in entry.groups):
            reason = exact_kernel if is_reduced else why_not(actor)
            if reason is None or not isinstance(actor.policy, Policy):
                continue
            if required:
                raise ConfigError(
                    f"trainer.fused is required, but policy '{name}' acts in torch alone: {reason}; set it to true, "
                    "which leaves such policies to torch"
                )
            logger.info("policy '%s' acts in torch, for group '%s': %s", name, actor.group.name, reason)
    # all others, in kernels
    if not is_reduced:
        collector.fuse()
    # minimal GRUs, as they act and as they learn
    for player in {player for actor in collector.actors.values() for player in actor.players}:
        if isinstance(player, Policy):
            give_kernels(player, collector.world)
