"""Checks of envs that have objects of a C++ class: the store is watched, and what objects save is compared."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from gymnasium.spaces import Box, Discrete

from warpworld import Environment, Group
from warpworld.checking import Report, check
from warpworld.errors import BuildError

pytestmark = [pytest.mark.cpu_backend, pytest.mark.heavy, pytest.mark.long]

SOURCE = """
#include <resident.hpp>
#include <map>
class Game {  /* a comment
                 of two lines */
 public:
  void act(unsigned agent, unsigned action) {
    mixed = 3 * mixed + action, ++moves[agent];
    // ACT
  }
  void show(float* seen) const {
    seen[0] = (float)moves.size();
    // SHOW
  }
  size_t size() const { return sizeof mixed + sizeof(unsigned) * moves.size(); }
  void save(uint8_t* to) const {
    memcpy(to, &mixed, sizeof mixed);
    unsigned* counts = (unsigned*)to;
    for (auto [agent, count] : moves) *++counts = count;
  }
  void load(const uint8_t* from, size_t size) {
    memcpy(&mixed, from, sizeof mixed);
    moves.clear();
    for (unsigned i = 1; i < size / 4; ++i) moves[i - 1] = ((const unsigned*)from)[i];
  }
 private:
  unsigned mixed = 0;
  std::map<unsigned, unsigned> moves;
};
RESIDENT(Game);

extern "C" __global__ void step(const uint64_t* residents, const int* actions, float* observations) {
  if (!is_active()) return;
  if (agent_id() == 0)  // ALL
    for (int i = 0; i < NUM_AGENTS; ++i) resident(residents).act(i, actions[env_id() * NUM_AGENTS + i]);
  sync_env();
  resident(residents).show(observations + agent_index());
}

extern "C" __global__ void reset(const uint64_t* residents, float* observations) {
  if (!is_active()) return;
  resident(residents).show(observations + agent_index());
}
"""
EACH = """  resident(residents).act(agent_id(), actions[agent_index()]);
"""


class Games(Environment):
    """Three agents act on the object of their env."""

    devices = ("cpu",)
    resident_bytes = 64

    def groups(self) -> list[Group]:
        return [Group("agent", 3, observation=Box(0.0, 3.0, (1,)), action=Discrete(2))]


def checked(folder: Path, old: str = "", new: str = "", **attributes: Any) -> Report:
    """The report on the games with a part of their source replaced."""
    assert old in SOURCE
    path = folder / "games.cu"
    path.write_text(SOURCE.replace(old, new, 1) if old else SOURCE)
    return check(type("Games", (Games,), {"source": str(path), **attributes})(), steps=20)


def test_a_correct_class_is_clean_and_the_report_names_it(tmp_path: Path) -> None:
    report = checked(tmp_path)
    assert report.findings == () and not report.stopped
    (state,) = report.not_followed
    line = SOURCE[: SOURCE.index("RESIDENT")].count("\n") + 1
    assert str(state) == (
        f"{tmp_path / 'games.cu'}:{line}: the check compares what objects of 'Game' save, and does not watch their "
        "memory: try the class with AddressSanitizer"
    )
    assert {each.kernel for each in report.coverage} == {"step", "reset"}


FAULTS: dict[str, tuple[str, str, str, str]] = {
    "order": (
        SOURCE[SOURCE.index("  if (agent_id() == 0)  // ALL") : SOURCE.index("  sync_env")],
        EACH,
        "order",
        r"resident_state\[env \d, 0\] is \d+, but \d+ when agents run \w+; let the outcome not depend on which agent "
        r"comes first: let agent 0 call what changes an object, and sync_env\(\) before others look",
    ),
    "bounds": ("    // SHOW", "    ((float*)seen)[20] = 1.0f;", "out-of-bounds", "writes 'observations' of shape"),
    "race": (
        "  sync_env();\n",
        "  observations[env_id() * NUM_AGENTS] = (float)agent_id();\n",
        "race",
        r"writes observations\[env 0, agent 0, 0\]",
    ),
    "shared": ("    // ACT", "    static unsigned all = 0;\n    mixed += ++all;", "", "'all', a static variable"),
    "exception": ("    // ACT", "    moves.at(9);", "fault", r"agent 0: std::out_of_range: map::at"),
    "load": (
        "    memcpy(&mixed, from, sizeof mixed);\n",
        "",
        "fault",
        r"try_residents.*load\(\) does not restore what save\(\) wrote",
    ),
}


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind) for kind in FAULTS])
def test_faults_are_found(tmp_path: Path, kind: str) -> None:
    old, new, found, message = FAULTS[kind]
    report = checked(tmp_path, old, new)
    lines = [f"{each.message}; {each.advice}" for each in report.findings if each.kind == found]
    lines += [] if found else map(str, report.not_followed)
    assert any(re.search(message, line) for line in lines), str(report)


def test_its_libraries_are_linked(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="the linker says: cannot find -lnosuch"):
        checked(tmp_path, link_flags=("-lnosuch",))
