"""Objects of C++ classes that hold the state of envs: made, stepped, saved, loaded, copied and destroyed."""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete

from tests.resuming import assert_a_cut_changes_nothing
from warpworld import Environment, Group, World
from warpworld.config import config_from_dict
from warpworld.environment import register
from warpworld.errors import BindError, BuildError, DeclarationError, DeviceError, KernelError, StoreError
from warpworld.policies import Policy
from warpworld.trainers.searching.simulation import LearntRewards, Simulation

pytestmark = pytest.mark.cpu_backend

# What an env counts: its steps by action, in a map, with a generator of its own.
CLASS = """
#include <map>
#include <stdexcept>
#include <string.h>

class Tally {
 public:
  Tally() {}
  ~Tally() {}
  void begin(uint32_t seed) { generator = seed; }
  float act(int action) {
    ++counts[action];
    // HERE
    generator = 1664525u * generator + 1013904223u;
    return (float)(counts[action] % 5) + (float)(generator >> 24) / 256.0f;
  }
  size_t size() const { return sizeof generator + 8 * counts.size(); }
  void save(uint8_t* to) const {
    memcpy(to, &generator, sizeof generator);
    to += sizeof generator;
    for (auto [action, count] : counts) { memcpy(to, &action, 4); memcpy(to + 4, &count, 4); to += 8; }
  }
  void load(const uint8_t* from, size_t size) {
    const uint8_t* end = from + size;
    memcpy(&generator, from, sizeof generator);
    counts.clear();
    for (from += sizeof generator; from < end; from += 8) {
      int action, count;
      memcpy(&action, from, 4);
      memcpy(&count, from + 4, 4);
      counts[action] = count;
    }
  }
  std::map<int, int> counts;
 private:
  uint32_t generator = 0;
};
"""
KERNELS = """
#include <resident.hpp>
#include "tally.hpp"
RESIDENT(Tally);

extern "C" __global__ void step(const uint64_t* residents, const int* actions, const int* timestep, float* observations,
                                float* rewards, bool* truncated) {
  if (!is_active()) return;
  const int env = env_id();
  if (agent_id() == 0) rewards[env * NUM_AGENTS] = resident(residents).act(actions[env * NUM_AGENTS]);
  sync_env();
  observations[agent_index()] = rewards[env * NUM_AGENTS] / 5.0f;
  rewards[agent_index()] = rewards[env * NUM_AGENTS];
  truncated[env] = timestep[env] >= 9;
}

extern "C" __global__ void reset(const uint64_t* residents, float* observations) {
  if (!is_active()) return;
  if (agent_id() == 0) resident(residents).begin(Random::env().bits());
  observations[agent_index()] = 0.0f;
}
"""
PLAIN = """
struct Tally {
  int counts[3] = {};
  void begin(uint32_t) {}
  float act(int a) { return (float)(++counts[a] % 7); }
};
"""


class Tallies(Environment):
    """Agents of which the first one's actions count."""

    devices = ("cpu",)
    resident_bytes = 64
    num_agents = 1

    def groups(self) -> list[Group]:
        return [Group("agent", self.num_agents, observation=Box(0.0, 2.0, (1,)), action=Discrete(3))]


Make = Callable[..., World]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Makes worlds of Tallies, with other texts or attributes."""

    def make(
        cpp: str = CLASS, kernels: str = KERNELS, num_envs: int = 6, device: str = "auto", **attributes: Any
    ) -> World:
        (tmp_path / "tally.hpp").write_text(f"#pragma once\n#include <stdint.h>\n{cpp}")
        (tmp_path / "tally.cu").write_text(kernels)
        cls = type("Tallies", (Tallies,), {"source": str(tmp_path / "tally.cu"), **attributes})
        return World(cls(), num_envs, device=device, seed=5)

    return make


def course(world: World, steps: int = 25) -> torch.Tensor:
    """(steps, envs) rewards of actions that are always the same."""
    generator, found = np.random.default_rng(3), []
    for _ in range(steps):
        actions = generator.integers(0, 3, world.num_envs)
        world["actions"][...] = torch.from_numpy(actions.astype(np.int32)).reshape(-1, 1, 1)
        world.step()
        found.append(world["rewards"][:, 0].clone())
    return torch.stack(found)


def begun(world: World) -> World:
    """The world after some steps, so that objects differ."""
    world.reset()
    course(world, 7)
    return world


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize(("cpp", "agents"), [(CLASS, 1), (CLASS, 3), (PLAIN, 1)])
def test_states_hold_the_objects(make: Make, cpp: str, agents: int) -> None:
    world = begun(make(cpp, num_agents=agents))
    states, snapshot, copied = world.state(), world.snapshot(), copy.deepcopy(world)
    expected = course(world)
    assert torch.equal(course(copied), expected)
    world.set_state([5, 0, 1, 2, 3, 4], states[[5, 0, 1, 2, 3, 4]])
    assert torch.equal(course(world), expected)
    world.restore(snapshot)
    assert torch.equal(course(world), expected)
    other = begun(make(cpp, num_agents=agents))
    other.restore(snapshot)
    assert torch.equal(course(other), expected)


@pytest.mark.heavy
@pytest.mark.long
def test_a_fork_has_an_object_of_its_own(make: Make) -> None:
    world = begun(make())
    before = world.state([1, 2, 3, 4, 5])
    world.fork(0, [2, 4])
    forked = world.state()
    assert torch.equal(forked[[2, 4]], forked[[0, 0]])
    assert torch.equal(forked[[1, 3, 5]], before[[0, 2, 4]])
    found = course(world)
    assert not torch.equal(found[:, 0], found[:, 2])  # by other actions


class Level:
    """A policy that finds all choices and positions alike."""

    def outputs_and_values(self, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.zeros(len(seen), 3), torch.zeros(len(seen))


@pytest.mark.heavy
@pytest.mark.long
def test_a_search_begins_where_the_objects_stand(make: Make) -> None:
    world, policy = begun(make()), cast("Policy", Level())
    simulation = Simulation(world, [world.groups["agent"]], 3, 1.0, LearntRewards())
    actions = np.array([0, 1, 2, 2, 1, 0])
    for _ in range(2):
        simulation.begin(policy)
        found = simulation.step(policy, np.zeros(6, np.int64), actions).rewards
        world["actions"][...] = torch.from_numpy(actions.astype(np.int32)).reshape(-1, 1, 1)
        world.step()
        assert found.tolist() == world["rewards"][:, 0].tolist()


@pytest.mark.heavy
@pytest.mark.long
def test_a_training_resumes_bit_for_bit(make: Make, tmp_path: Path) -> None:
    register("tallies")(type(make().environment))
    trainer = {"num_envs": 4, "num_steps": 8, "total_env_steps": 192, "seed": 3}
    config = config_from_dict({"name": "tallies", "trainer": trainer, "policy": {"agent": {}}, "saving": {}})
    assert_a_cut_changes_nothing(config, tmp_path, after=3)


@pytest.mark.heavy
@pytest.mark.long
def test_objects_are_destroyed_once(make: Make, tmp_path: Path) -> None:
    log = tmp_path / "log"
    note = f'inline void note(const char* t) {{ FILE* f = fopen("{log}", "a"); fputs(t, f); fclose(f); }}'
    counted = CLASS.replace("~Tally() {}", '~Tally() { note("-"); }').replace(
        "  Tally() {}", '  Tally() { note("+"); }'
    )
    world = make(f"#include <stdio.h>\n{note}\n{counted}")
    world.reset()
    world.close()
    world.close()
    forgotten = make(f"#include <stdio.h>\n{note}\n{counted}")
    forgotten.reset()
    del forgotten, world
    gc.collect()
    written = log.read_text()
    assert written.count("+") == written.count("-") > 12


HERE = "// HERE"
THROWS = {
    "its own": ('if (counts[action] == 4) throw std::out_of_range("four");', "tally.hpp:15", "std::out_of_range: four"),
    "a library's": ("if (counts[action] == 4) counts.at(9);", "tally.cu:6", "std::out_of_range: map::at"),
    "a number": ("if (counts[action] == 4) throw 3;", "tally.hpp:15", "an exception that is no std::exception"),
}


SCHEDULERS = {
    "loop": (1, KERNELS),
    "ring": (3, KERNELS),
    "warps": (3, KERNELS.replace("sync_env();", "__syncwarp();\n  sync_env();")),
}


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "scheduler"), [*(("its own", each) for each in SCHEDULERS), ("a library's", "loop"), ("a number", "loop")]
)
def test_an_exception_is_an_error_with_env_and_line(make: Make, kind: str, scheduler: str) -> None:
    code, place, text = THROWS[kind]
    agents, kernels = SCHEDULERS[scheduler]
    world = make(CLASS.replace(HERE, code), kernels, num_agents=agents)
    world.reset()
    with pytest.raises(KernelError, match=rf"{place}: kernel 'step', env \d, agent 0: {text}$"):
        course(world)


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "load": (
        {"cpp": CLASS.replace("counts[action] = count;", "")},
        KernelError,
        r"tally\.cu:4: .*env \d, agent 0: std::runtime_error: load\(\) does not restore .*: 28 bytes became 4",
    ),
    "load at the start": (
        {"cpp": CLASS.replace("memcpy(&generator, from, sizeof generator);", "")},
        KernelError,
        r"tally\.cu:4: .*env \d, agent 0: std::runtime_error: load\(\) does not restore .*: byte \d of 4 differs",
    ),
    "bytes": (
        {"resident_bytes": 3},
        KernelError,
        r"tally\.cu:4: .*the object saves 4 bytes, more than resident_bytes=3; declare as many as it can need",
    ),
    "constructor": (
        {"cpp": CLASS.replace("Tally() {}", 'Tally() { throw std::runtime_error("no ROM"); }', 1)},
        KernelError,
        r"tally\.hpp:10: kernel 'make_residents', env \d, agent 0: std::runtime_error: no ROM",
    ),
    "header": ({"cpp": f"#include <no/such.h>\n{CLASS}"}, BuildError, "neither beside the file nor in include_folders"),
    "library": ({"link_flags": ("-lnosuch",)}, BuildError, r"tally\.cu: the linker says: cannot find -lnosuch"),
    "symbol": (
        {"cpp": 'extern "C" int there_is_none(int);\n' + CLASS.replace(HERE, "there_is_none(3);")},
        BuildError,
        r"tally\.hpp:3: 'there_is_none' is declared and not defined: .* or name its library in link_flags",
    ),
}

MISDECLARED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "folder": (
        {"include_folders": ("/no/such",)},
        DeclarationError,
        "include_folders has '/no/such', which is no folder",
    ),
    "word": ({"link_flags": "-lz"}, DeclarationError, r"link_flags='-lz', expected a tuple of text"),
    "device": (
        {"device": "cuda"},
        DeviceError,
        r"C\+\+ that only a CPU can run.*tally\.cu.*Ask for device 'cpu' or 'auto'",
    ),
    "number": ({"link_flags": 5}, DeclarationError, r"link_flags=5, expected a tuple of text"),
    "devices": ({"devices": ("gpu",)}, DeclarationError, r"devices=\('gpu',\), expected \('cpu', 'cuda'\)"),
    "both": ({"devices": ("cpu", "cuda")}, DeclarationError, r"resident_bytes is for C\+\+ that only a CPU can run"),
    "size": ({"resident_bytes": -1}, DeclarationError, "resident_bytes=-1, expected a whole number"),
    "no class": ({"kernels": KERNELS.replace("RESIDENT(Tally);", "")}, BindError, r"write RESIDENT\(Class\);"),
    "no bytes": ({"resident_bytes": 0}, BindError, "declare resident_bytes"),
}


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_costs_a_line(make: Make, kind: str) -> None:
    arguments, error, message = WRONG[kind]
    with pytest.raises(error, match=message):
        begun(make(**arguments)).state()


@pytest.mark.parametrize("kind", MISDECLARED)
def test_what_is_declared_wrongly_costs_a_line(make: Make, kind: str) -> None:
    arguments, error, message = MISDECLARED[kind]
    with pytest.raises(error, match=message):
        make(**arguments)


@pytest.mark.heavy
@pytest.mark.long
def test_a_world_whose_objects_cannot_be_made_is_closed(make: Make) -> None:
    world = make(CLASS.replace("Tally() {}", 'Tally() { throw std::runtime_error("no ROM"); }', 1))
    with pytest.raises(KernelError):
        world.reset()
    with pytest.raises(StoreError, match="the world is closed"):
        world.step()
