"""Acts for several groups in one launch: networks, draws and records in one kernel, see perceptrons.cu."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from warpworld.environment import MAX_THREADS_PER_ENV, Array, Kernel
from warpworld.errors import StoreError
from warpworld.managers import LEAST_BLOCKS, Needs
from warpworld.policies import BoxSampler, ChoiceSampler, Policy
from warpworld.policies.packed import Packer, Perceptron, shape_of
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.collecting.memory import CUT, ENDS, Memory
from warpworld.trainers.collecting.outcomes import ROW
from warpworld.trainers.collecting.players import Player, Seen, decide, needs_torch
from warpworld.trainers.spans import POLICY, spanned
from warpworld.world import World

SOURCE = Path(__file__).resolve().parent / "perceptrons.cu"
KERNEL, GROUP_STRUCT = "act", "GroupArrays"
MAX_GROUPS = 4  # of a launch
# With a lane for each agent, envs that share a warp share the memory of a block, and a lane has its sums in registers.
MOST_SHARING_AGENTS, MOST_SHARING_UNITS = 16, 64
# Otherwise each env reads all weights anew from the GPU's cache, and has the shorter wait for them. On an H200, sharing
# won with 300 MB that would be read (16,384 pendulums) and lost with 15 (2,000 envs of Tag on a grid).
LEAST_BYTES_SHARED = 1 << 26
# Reading more than this is slower than torch's networks: on an H200 that was so with 300 MB, and not with 15.
MOST_BYTES_READ = 1 << 28
MULTIPROCESSORS = 132  # of an H100 or an H200
TAKEN_ROWS = "rollout_taken_rows"
_NOTHING = {"int": "acting_int", "bool": "acting_bool", "float": "acting_float"}  # placeholders, by their C type
_WAYS = ("sample", "act", "act_greedily")

_NO_NETWORK = Perceptron((1, 1), "tanh", normalises=False, in_box=False)  # of a group that acts at random

# of a group that there is not: anything legal
_ABSENT: dict[str, float] = dict(
    **dict(AGENTS=0, AGENT_FIRST=0, AGENT_STRIDE=1, FEATURES=1, HIDDEN_1=0, HIDDEN_2=0, OUTPUTS=1, IS_RELU=0),
    **dict(NORMALISES=0, IS_GREEDY=0, RECORDS=0, IS_MASKED=0, IS_IN_BOX=0, IS_RANDOM=0, KERNEL=0),
    **dict(
        OBSERVATION_AGENTS=1,
        OBSERVATION_FIRST=0,
        ACTION_AGENTS=1,
        ACTION_FIRST=0,
        NUM_HEADS=1,
        HEAD_SIZE=1,
        MASK_SIZE=1,
    ),
    **dict(CELL=0, MEMORY=0, MEMORY_LAYERS=0, HAS_VALUE=0, SCALES_VALUES=0),
)
_CELLS = ("", "mingru", "gru", "lstm")  # as cells.cuh numbers them


def why_not(actor: Actor) -> str | None:
    """Reason why the kernel cannot act for a group that a policy plays; None if it can."""
    policy, sampler = actor.policy, actor.sampler
    if not isinstance(policy, Policy):
        return "no policy plays it"
    shape = shape_of(policy)
    if isinstance(shape, str):
        return shape
    # observations and actions
    if actor.joins or shape.widths[0] != actor.rows.size:
        return "it does not see one array of float32"
    if type(sampler) not in (ChoiceSampler, BoxSampler) or sampler.kernel not in _WAYS:
        return f"its actions are taken by the kernel {sampler.kernel} of {sampler.source.name}"
    # agents of an env, and bytes of weights
    if actor.group.size > MAX_THREADS_PER_ENV:
        return f"it plays {actor.group.size:,} agents of an env, more than {MAX_THREADS_PER_ENV:,}"
    world = sampler.context.world
    if not _fits_a_lane(world, shape) and _bytes_read(world, shape) > MOST_BYTES_READ:
        return (
            f"each of {world.num_envs:,} envs would read its {shape.size:,} weights anew, which is slower than torch's "
            "products"
        )
    return None


def _fits_a_lane(world: World, shape: Perceptron) -> bool:
    """Whether the kernel can evaluate a network with a lane for each agent of an env."""
    return world.num_agents <= MOST_SHARING_AGENTS and shape.most_at_once <= MOST_SHARING_UNITS


def _bytes_read(world: World, shape: Perceptron) -> int:
    """Bytes of weights that the envs of a world read in a step where each has a block."""
    return world.num_envs * shape.size * 4


def is_random(actor: Actor) -> bool:
    """Whether the kernel can act for a group that no policy plays, at random, as its actor would."""
    sampler = actor.sampler
    is_plain = type(sampler) in (ChoiceSampler, BoxSampler) and sampler.kernel == "act"
    return actor.is_random and is_plain and actor.group.size <= MAX_THREADS_PER_ENV


class ActingKernel:
    """Acts for up to ``MAX_GROUPS`` groups in one launch.

    It draws the actions that the actors would draw, but for the rounding of what their networks give. Envs of players
    whose networks are of another shape, or that are no networks, get their outputs from torch, as with the actors.

    Make it before the world is sealed.

    Attributes:
        actors: whose work it does; for each ``why_not`` is None, or it ``is_random``.
        counts_rows: whether it also writes ``ROW``, before each step.

    Args:
        world: an unsealed world.
        actors: see above.
        num_steps: rows of a rollout.
        counts_rows: see above.
    """

    def __init__(self, world: World, actors: Sequence[Actor], num_steps: int, counts_rows: bool = False) -> None:
        self._world, self.actors, self.counts_rows = world, list(actors), counts_rows
        self._groups = [_ActingGroup(world, actor) for actor in actors]
        self._others: list[tuple[Player, Seen, torch.Tensor]] = []
        self._forgetting: list[Memory] = []
        self._launch: Callable[[], None] = self._not_sealed
        remembers = any(actor.memory is not None for actor in actors)
        self._ends = [name for name in ENDS if remembers and name in world.data]  # by which agents forget
        self._add_arrays()
        # a lane for each agent, where envs then share the weights in a block's memory
        absent = [_ABSENT] * (MAX_GROUPS - len(actors))
        shapes = [group.shape for group in self._groups]
        shares = all(_fits_a_lane(world, shape) for shape in shapes)
        shares = shares and sum(_bytes_read(world, shape) for shape in shapes) >= LEAST_BYTES_SHARED
        # constants of the kernel, with those of groups that are absent
        settings: dict[str, float] = {"ROWS": num_steps, "COUNTS_ROWS": counts_rows, "WORLD_AGENTS": world.num_agents}
        leaving, cutting = "agent_terminated" in self._ends, CUT in self._ends
        settings |= {"LANE_PER_AGENT": shares, "LEAVING": leaving, "CUTTING": cutting}
        for number, of_group in enumerate([group.constants() for group in self._groups] + absent):
            settings |= {f"{name}_{number}": value for name, value in of_group.items()}
        settings[LEAST_BLOCKS] = self._blocks_at_once() if shares else 1  # more make some networks spill registers
        # the kernel, bound once the store is sealed
        actions = {actor.sampler.bound["actions"] for actor in actors}
        self._functions = world.kernels(SOURCE, settings, writable=actions)
        threads = (1, max(group.threads for group in self._groups))
        self._functions.build([Kernel(KERNEL, threads_per_env=None if shares else threads)])
        world.when_sealed(self._bind)

    def _blocks_at_once(self) -> int:
        """Blocks that a multiprocessor holds if all envs, which share warps, are to act at the same time."""
        from warpworld.managers.cuda import CudaBackend  # a run on a CPU does not load it

        envs_of_block = CudaBackend.warp_size // self._world.num_agents * CudaBackend.warps_per_block
        needed = -(-self._world.num_envs // (envs_of_block * MULTIPROCESSORS))
        several = 2 if self._ends else 3  # groups' kernels spill registers with more, and so do memories
        return min(needed, 4 if len(self.actors) == 1 and not self._ends else several)

    def _add_arrays(self) -> None:
        add = self._world.add
        if self.counts_rows:
            add(Array(TAKEN_ROWS, "int32", per="env", initial=0), kept="derived")
        for name, dtype in zip(_NOTHING.values(), ("int32", "bool", "float32"), strict=True):
            if name not in self._world.data:
                add(Array(name, dtype, (1,), per="world", initial=0), kept="derived")

    def _bind(self) -> None:
        world, functions = self._world, self._functions
        *leaves, num_envs = functions.signatures[KERNEL].leaves
        fields = [leaf.parameter for leaf in leaves if leaf.struct == GROUP_STRUCT]
        count = len(fields) // MAX_GROUPS
        given: list[str] = []
        for number in range(MAX_GROUPS):
            bound = self._groups[number].bound if number < len(self._groups) else {}
            given += [bound.get(field.name, _NOTHING[field.type]) for field in fields[:count]]
        shared = {"taken_rows": TAKEN_ROWS, "row": ROW} | {name: name for name in ("not_finite", *self._ends)}
        for leaf in leaves[len(fields) :]:
            name = shared.get(leaf.parameter.name, "")
            given.append(name if name in world.data else _NOTHING[leaf.parameter.type])
        given.append(num_envs.parameter.name)
        index = self.actors[0].sampler.context.index
        needs = Needs(flop=world.num_envs * sum(group.flop for group in self._groups))
        self._launch = world.program([functions.step(KERNEL, index, given=given, needs=needs)])

    def _not_sealed(self) -> None:
        raise StoreError("call the world's reset() before the kernel acts")

    def begin(self) -> None:
        """Take in weights and players, which may change between two rollouts and at no other time."""
        self._others = [other for group in self._groups for other in group.begin()]
        self._forgetting = [group.forgetting for group in self._groups if group.forgetting is not None]
        self.follow_row()

    def follow_row(self) -> None:
        """Take the row behind ``ROW`` next, which begins at -1. A graph of some steps begins so.

        What each env counts is no state: ``ROW`` alone is, so that stores are the same with and without this kernel.
        """
        if self.counts_rows:
            self._world[TAKEN_ROWS].copy_(self._world[ROW] + 1)

    @spanned(POLICY)
    def act(self) -> None:
        """Write the actions of all groups into the store; call ``begin`` before the first time."""
        for memory in self._forgetting:
            memory.forget()
        for group in self._groups:
            group.actor.scripts.run()
        if self._others:
            with torch.no_grad():
                for player, seen, outputs in self._others:
                    decide(player, seen, outputs)
        self._launch()


class _ActingGroup:
    """One group of the kernel.

    Attributes:
        actor: of the group.
        shape: of its network.
        bound: arrays by the names that their fields have in the kernel's struct.
        threads: of an env, that have work in the widest layer.
        forgetting: memory that is to forget before the kernel acts, since players that it does not know have states.
    """

    forgetting: Memory | None = None

    def __init__(self, world: World, actor: Actor) -> None:
        shape = shape_of(actor.policy) if isinstance(actor.policy, Policy) else _NO_NETWORK
        assert isinstance(shape, Perceptron)
        self._world, self.actor, self.shape = world, actor, shape
        self._in_box = isinstance(actor.sampler, BoxSampler)
        name, players = actor.group.name, 2 + len(actor.slots)  # and one whose outputs are 0
        self._weights, self._players = f"policy_weights_{name}", f"policy_players_{name}"
        world.add(Array(self._weights, "float32", (players, shape.row_size), per="world", initial=0.0), kept="derived")
        world.add(Array(self._players, "int32", per="env", initial=0), kept="derived")
        self.bound = self._bound(actor.sampler.bound)
        items = -(-actor.group.size // 4) * shape.widest
        self.threads = min(max(-(-items // 32) * 32, 32), 256)
        world.when_sealed(self._find)

    @property
    def flop(self) -> int:
        """Operations of the products that an env's agents need; none of a group that acts at random."""
        weights = sum(inputs * outputs for inputs, outputs in self.shape.products)
        return 0 if self.shape is _NO_NETWORK else 2 * weights * self.actor.group.size

    def _bound(self, given: dict[str, str]) -> dict[str, str]:
        kind = "numbers" if self._in_box else "choices"
        own = {"weights": self._weights, "players": self._players, "outputs": self.actor.sampler.context.outputs}
        shared = ("observations", "head_sizes", "log_stds", "box", "rollout_observations", "rollout_log_probs")
        own |= {name: given[name] for name in (*shared, "rollout_action_mask") if name in given}
        own[kind] = given["actions"]
        if self.actor.memory is not None:
            own |= {"state": self.actor.memory.state_name, "values": self.actor.memory.values_name}
        if self._records:
            own[f"rollout_{kind}"] = given["rollout_actions"]
        if self.actor.sampler.masked:
            own["action_mask"] = "action_mask"
        else:
            own.pop("rollout_action_mask", None)
        return own

    @property
    def _records(self) -> bool:
        return self.actor.sampler.kernel == "sample"

    def constants(self) -> dict[str, float]:
        """Constants of the kernel for this group."""
        shape, sampler = self.shape, self.actor.sampler
        own = {
            "AGENTS": self.actor.group.size,
            "FEATURES": shape.widths[0],
            "HIDDEN_1": shape.hidden[0],
            "HIDDEN_2": shape.hidden[1],
            "OUTPUTS": self.actor.distribution.num_outputs,
            "IS_RELU": shape.activation == "relu",
            "NORMALISES": shape.normalises,
            "IS_GREEDY": sampler.kernel == "act_greedily",
            "RECORDS": self._records,
            "IS_MASKED": sampler.masked,
            "IS_IN_BOX": self._in_box,
            "IS_RANDOM": shape is _NO_NETWORK,
            "KERNEL": sampler.context.index,
        }
        if (memory := shape.memory) is not None:
            own |= {"CELL": _CELLS.index(memory.cell), "MEMORY": memory.size, "MEMORY_LAYERS": memory.num_layers}
            own |= {"HAS_VALUE": memory.has_value, "SCALES_VALUES": memory.scales_values}
        return {**_ABSENT, **{name: sampler.settings[name] for name in _ABSENT if name in sampler.settings}, **own}

    def _find(self) -> None:
        self._packer = Packer(self.shape, self._world[self._weights])

    def begin(self) -> list[tuple[Player, Seen, torch.Tensor]]:
        """Take in who plays where, and their weights; returns those whose outputs torch is to write."""
        policies: list[Policy] = []
        others: list[tuple[Player, Seen, torch.Tensor]] = []
        self.forgetting = None
        self.actor.scripts.take(self.actor.playing)
        for player, seen, outputs in self.actor.playing:
            row = self._row(player, policies)
            self._world[self._players][seen.envs].fill_(row)
            if row < 0:
                self.forgetting = self.actor.memory
            if needs_torch(player) and (not isinstance(player, Policy) or player not in policies):
                others.append((player, seen, outputs))
        if policies:
            self._packer.pack(policies)
        if self._in_box and others:
            self.actor.sampler.take(getattr(self.actor.policy, "distribution", None))
        return others

    def _row(self, player: Player, policies: list[Policy]) -> int:
        """The row of a player's weights, which are packed next where they are not yet; -1 for one without."""
        if self._in_box and (player is None) != (self.shape is _NO_NETWORK):
            raise StoreError(
                f"group '{self.actor.group.name}' acts in a Box by a kernel that was made for "
                f"{'a policy' if player is None else 'a random player'}; set trainer.fused to false to exchange the two"
            )
        if player is None and self.actor.memory is not None:
            return -1  # what its agents remember stays as it is
        if player is None:
            return 1 + len(self.actor.slots)  # the last row, of zeros: whatever is allowed is equally likely
        if not isinstance(player, Policy) or shape_of(player) != self.shape:
            return -1
        known = next((row for row, policy in enumerate(policies) if policy is player), None)
        if known is None:
            policies.append(player)
        return len(policies) - 1 if known is None else known
