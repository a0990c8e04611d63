"""A trace holds what the world's arrays held, number for number, and tells episodes apart."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import warpworld
from tests.toys import HEADER, agents, box, environment
from tests.trainers.collecting.seen_in_kinds import SeenAs
from warpworld import Array, Group, Trace, World
from warpworld.checking.tracing.tables import CsvTable
from warpworld.errors import DeclarationError, KernelError, RunError, StoreError

KERNELS = """
extern "C" __global__ void step(float* x, double* exact, float2* velocity, int* grid, bool* odd, uint64_t* large,
                                float* rewards, float* observations, const int* timestep, bool* terminated,
                                bool* truncated, const int* fault) {
  if (!is_active()) return;
  const int i = agent_index(), env = env_id();
  Random random = Random::agent();
  x[i] = random.uniform() / 3.0f;
  exact[i] = (double)random.bits() / 7.0;
  velocity[i] = make_float2(random.uniform(), -random.normal());
  odd[i] = random.bits() & 1u;
  rewards[i] = (float)timestep[env] + 0.1f;
  observations[i] = 100.0f + x[i];
  if (agent_id() == 0) {
    large[env] = ~(uint64_t)timestep[env];
    for (int cell = 0; cell < 6; cell++) grid[env * 6 + cell] = timestep[env] * 10 + cell;
    if (env == 1) terminated[env] = timestep[env] == 3;
    if (env == 2) truncated[env] = timestep[env] == 2;
    if (fault[0] && env == 1 && timestep[env] == fault[0]) __trap();
  }
}
extern "C" __global__ void reset(float* x, float* observations) {
  if (!is_active()) return;
  x[agent_index()] = -1.0f;
  observations[agent_index()] = -2.0f;
}
"""
ARRAYS = [
    *(Array("x", "float32"), Array("exact", "float64", initial=0.0), Array("velocity", "float32", (2,), initial=0.0)),
    *(Array("odd", "bool", initial=False), Array("grid", "int32", (2, 3), per="env", initial=0)),
    Array("large", "uint64", per="env", initial=0),
    *(Array("fault", "int32", (1,), per="world", initial=0), Array("table", "float16", (2,), per="world", initial=0.1)),
]
NUMBERS = ("x", "exact", "velocity", "odd", "large", "grid", "rewards", "terminated", "truncated", "clock")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file for all tests, so that it is compiled once."""
    path = tmp_path_factory.mktemp("traced") / "traced.cu"
    path.write_text(HEADER + KERNELS)
    return path


@pytest.fixture
def world(source: Path) -> World:
    return World(environment(source, ARRAYS, [agents(2, "fox"), agents(1, "hen")]), 3, seed=5)


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def cells(row: dict[str, str], name: str, dtype: Any) -> np.ndarray:
    """The numbers of an array in a row."""
    texts = [text for column, text in row.items() if column == name or column.startswith(f"{name}[")]
    return np.array([dtype(int(text) if np.dtype(dtype).kind in "iub" else text) for text in texts])


def stepped(world: World, trace: Trace, steps: int) -> Iterator[int]:
    """Steps, each written."""
    world.reset()
    trace.reset()
    for step in range(1, steps + 1):
        world.step()
        trace.step()
        yield step


@pytest.mark.parametrize("env", [0, 1, 2])
def test_every_number_is_that_of_the_world(world: World, env: int, tmp_path: Path) -> None:
    with Trace(world, env, tmp_path / "trace.csv") as trace:
        seen = [{name: world.data.numpy(name)[env].copy() for name in NUMBERS} for _ in stepped(world, trace, 8)]
    read = rows(trace.path)
    assert len(read) == trace.rows
    for step, arrays in enumerate(seen, start=1):
        of_step = [row for row in read if row["step"] == str(step) and row["event"] == "step"]
        assert [(row["agent"], row["group"]) for row in of_step] == [("0", "fox"), ("1", "fox"), ("2", "hen")]
        ended = bool(arrays["terminated"] | arrays["truncated"])
        for agent, row in enumerate(of_step):
            for name in NUMBERS:
                if ended and name not in ("rewards", "terminated", "truncated", "clock"):
                    continue  # has been reset in the same step
                own = arrays[name][agent] if world.data.array(name).per == "agent" else arrays[name]
                np.testing.assert_array_equal(cells(row, name, own.dtype.type), own.ravel(), err_msg=name)
            np.testing.assert_array_equal(cells(row, "table", np.float16), np.full(2, 0.1, np.float16))
        reset = [row for row in read if row["step"] == str(step) and row["event"] == "reset"]
        assert len(reset) == 3 * ended
        for agent, row in enumerate(reset):
            assert float(row["x"]) == arrays["x"][agent] == -1.0


def test_the_last_step_of_an_episode_shows_what_it_left_and_not_the_reset(world: World, tmp_path: Path) -> None:
    with Trace(world, 1, tmp_path / "trace.csv") as trace:
        assert list(stepped(world, trace, 7)) == [1, 2, 3, 4, 5, 6, 7]
    read = [row for row in rows(trace.path) if row["agent"] == "2"]
    story = [(row["step"], row["episode"], row["event"], row["timestep"], row["terminated"]) for row in read]
    assert story == [
        ("0", "1", "reset", "0", ""),
        *((str(step), "1", "step", str(step), str(int(step == 3))) for step in (1, 2, 3)),
        ("3", "2", "reset", "0", ""),
        *((str(step), "2", "step", str(step - 3), str(int(step == 6))) for step in (4, 5, 6)),
        ("6", "3", "reset", "0", ""),
        ("7", "3", "step", "1", "0"),
    ]
    last = read[3]
    assert [last[f"grid[{i}][{j}]"] for i in range(2) for j in range(3)] == ["30", "31", "32", "33", "34", "35"]
    assert float(last["observations[0]"]) == pytest.approx(100.0 + float(last["x"]), abs=1e-5)
    assert [row["rewards"] for row in read[:3]] == ["", "1.1", "2.1"]
    assert (read[0]["x"], read[4]["x"], read[4]["actions[0]"]) == ("-1.0", "-1.0", "")


def test_numpy_reads_it(world: World, tmp_path: Path) -> None:
    with Trace(world, 0, tmp_path / "trace.csv") as trace:
        x = [world.data.numpy("x")[0].copy() for _ in stepped(world, trace, 6)]
    table = np.genfromtxt(trace.path, delimiter=",", names=True, dtype=None, encoding="utf-8", deletechars="")
    steps = table[table["event"] == "step"]
    np.testing.assert_array_equal(steps["x"].astype(np.float32).reshape(6, 3), np.array(x))
    assert np.nansum(table["rewards"].astype(np.float64)) == pytest.approx(3 * sum(t + 0.1 for t in range(1, 7)))


def test_a_trace_changes_nothing(world: World, tmp_path: Path) -> None:
    alone = World(world.environment, 3, seed=5)
    alone.reset()
    with Trace(world, 1, tmp_path / "trace.csv") as trace:
        for _ in stepped(world, trace, 5):
            alone.step()
    for name in alone.data:
        np.testing.assert_array_equal(world.data.numpy(name), alone.data.numpy(name))


def test_arrays_of_one_group_stand_in_its_rows(tmp_path: Path) -> None:
    source = tmp_path / "apart.cu"
    source.write_text(
        HEADER
        + 'extern "C" __global__ void step(float* observations_fox, float* observations_hen) {\n'
        + "  const int fox = group_index(FOX_FIRST, FOX_COUNT), hen = group_index(HEN_FIRST, HEN_COUNT);\n"
        + "  if (agent_id() < HEN_FIRST) observations_fox[2 * fox] = observations_fox[2 * fox + 1] = 1.0f + fox;\n"
        + "  else observations_hen[hen] = 10.0f + hen;\n}\n"
    )
    groups = [Group("fox", 2, box(2), Discrete(2)), Group("hen", 1, box(1), Box(-1.0, 1.0, (3,)))]
    world = World(environment(source, groups=groups, resets=()), 2)
    with Trace(world, 1, tmp_path / "trace.csv") as trace:
        list(stepped(world, trace, 1))
    first, second, third = rows(trace.path)[3:]
    columns = ["observations_fox[0]", "observations_fox[1]", "observations_hen[0]"]
    assert [first[name] for name in columns] == ["3.0", "3.0", ""]
    assert [second[name] for name in columns] == ["4.0", "4.0", ""]
    assert [third[name] for name in columns] == ["", "", "11.0"]
    assert [third[f"actions_hen[{i}]"] for i in range(3)] == ["0.0"] * 3
    assert (first["actions_hen[0]"], first["actions_fox[0]"], third["actions_fox[0]"]) == ("", "0", "")


def test_bytes_and_choices_are_written_as_numbers(tmp_path: Path) -> None:
    world = World(SeenAs(kind="mixed"), 2)
    with Trace(world, 1, tmp_path / "trace.csv") as trace:
        list(stepped(world, trace, 2))
    for row in rows(trace.path):
        own = int(row["x"])
        seen = [row[f"observations_{name}[0]"] for name in ("own", "place")]
        assert seen == [str(own), str(10.0 * own)]
        assert row[f"observations_eye[{row['agent']}]"] == str(36 * own)


def test_a_reset_of_ones_own_begins_an_episode(world: World, tmp_path: Path) -> None:
    with Trace(world, 0, tmp_path / "trace.csv", ["x"]) as trace:
        list(stepped(world, trace, 2))
        world.reset()
        trace.reset()
        world.step()
        trace.step()
    story = [(row["step"], row["episode"], row["event"]) for row in rows(trace.path)[::3]]
    assert story == [
        ("0", "1", "reset"),
        ("1", "1", "step"),
        ("2", "1", "step"),
        ("2", "2", "reset"),
        ("3", "2", "step"),
    ]


def test_chosen_arrays_and_names_that_are_taken(tmp_path: Path) -> None:
    def idle(arrays: Any, active: Any) -> None:
        arrays["agent"].add_(1)

    own = [Array("agent", "int32", initial=0), *(Array(name, "int8", initial=7) for name in ("agent_", "rewards_sum"))]
    world = World(environment(None, own, phases=[idle], resets=()), 1)
    with Trace(world, 0, tmp_path / "trace.csv", ["agent_", "agent", "rewards_sum"]) as trace:
        list(stepped(world, trace, 1))
    header, *table = trace.path.read_text().splitlines()
    assert header == "step,episode,event,agent,group,agent_,agent__,rewards_sum"
    assert table == [*(f"0,1,reset,{i},agent,7,0,7" for i in (0, 1)), *(f"1,1,step,{i},agent,7,1,7" for i in (0, 1))]


def test_what_is_no_number_is_told_as_such(tmp_path: Path) -> None:
    values = [np.nan, np.inf, -np.inf, -0.0, 1e-45, 0.1, 16777216.0]
    world = World(
        environment(None, [Array("v", "float32", (7,), per="world", initial=values)], phases=[], resets=()), 1, "cpu"
    )
    with Trace(world, 0, tmp_path / "trace.csv", ["v"]) as trace:
        list(stepped(world, trace, 0))
    read = cells(rows(trace.path)[0], "v", np.float32)
    assert read.tobytes() == np.array(values, np.float32).tobytes()


# ---- the file --------------------------------------------------------------------------------------------------------
def test_the_file_appears_when_it_is_whole(world: World, tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    with Trace(world, 0, path) as trace:
        assert [path.exists() for _ in stepped(world, trace, 3)] == [False] * 3
    assert len(rows(path)) == 12
    assert sorted(file.name for file in tmp_path.iterdir()) == ["trace.csv"]


def test_after_an_error_there_is_no_file(world: World, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), Trace(world, 0, tmp_path / "trace.csv") as trace:
        for _ in stepped(world, trace, 3):
            raise KeyboardInterrupt
    assert [file.name for file in tmp_path.iterdir()] == []


def test_a_fault_leaves_the_steps_before_it(world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "trace.csv"
    with (
        caplog.at_level("INFO", "warpworld.checking.tracing"),
        pytest.raises(KernelError),
        Trace(world, 1, path) as trace,
    ):
        for step in stepped(world, trace, 10):
            world["fault"] = 3 * (step == 2)
    assert rows(path)[-1]["step"] == "2"
    assert f"{path} ends with step 2, the last before the fault" in caplog.messages


def test_an_older_trace_is_replaced_and_any_other_file_is_not(world: World, tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    for steps in (5, 1):
        again = World(world.environment, 3)
        with Trace(again, 0, path) as trace:
            list(stepped(again, trace, steps))
    assert len(rows(path)) == 6
    other = tmp_path / "berries.csv"
    other.write_text("my,own\n")
    with pytest.raises(RunError, match=r"berries\.csv' is there already and is no trace; give another name, or remove"):
        Trace(world, 0, other)
    assert other.read_text() == "my,own\n"


@pytest.mark.parametrize("name", ["no/such/folder.csv", "taken/below.csv", "."])
def test_a_file_that_cannot_be_written_is_named(world: World, name: str, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")

    def write() -> None:
        with Trace(world, 0, tmp_path / name):
            pass

    with pytest.raises(RunError, match=r"cannot be written: (No such file|Not a directory|it is a folder)"):
        write()


def test_a_full_disk_is_told_with_the_files_name(world: World, tmp_path: Path) -> None:
    def write() -> None:
        with Trace(world, 0, tmp_path / "trace.csv") as trace:
            assert isinstance(trace._table, CsvTable)
            trace._table._writer = Full()
            list(stepped(world, trace, 1))

    with pytest.raises(RunError, match=r"trace\.csv' cannot be written: No space left on device"):
        write()
    assert [file.name for file in tmp_path.iterdir()] == []


class Full:
    """A disk without room."""

    def writerow(self, row: Sequence[str]) -> None:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("env", [3, -1, 1.0])
def test_an_env_that_is_not_there_is_refused(world: World, env: int, tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=r"cannot be traced: the world has envs 0 to 2"):
        Trace(world, env, tmp_path / "trace.csv")


def test_an_array_that_is_not_there_is_refused(world: World, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no array 'velocty' to trace\. Did you mean 'velocity'\? Known: .*x, exact"):
        Trace(world, 0, tmp_path / "trace.csv", ["x", "velocty"])


def test_one_name_in_the_place_of_a_list(world: World, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"arrays is 'exact'; expected a list of names, for instance \['exact'\]"):
        Trace(world, 0, tmp_path / "trace.csv", "exact")


def test_several_envs_of_one_world(world: World, tmp_path: Path) -> None:
    seen = []
    with Trace(world, 0, tmp_path / "0.csv") as first, Trace(world, 2, tmp_path / "2.csv", ["x"]) as second:
        world.reset()
        first.reset()
        for _ in stepped(world, second, 1):
            first.step()
            seen = world["x"][:, 0].tolist()
    for env, trace in ((0, first), (2, second)):
        assert [float(row["x"]) for row in rows(trace.path) if row["agent"] == "0"] == pytest.approx([-1.0, seen[env]])


def test_a_world_that_was_reset_already_is_refused(world: World, tmp_path: Path) -> None:
    world.reset()
    with pytest.raises(StoreError, match=r"make it before the first reset\(\) of its world"):
        Trace(world, 0, tmp_path / "trace.csv")


def test_a_trace_that_is_not_open_or_not_reset_says_so(world: World, tmp_path: Path) -> None:
    trace = Trace(world, 0, tmp_path / "trace.csv")
    world.reset()
    with pytest.raises(RunError, match=r"trace\.csv' is not open; write a trace inside of `with Trace"):
        trace.reset()
    other = World(world.environment, 3)
    with pytest.raises(RunError, match=r"call its reset\(\) behind the world's"), Trace(other, 0, trace.path) as trace:
        other.reset()
        trace.step()


@pytest.mark.parametrize("name", ["tag_gridworld", "tag_continuous", "cartpole"])
def test_shipped_environments_can_be_traced(name: str, tmp_path: Path) -> None:
    world = warpworld.make(name, 2)
    with Trace(world, 1, tmp_path / "trace.csv") as trace:
        list(stepped(world, trace, 3))
    read = rows(trace.path)
    assert len(read) == trace.rows >= 4 * world.num_agents
    assert all(None not in row.values() and None not in row for row in read)


def test_arrays_are_the_numbers_of_the_rows(world: World, tmp_path: Path) -> None:
    with Trace(world, 1, tmp_path / "trace.csv") as lines, Trace(world, 1, tmp_path / "trace.npz") as events:
        world.reset()
        for trace in (lines, events):
            trace.reset()
        for _ in range(7):
            world.step()
            for trace in (lines, events):
                trace.step()
    read, found = rows(lines.path), dict(np.load(events.path))
    assert (events.rows, lines.rows) == (len(found["step"]), 3 * len(found["step"]))
    assert found["group"].tolist() == ["fox", "fox", "hen"]
    for name in ("step", "episode", "event"):
        assert [str(value) for value in found[name]] == [row[name] for row in read[::3]]
    for name in NUMBERS:
        assert found[name].dtype == world.data.array(name).dtype
        for i, event in enumerate(found[name]):
            for agent in range(3):
                own = event[agent] if world.data.array(name).per == "agent" else event
                blank = found["event"][i] == "reset" and name in ("rewards", "terminated", "truncated")
                of_row = [0] if blank else cells(read[3 * i + agent], name, own.dtype.type)
                np.testing.assert_array_equal(own.ravel(), of_row)
    assert found["table"].shape == (len(found["step"]), 2)


@pytest.mark.parametrize("name", ["trace.csv", "trace.npz"])
def test_so_many_episodes_and_no_more(world: World, name: str, tmp_path: Path) -> None:
    with Trace(world, 1, tmp_path / name, episodes=2) as trace:
        done = [trace.done for _ in stepped(world, trace, 8)]
    assert done == [False] * 5 + [True] * 3
    events = np.load(trace.path)["event"] if name.endswith("npz") else [row["event"] for row in rows(trace.path)][::3]
    assert list(events) == ["reset", "step", "step", "step"] * 2


def test_arrays_replace_arrays_and_nothing_else(world: World, tmp_path: Path) -> None:
    path = tmp_path / "trace.npz"
    for _ in range(2):
        with Trace(World(world.environment, 3, "cpu"), 0, path) as trace:
            pass
    assert np.load(path)["step"].shape == (0,)
    np.savez(path, weights=np.zeros(3))
    with pytest.raises(RunError) as caught:
        Trace(world, 0, path)
    assert str(caught.value) == f"'{path}' is there already and is no trace; give another name, or remove it"
    path.write_text("text")
    with pytest.raises(RunError, match=r"is there already and is no trace"):
        Trace(world, 0, path)
    assert trace.rows == 0
