"""An environment of another library as an Environment: ``name: external``, trained and evaluated like any other."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Box

from warpworld.adapters.external.calls import Envs, Observations
from warpworld.adapters.external.libraries import get_opener
from warpworld.adapters.external.parts import Parts, ranges_of
from warpworld.adapters.external.states import StateError
from warpworld.adapters.external.trying import room_for, tried
from warpworld.environment import (
    Environment,
    Group,
    Phase,
    action_names,
    eager_phase,
    group_suffix,
    is_whole,
    leaves,
    observation_names,
    placed_groups,
    register,
    space_actions,
)
from warpworld.errors import DeclarationError, StoreError

if TYPE_CHECKING:
    import torch

_SEEDS = 2**31  # libraries take seeds below it
_NEW, _BEGUN = b"n", b"b"  # in front of states: taken before the first reset, or after it
_TRIED: dict[tuple[str, str, str], tuple[str, int]] = {}  # by library, id and options: what a trial found of states


@register("external")
class External(Environment):
    """Envs of another library. Where their states can be taken, the world has them, and a run resumes exactly."""

    @dataclass(frozen=True)
    class Params:
        """Library, environment and options.

        A ``module:function`` takes num_envs and options, and returns a ``gymnasium.vector.VectorEnv``.
        """

        library: str = "gymnasium"  # or envpool, ale, pettingzoo, module:function
        id: str = ""  # its name there: Acrobot-v1, Pong-v5, pong, mpe2.simple_spread_v3
        options: dict[str, Any] = field(default_factory=dict)  # what the library makes it with
        parts: int = 1  # in which its envs step, one while a trainer's policies act for the next; 2 is double buffering
        state_bytes: int = 0  # room for the state of an env; 0 measures it at the start

        def __post_init__(self) -> None:
            if self.parts < 1:
                raise DeclarationError(
                    f"external: parts={self.parts}, expected at least 1, which steps all envs at once"
                )
            if self.state_bytes < 0:
                raise DeclarationError(
                    f"external: state_bytes={self.state_bytes}, expected the most bytes of an env's state, or 0"
                )

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        given = self.params
        key = (given.library, given.id, repr(given.options))
        trial = tried(lambda: self._opened(1, 0), _TRIED.get(key))
        _TRIED[key] = trial.stateless, trial.nbytes
        self._groups, self.requested = trial.groups, trial.requested
        self.resumable, self.why_not_resumable = not trial.stateless, trial.stateless
        if self.resumable:
            self.outside_bytes = given.state_bytes or room_for(trial.nbytes)
        self._places = _places(placed_groups(self))
        self._taken = {group.name: [space for _, space in leaves(group.callers_action)] for group in self._groups}
        self._envs: Envs | None = None
        self._parts: Parts | None = None  # the same, if they are several
        self._num_envs, self._seed, self._has_begun = 0, 0, False

    def _opened(self, num_envs: int, seed: int) -> Envs:
        given = self.params
        return get_opener(given.library)(given.id, given.options, num_envs, seed)

    def groups(self) -> Sequence[Group]:
        """Groups as the library defines them."""
        return self._groups

    def open(self, num_envs: int, first_env: int, seed: int) -> None:
        """Make the library's envs; env i has the seed ``seed + first_env + i``."""
        if self._envs is not None:
            raise DeclarationError("external: its envs belong to a world already; make another External for this one")
        self._num_envs, self._seed = num_envs, (seed + first_env) % _SEEDS
        if self.params.parts == 1:
            self._envs = self._opened(num_envs, self._seed)
            return
        self.parts = ranges_of(num_envs, self.params.parts)
        self._parts = Parts(
            lambda envs: self._opened(envs.stop - envs.start, (self._seed + envs.start) % _SEEDS), self.parts
        )
        self._envs = self._parts

    def close(self) -> None:
        """Close the library's envs."""
        if self._envs is not None:
            self._envs.close()
        self._envs, self._parts, self._has_begun = None, None, False

    def __deepcopy__(self, memo: dict[int, Any]) -> External:
        """Declare the same envs for another world, which gets their states; refused where these cannot be taken."""
        if self._envs is not None and not self.resumable:
            raise DeclarationError(
                f"external: envs of another library are not copied, since {self.why_not_resumable}; make another "
                "External"
            )
        return type(self)(**copy.deepcopy(vars(self.params), memo))

    def save_envs(self, envs: Sequence[int]) -> list[bytes]:
        """Take states of the library's envs."""
        assert self._envs is not None
        mark = _BEGUN if self._has_begun else _NEW
        try:
            return [mark + state for state in self._envs.save(envs)]
        except StateError as error:
            if not self._has_begun:  # an env that cannot say it yet begins by a reset with its seed
                return [b""] * len(envs)
            raise StoreError(f"{self._where}: the state of an env cannot be taken any more: {error}") from error

    def load_envs(self, envs: Sequence[int], states: Sequence[bytes]) -> None:
        """Put states back; of those from before the first reset, the next reset begins the first episodes."""
        assert self._envs is not None
        marks, given = {state[:1] for state in states} or {b""}, [state[1:] for state in states]
        if len(marks) > 1 or not marks <= {b"", _NEW, _BEGUN} or (marks != {_BEGUN} and len(envs) < self._num_envs):
            raise StoreError(
                f"{self._where}: states from before the first reset are put back into all envs at once alone"
            )
        if marks == {b""}:
            self._has_begun = False
            return
        if not self._has_begun and marks == {_BEGUN}:  # so that there is something that takes them
            self._envs.reset(self._seed)
        self._has_begun = marks == {_BEGUN}
        try:
            self._envs.load(envs, given)
        except StateError as error:
            raise StoreError(f"{self._where}: a state cannot be put back: {error}") from error

    @property
    def _where(self) -> str:
        """Library and environment, for messages."""
        given = self.params
        return f"external: {given.library}{given.id and repr(given.id).join((' ', ''))}"

    def phases(self) -> Sequence[Phase]:
        """A step of the library."""
        return [self.step]

    def resets(self) -> Sequence[Phase]:
        """The library's first observations of new episodes."""
        return [self.begin]

    def begin_part(self, arrays: Any, number: int) -> None:
        """Let a part step in its thread; the phase waits for it."""
        assert self._parts is not None
        self._parts.start(number, self._actions(arrays, self.parts[number]))

    @eager_phase
    def step(self, arrays: Any, active: torch.Tensor) -> None:
        """Pass actions to the library, and write its results into the store."""
        import torch

        assert self._envs is not None  # a world opens it before its first step
        outcome = self._envs.step(self._actions(arrays))
        # observations and legal actions
        self._show(arrays, outcome.observations, None)
        self._allow(arrays, None)
        # rewards and ends
        _write(arrays["rewards"], outcome.rewards)
        _write(arrays["terminated"], outcome.terminated)
        _write(arrays["truncated"], outcome.truncated)
        # agents that took no part, or ended alone
        if outcome.agent_mask is not None:
            _write(arrays["agent_mask"], outcome.agent_mask)
            made = torch.from_numpy(outcome.agent_mask.any(axis=1))
            arrays["timestep"] -= (~made).to(arrays["timestep"])  # a step without agents does not count
        for name in ("agent_terminated", "agent_truncated"):
            flags = getattr(outcome, name)
            if flags is not None:
                _write(arrays[name], flags)

    @eager_phase
    def begin(self, arrays: Any, active: torch.Tensor) -> None:
        """First observations of new episodes."""
        assert self._envs is not None
        envs = active.cpu().numpy()
        if not envs.any():
            return
        if self._has_begun:
            observations = self._envs.begin(envs)
        else:
            observations, self._has_begun = self._envs.reset(self._seed), True
        self._show(arrays, observations, active)
        self._allow(arrays, active)

    def _actions(self, arrays: Any, envs: slice = slice(None)) -> dict[str, np.ndarray]:
        """Each group's actions in a range of envs; where a library's Box is not of float32, the store gets its."""
        rows: dict[str, list[np.ndarray]] = {name: [] for name in self._taken}
        for place in self._places:
            if place.key is None:
                view, parts = place.of(arrays)[envs], rows[place.group]
                space = self._taken[place.group][len(parts)]
                if isinstance(space, Box) and space.dtype != np.float32:
                    _write(view, held_actions(space, view.cpu().numpy()))
                parts.append(view.cpu().numpy())
        return {name: parts[0] if len(parts) == 1 else np.concatenate(parts, -1) for name, parts in rows.items()}

    def _allow(self, arrays: Any, envs: torch.Tensor | None) -> None:
        """Write the legal choices into the store, of the envs that are marked or of all."""
        assert self._envs is not None
        legal = self._envs.action_mask
        if legal is not None and "action_mask" in self.requested:
            _write(arrays["action_mask"], legal, envs)

    def _show(self, arrays: Any, observations: Observations, envs: torch.Tensor | None) -> None:
        """Write observations into the store, of the envs that are marked or of all."""
        for place in self._places:
            if place.key is not None:
                values = observations[place.group]
                _write(place.of(arrays), values[place.key] if place.key else values, envs)


@dataclass(frozen=True)
class _Place:
    """Place of a part of a group's actions (``key`` is None), or of its observations, in the store."""

    group: str
    key: str | None
    array: str
    agents: slice

    def of(self, arrays: Any) -> torch.Tensor:
        """The part: (num_envs, group size, ...)."""
        return arrays[self.array][:, self.agents]


def held_actions(space: Box, stored: np.ndarray) -> np.ndarray:
    """The actions that a library takes, (num_envs, agents, numbers), as far as float32 holds them.

    Where it does not hold a whole number, such as a bound, the store's number stays, from which that follows.
    """
    given = stored.reshape(-1, stored.shape[-1])
    taken = space_actions(space, given).reshape(given.shape)
    held = taken.astype(np.float32)
    if is_whole(space):
        held = np.where(space_actions(space, held).reshape(given.shape) == taken, held, given)
    return held


def _places(groups: Mapping[str, Group]) -> list[_Place]:
    places = []
    for name, group in groups.items():
        suffix = group_suffix(groups, group, "actions")
        own = slice(None) if suffix else group.slice
        places += [_Place(name, None, array, own) for array in action_names(groups, group).values()]
        suffix = group_suffix(groups, group, "observations")
        for key, array in observation_names(groups, group).items():
            places.append(_Place(name, key, array, slice(None) if suffix else group.slice))
    return places


def _write(view: torch.Tensor, values: np.ndarray, envs: torch.Tensor | None = None) -> None:
    """Copy values into a view of the store, in its dtype and shape."""
    import torch

    shaped = np.asarray(values).reshape(view.shape)
    if view.device.type == "cpu":  # NumPy copies on this thread alone, which costs less than to wake others
        np.copyto(view.numpy(), shaped, casting="unsafe", where=True if envs is None else _along(envs.numpy(), shaped))
        return
    given = torch.from_numpy(np.ascontiguousarray(shaped)).to(view.device).to(view.dtype)
    view.copy_(given if envs is None else torch.where(_along(envs, given), given, view))


def _along(envs: Any, values: Any) -> Any:
    """A mask of envs in a shape that broadcasts against values (num_envs, ...)."""
    return envs.reshape(-1, *[1] * (values.ndim - 1))
