"""What a step and a reset consist of: which steps, in which order, for which envs, under which numbers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from tests.random_numbers import random_numbers
from tests.toys import environment
from tests.world.walks import Toy
from warpworld import Array, Kernel, eager_phase
from warpworld.errors import DeclarationError
from warpworld.managers.program import BeginReset, BeginStep, Copy, EndStep
from warpworld.world.phases import PythonStep
from warpworld.world.step_pipeline import StepPipeline

SOURCE = Path("kernels.cu")


class Run(NamedTuple):
    """Stands for the step of a kernel."""

    kernel: Kernel
    number: int
    active_only: bool


def pipeline(*arrays: Array, kernels: tuple[str, ...] | None = ("step", "reset"), **options: Any) -> StepPipeline:
    return StepPipeline(environment(SOURCE if kernels else None, arrays, **options), kernels, "same_step")


def restore(name: str) -> Copy:
    return Copy(f"{name}_initial", name, active_only=True, shared=True)


def names(arrays: list[Array]) -> list[str]:
    return [array.name for array in arrays]


def move(arrays: Any, active: torch.Tensor) -> None:
    """A Python phase."""


def clear(arrays: Any, active: torch.Tensor) -> None:
    """A Python reset."""


class TestOrder:
    WIDE = Kernel("draw", threads_per_env=70)
    ARRAYS = (Array("x", "int32", initial=1, on_reset="initial"), Array("y", "int32", initial=2, on_reset="initial"))

    def made(self) -> StepPipeline:
        return pipeline(*self.ARRAYS, phases=["step", move, self.WIDE], resets=[clear, "reset"])

    def test_a_step(self) -> None:
        made = self.made()
        first, second = Copy("x", "rows", row="at"), Copy("y", "y_of_step")
        made.recorded += [first, second]
        assert made.step(Run) == [
            BeginStep(),
            Run(Kernel("step"), 0, False),
            PythonStep(move, 1),
            Run(self.WIDE, 2, False),
            EndStep(),
            first,
            second,
            restore("x"),
            restore("y"),
            PythonStep(clear, 3),
            Run(Kernel("reset"), 4, True),
        ]

    def test_a_reset_records_nothing(self) -> None:
        made = self.made()
        made.recorded.append(Copy("x", "rows", row="at"))
        assert made.reset(Run) == [
            BeginReset(),
            restore("x"),
            restore("y"),
            PythonStep(clear, 3),
            Run(Kernel("reset"), 4, True),
        ]

    def test_kernels_are_those_of_phases_and_resets(self) -> None:
        assert self.made().kernels == [Kernel("step"), self.WIDE, Kernel("reset")]

    def test_the_order_shows_in_the_arrays(self, toy: Toy) -> None:
        """Each part appends its digit; of what is recorded, the last digit is the phases', not the resets'."""
        text = """
extern "C" __global__ void first(long long* log) { if (is_active()) log[agent_index()] = log[agent_index()] * 10 + 1; }
extern "C" __global__ void third(long long* log, bool* terminated) {
  if (!is_active()) return;
  log[agent_index()] = log[agent_index()] * 10 + 3;
  if (agent_id() == 0) terminated[env_id()] = env_id() % 2 == 0;
}
extern "C" __global__ void start(long long* log, const int* life) {
  if (!is_active()) return;
  log[agent_index()] = log[agent_index()] * 100 + 40 + life[agent_index()];
}
extern "C" __global__ void spend(int* life) { if (is_active()) life[agent_index()]--; }
"""

        def second(arrays: Any, active: torch.Tensor) -> None:
            arrays["log"] = arrays["log"] * 10 + 2

        life = Array("life", "int32", initial=9, on_reset="initial")
        phases = ["first", second, "third", "spend"]
        world = toy(text, Array("log", "int64", initial=0), life, phases=phases, resets=["start"])
        world.add(Array("log_of_step", "int64"))
        world.record("log", "log_of_step")
        world.reset()
        assert world["log"].unique().tolist() == [49]  # the restored life is there when the reset runs
        world.step()
        assert world["log_of_step"].unique().tolist() == [49123]
        assert world["log"][::2].unique().tolist() == [4912349]
        assert world["log"][1::2].unique().tolist() == [49123]


class TestResets:
    @pytest.mark.parametrize(
        ("kernels", "initial", "expected"),
        [
            (("step", "reset"), 0, ["reset"]),
            (("step", "reset"), None, ["reset"]),
            (("step",), 0, []),  # the initial values are restored
            (("step",), None, ["reset"]),  # which the world then refuses: there is no such kernel
        ],
    )
    def test_the_default_kernel_may_be_missing(
        self, kernels: tuple[str, ...], initial: int | None, expected: list[str]
    ) -> None:
        made = pipeline(Array("x", "int32", initial=initial), kernels=kernels)
        assert [kernel.name for kernel in made.kernels] == ["step", *expected]

    @pytest.mark.parametrize("kernels", [("step",), None])
    def test_others_may_not(self, kernels: tuple[str, ...] | None) -> None:
        phases = [move] if kernels is None else ["step"]
        made = pipeline(Array("x", "int32", initial=0), kernels=kernels, phases=phases, resets=[clear])
        assert made.reset(Run) == [BeginReset(), PythonStep(clear, 1)]

    def test_without_a_source_file(self) -> None:
        made = pipeline(Array("x", "int32"), kernels=None, phases=[move])
        assert made.step(Run) == [BeginStep(), PythonStep(move, 0), EndStep()]
        message = r"^Toy: phases\(\) or resets\(\) name kernels, but the class has no `source` file$"
        for given in ({"phases": ["step"]}, {"phases": [move], "resets": [Kernel("reset")]}):
            with pytest.raises(DeclarationError, match=message):
                pipeline(kernels=None, **given)


class TestRestored:
    ARRAYS = (
        Array("of_kernel", "int32", initial=1),
        Array("asking", "int32", (3,), initial=[1, 2, 3], on_reset="initial"),
        Array("kept", "int32", initial=1, on_reset="keep"),
        Array("of_env", "int32", per="env", initial=1, on_reset="initial"),
        Array("of_world", "int32", per="world", initial=1, on_reset="initial"),
        Array("undefined", "int32"),
    )

    def test_beside_resets_those_that_ask_for_it(self) -> None:
        assert names(pipeline(*self.ARRAYS).restored) == ["asking", "of_env"]

    def test_without_resets_all_that_are_not_kept(self) -> None:
        assert names(pipeline(*self.ARRAYS, resets=[]).restored) == ["of_kernel", "asking", "of_env"]

    def test_initial_values_are_an_env_s_part(self) -> None:
        found = {array.name: array for array in pipeline(*self.ARRAYS, resets=[]).initial_values(num_agents=2)}
        assert list(found) == ["of_kernel_initial", "asking_initial", "of_env_initial"]
        assert {(array.dtype, array.per) for array in found.values()} == {("int32", "world")}
        assert found["of_kernel_initial"].initial.tolist() == [1, 1]
        assert found["asking_initial"].initial.tolist() == [[1, 2, 3]] * 2
        assert found["of_env_initial"].shape == () and found["of_env_initial"].initial == 1

    def test_of_values_that_differ_by_env(self) -> None:
        message = (
            r"^array 'x': initial value of shape \(6, 2\); one that resets restore is the same for all envs and "
            r"broadcasts to \(2,\)$"
        )
        with pytest.raises(DeclarationError, match=message):
            pipeline(Array("x", "int32", initial=np.zeros((6, 2))), resets=[]).initial_values(num_agents=2)


class TestNumbers:
    def test_other_kernels_count_down(self) -> None:
        made = pipeline()
        assert [made.number_of_another() for _ in range(14)] == list(range(15, 1, -1))
        with pytest.raises(DeclarationError, match=r"^Toy: 2 phases and resets and 15 other kernels: at most 16$"):
            made.number_of_another()

    def test_too_many_of_ones_own(self) -> None:
        pipeline(phases=[move] * 15)
        with pytest.raises(DeclarationError, match=r"^Toy: 17 phases and resets and 0 other kernels: at most 16$"):
            pipeline(phases=[move] * 16)

    @pytest.mark.parametrize("kernel_first", [True, False])
    def test_they_keep_random_numbers_apart(self, toy: Toy, kernel_first: bool) -> None:
        text = """
extern "C" __global__ void step(int* drawn) {
  if (is_active()) drawn[agent_index()] = (int)Random::agent().below(1000u);
}
extern "C" __global__ void reset(int* at_reset) {
  if (is_active()) at_reset[agent_index()] = (int)Random::agent().below(1000u);
}
"""
        arrays = [Array("drawn", "int32"), Array("at_reset", "int32")]
        world = toy(text, *arrays, phases=["step", move] if kernel_first else [move, "step"])
        world.reset()
        at_reset = random_numbers(world["clock"], 2, 0, 0, 2).below(1000)
        assert world["at_reset"].flatten().tolist() == at_reset.flatten().tolist()
        world.step()
        drawn = random_numbers(world["clock"], 2, 0, 0, 0 if kernel_first else 1).below(1000)
        assert world["drawn"].flatten().tolist() == drawn.flatten().tolist()


def test_eager_phases() -> None:
    @eager_phase
    def look(arrays: Any, active: torch.Tensor) -> None:
        """Reads what it sees."""

    class Feel:
        """A callable without a name."""

        eager = True

        def __call__(self, arrays: Any, active: torch.Tensor) -> None:
            """Do nothing."""

        def __repr__(self) -> str:
            return "Feel()"

    assert pipeline(phases=["step", move, look], resets=[Feel()]).eager_phases == ["look", "Feel()"]
    assert pipeline(phases=["step", move]).eager_phases == []


@pytest.mark.parametrize("where", ["phases", "resets"])
@pytest.mark.parametrize("entry", [3, None, ("step",)])
def test_what_is_no_phase(where: str, entry: Any) -> None:
    message = f"Toy: phase {entry!r}, expected a kernel's name, a Kernel or a callable"
    with pytest.raises(DeclarationError, match=f"^{re.escape(message)}$"):
        pipeline(**{where: [entry]})  # type: ignore[arg-type]
