"""Declarations: what an author writes in Python is checked at once, and names lead to classes."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete

from tests.toys import agents, box, environment
from warpworld import Array, Environment, Group, Kernel, environment_names, register
from warpworld.environment import DTYPES, MAX_THREADS_PER_ENV, eager_phase, get_environment, placed_groups
from warpworld.errors import DeclarationError
from warpworld.packaged import EXTERNAL, packaged_names


class Pursuit(Environment):
    """An environment of this file, not registered."""

    source = "pursuit.cu"

    @dataclass(frozen=True)
    class Params:
        chasers: int = 2
        side: float = 10.0
        walls: bool = True
        start: str = "random"
        limit: int | None = None

    def groups(self) -> Sequence[Group]:
        return [agents(self.params.chasers, "chaser"), agents(3, "evader")]


class TestArray:
    def test_full_shape_by_what_it_belongs_to(self) -> None:
        assert Array("x", "float32", (2, 3)).full_shape(7, 5) == (7, 5, 2, 3)
        assert Array("x", "float32", (2,), per="env").full_shape(7, 5) == (7, 2)
        assert Array("x", "float32", per="world").full_shape(7, 5) == ()

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_every_dtype_is_numpy_s_and_torch_s(self, dtype: str) -> None:
        import torch

        assert Array("x", dtype).dtype == np.dtype(dtype).name
        assert isinstance(getattr(torch, dtype), torch.dtype)

    def test_shape_of_numpy_numbers_and_lists(self) -> None:
        assert Array("x", "int32", [np.int64(2), 3]).shape == (2, 3)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"name": "2x"}, "array name '2x': expected letters, digits and underscores, a letter first"),
            ({"name": "x y"}, "array name 'x y'"),
            ({"name": "größe"}, "array name 'größe'"),
            ({"name": ""}, "array name ''"),
            ({"name": None}, "array name None"),
            ({"dtype": "float"}, "array 'x': dtype 'float' is not one of bool, .*float64. Did you mean 'float"),
            ({"dtype": "complex64"}, "dtype 'complex64' is not one of"),
            ({"dtype": np.float32}, "dtype <class 'numpy.float32'> is not one of"),
            ({"per": "group"}, "per='group', expected 'agent', 'env' or 'world'"),
            ({"on_reset": "zero"}, "on_reset='zero', expected 'kernel', 'initial' or 'keep'"),
            ({"on_reset": "initial"}, "on_reset='initial' needs an initial value"),
            ({"shape": (0,)}, r"shape \(0,\), expected a tuple of whole numbers of at least 1"),
            ({"shape": (2.0,)}, r"shape \(2.0,\), expected a tuple"),
            ({"shape": 4}, "shape 4, expected a tuple"),
            ({"shape": (True,)}, r"shape \(True,\), expected a tuple"),
            ({"shape": "ab"}, "shape 'ab', expected a tuple"),
            ({"bounds": (1.0, 0.0)}, r"bounds \(1.0, 0.0\), expected \(lowest, highest\)"),
            ({"bounds": 3}, r"bounds 3, expected \(lowest, highest\)"),
            ({"bounds": ("a", "b")}, r"expected \(lowest, highest\)"),
        ],
    )
    def test_refused(self, given: dict[str, Any], message: str) -> None:
        with pytest.raises(DeclarationError, match=message):
            Array(**{"name": "x", "dtype": "float32", **given})


class TestGroup:
    @pytest.mark.parametrize("size", [0, -1, 1.0, "2", None, True])
    def test_size_is_a_count(self, size: Any) -> None:
        with pytest.raises(DeclarationError, match=r"group 'fox': size .*, expected a whole number of at least 1"):
            Group("fox", size, box(), Discrete(2))

    def test_spaces_are_spaces(self) -> None:
        with pytest.raises(DeclarationError, match=r"group 'fox': observation is \(4,\), expected a gymnasium space"):
            Group("fox", 1, (4,), Discrete(2))  # type: ignore[arg-type]
        with pytest.raises(DeclarationError, match="group 'fox': action is 5, expected a gymnasium space"):
            Group("fox", 1, box(), 5)  # type: ignore[arg-type]

    def test_bad_name(self) -> None:
        with pytest.raises(DeclarationError, match="group name 'red team'"):
            agents(name="red team")


class TestOldGymSpaces:
    """Stand-ins for gym's classes: the package itself need not be installed."""

    @staticmethod
    def space(kind: str, **members: Any) -> Any:
        cls = type(kind, (), {"__module__": f"gym.spaces.{kind.lower()}"})
        made = cls()
        made.__dict__.update(members)
        return made

    def test_they_become_gymnasium_s(self) -> None:
        low, high = np.zeros(3, np.float32), np.ones(3, np.float32)
        seen = self.space("Box", low=low, high=high, shape=(3,), dtype=np.dtype("float32"))
        group = Group("fox", 1, observation=seen, action=self.space("Discrete", n=4))
        assert group.observation == Box(0.0, 1.0, (3,))
        assert group.action == Discrete(4)
        both = Group(
            "fox", 1, self.space("Dict", spaces={"eye": seen}), self.space("MultiDiscrete", nvec=np.array([2, 3]))
        )
        assert both.observation == Dict({"eye": Box(0.0, 1.0, (3,))})
        assert both.action == MultiDiscrete([2, 3])

    def test_the_real_package(self) -> None:
        spaces = pytest.importorskip("gym.spaces", exc_type=ImportError)
        group = Group("fox", 1, observation=spaces.Box(-1.0, 1.0, (2,)), action=spaces.MultiDiscrete([2, 3]))
        assert group.observation == Box(-1.0, 1.0, (2,))
        assert group.action == MultiDiscrete([2, 3])


class TestKernel:
    @pytest.mark.parametrize("threads", [0, -1, MAX_THREADS_PER_ENV + 1, 2.5, "3", True, (), (4,), (8, 4), (0, 5)])
    def test_threads_fit_a_block(self, threads: Any) -> None:
        with pytest.raises(DeclarationError, match=r"kernel 'draw': threads_per_env=.*, expected 1 to 1024"):
            Kernel("draw", threads_per_env=threads)

    def test_a_range_of_threads_is_chosen_from(self) -> None:
        kernel = Kernel("draw", threads_per_env=(1, 128))
        assert (kernel.threads(5, side_by_side=False), kernel.threads(5, side_by_side=True)) == (1, 128)
        assert kernel.threads(5, side_by_side=True, packed=True) == 5
        assert Kernel("draw", threads_per_env=(8, 9)).threads(5, side_by_side=True, packed=True) == 9
        assert Kernel("draw", threads_per_env=7).threads(5, side_by_side=False) == 7
        assert Kernel("draw").threads(5, side_by_side=True) == 5

    def test_name(self) -> None:
        with pytest.raises(DeclarationError, match="kernel name 'draw it'"):
            Kernel("draw it")

    def test_arguments_are_names_and_plain_numbers(self) -> None:
        kernel = Kernel("draw", arguments=["x", np.float32(0.5), 3])
        assert kernel.arguments == ("x", 0.5, 3)
        assert [type(given) for given in kernel.arguments] == [str, float, int]

    @pytest.mark.parametrize("arguments", ["x", 3, {"x"}])
    def test_arguments_that_are_no_list(self, arguments: Any) -> None:
        with pytest.raises(DeclarationError, match=r"kernel 'draw': arguments=.*, expected a tuple, one entry per par"):
            Kernel("draw", arguments=arguments)

    @pytest.mark.parametrize("given", [None, ["x"], np.zeros(2)])
    def test_an_argument_that_is_no_name_or_number(self, given: Any) -> None:
        with pytest.raises(
            DeclarationError, match=r"kernel .draw.: arguments has .*; expected the name of an array or a p"
        ):
            Kernel("draw", arguments=["x", given])


class TestParams:
    def test_defaults_and_given(self) -> None:
        params = Pursuit(side=3, chasers=np.int64(4)).params
        assert (params.side, params.chasers, params.walls) == (3, 4, True)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"chaser": 3}, "Pursuit: no parameter 'chaser'. Did you mean 'chasers'\\? Known: chasers, side"),
            ({"zzz": 3}, "Pursuit: no parameter 'zzz'. Known: chasers, side, walls, start, limit"),
            ({"chasers": 2.5}, "Pursuit: chasers=2.5, expected int"),
            ({"chasers": True}, "Pursuit: chasers=True, expected int"),
            ({"chasers": "2"}, "Pursuit: chasers='2', expected int"),
            ({"side": "wide"}, "Pursuit: side='wide', expected float"),
            ({"side": float("nan")}, "Pursuit: side=nan, expected float"),
            ({"walls": 1}, "Pursuit: walls=1, expected bool"),
            ({"start": 1}, "Pursuit: start=1, expected str"),
        ],
    )
    def test_refused(self, given: dict[str, Any], message: str) -> None:
        with pytest.raises(DeclarationError, match=message):
            Pursuit(**given)

    def test_one_without_default_must_be_given(self) -> None:
        class Needy(Environment):
            @dataclass(frozen=True)
            class Params:
                side: float

        assert Needy(side=1.0).params.side == 1.0
        with pytest.raises(DeclarationError, match="Needy: parameter 'side' has no default and was not given"):
            Needy()

    def test_params_must_be_a_dataclass(self) -> None:
        class Plain(Environment):
            class Params:  # type: ignore[assignment]
                side = 3

        with pytest.raises(
            DeclarationError, match=r"Plain: Params is not a dataclass; write @dataclass\(frozen=True\)"
        ):
            Plain()


class TestGroups:
    def test_placed_one_after_the_other(self) -> None:
        groups = placed_groups(Pursuit(chasers=4))
        assert list(groups) == ["chaser", "evader"]
        assert [(g.first, g.size, g.slice) for g in groups.values()] == [(0, 4, slice(0, 4)), (4, 3, slice(4, 7))]

    def test_more_agents_than_a_block_has_threads(self) -> None:
        crowd = environment(None, groups=[agents(MAX_THREADS_PER_ENV), agents(3000, "other")])
        assert placed_groups(crowd)["other"].slice == slice(1024, 4024)

    @pytest.mark.parametrize(
        ("groups", "message"),
        [
            ([], r"Toy: groups\(\) is empty, expected at least one Group"),
            ([agents(), agents()], "Toy: two groups are called 'agent'; rename one"),
            ([agents(), agents(name="Agent")], "Toy: two groups are called 'Agent'; rename one"),  # AGENT_FIRST
            (["agent"], r"Toy: groups\(\) returns 'agent', expected Group objects"),
        ],
    )
    def test_refused(self, groups: list[Any], message: str) -> None:
        with pytest.raises(DeclarationError, match=message):
            placed_groups(environment(None, groups=groups))

    def test_a_group_that_is_not_in_a_list(self) -> None:
        alone = environment(None)
        alone.groups = agents  # type: ignore[method-assign, assignment]
        with pytest.raises(
            DeclarationError, match=r"^Toy: groups\(\) returns Group\(.*\), expected a list of Group obj"
        ):
            placed_groups(alone)

    def test_not_defined(self) -> None:
        class Bare(Environment):
            pass

        with pytest.raises(DeclarationError, match=r"Bare: the class does not define groups\(\)"):
            placed_groups(Bare())


class TestSource:
    def test_beside_the_class_that_names_it(self) -> None:
        here = Path(__file__).resolve().parent
        assert Pursuit.source_path() == here / "pursuit.cu"
        elsewhere = type("Wider", (Pursuit,), {"__module__": "warpworld.world"})  # a subclass in another file
        assert elsewhere.source_path() == here / "pursuit.cu"

    def test_absolute_text_or_path(self, tmp_path: Path) -> None:
        assert type("A", (Environment,), {"source": str(tmp_path / "a.cu")}).source_path() == tmp_path / "a.cu"
        assert type("A", (Environment,), {"source": tmp_path / "a.cu"}).source_path() == tmp_path / "a.cu"

    def test_none(self) -> None:
        assert Environment.source_path() is None

    @pytest.mark.parametrize("source", [property(lambda self: "a.cu"), 5, b"a.cu"], ids=["property", "int", "bytes"])
    def test_no_path(self, source: object) -> None:
        odd = type("Odd", (Environment,), {"source": source})
        with pytest.raises(
            DeclarationError,
            match=rf"source is a {type(source).__name__}, expected a path or text that the class holds",
        ):
            odd.source_path()

    def test_relative_to_a_class_in_no_file(self) -> None:
        lost = type("Lost", (Environment,), {"source": "a.cu", "__module__": "builtins"})
        with pytest.raises(
            DeclarationError, match=r"Lost: source 'a.cu' is relative, but class Lost is not in a file; give"
        ):
            lost.source_path()


class TestTruncations:
    def test_from_the_episode_length(self) -> None:
        @dataclass(frozen=True)
        class Params:
            episode_length: int = 10

        timed = type("Timed", (Environment,), {"Params": Params})()
        for num_steps in (1, 9, 10, 11, 25):
            most = max(sum((t + start) % 10 == 0 for t in range(num_steps)) for start in range(10))
            assert timed.truncations(num_steps) >= most
        assert timed.truncations(25) == 3

    def test_without_one_every_step_may_be_a_limit(self) -> None:
        assert environment(None).truncations(25) == 25


def test_eager_phase_marks() -> None:
    @eager_phase
    def phase(arrays: Any, active: Any) -> None: ...

    assert phase.__dict__["eager"] is True


class TestRegistry:
    def test_name_leads_to_the_class(self) -> None:
        cls = register("catch_me")(type("Seek", (Environment,), {}))
        assert get_environment("catch_me") is cls
        assert cls.name == "catch_me"
        assert "catch_me" in environment_names()
        assert environment_names() == sorted(environment_names())

    def test_until_then_it_has_the_class_s_name(self) -> None:
        parent = register("catch_me")(type("Seek", (Environment,), {}))
        assert type("Wider", (parent,), {}).name == "Wider"

    def test_again_replaces(self) -> None:
        register("catch_me")(type("Seek", (Environment,), {}))
        second = register("catch_me")(type("Seek", (Environment,), {}))
        assert get_environment("catch_me") is second

    def test_the_package_s_own_are_loaded_when_asked_for(self) -> None:
        assert set(environment_names()) >= {"cartpole", "tag_continuous", "tag_gridworld"}
        assert get_environment("cartpole").name == "cartpole"

    @pytest.mark.parametrize("name", ["cartpole", "tag_gridworld"])
    def test_the_package_s_own_names_are_taken(self, name: str) -> None:
        with pytest.raises(
            DeclarationError, match=f"environment '{name}' comes with warpworld .*; choose another name"
        ):
            register(name)(type("Mine", (Environment,), {}))

    @pytest.mark.parametrize("name", ["hide-and-seek", "a b", "", "1st", 3])
    def test_bad_names(self, name: Any) -> None:
        with pytest.raises(DeclarationError, match=f"environment name {re.escape(repr(name))}: expected letters"):
            register(name)

    def test_only_environments(self) -> None:
        with pytest.raises(DeclarationError, match=r"expected a subclass of warpworld.Environment"):
            register("thing")(int)  # type: ignore[type-var]

    def test_unknown_name_suggests_the_nearest(self) -> None:
        with pytest.raises(DeclarationError) as error:
            get_environment("cartpol")
        assert str(error.value) == "unknown environment 'cartpol'. Did you mean 'cartpole'? All: warpworld list"

    def test_unknown_name_that_is_near_none(self) -> None:
        known = ", ".join(sorted([*packaged_names(), *EXTERNAL]))
        with pytest.raises(DeclarationError, match=f"^unknown environment 'zzz'. Known: {known}"):
            get_environment("zzz")

    @pytest.mark.parametrize("name", [None, 3, Pursuit])
    def test_not_a_name(self, name: Any) -> None:
        with pytest.raises(DeclarationError, match=r"expected a registered name, 'module:Class' or 'file\.py:Class'"):
            get_environment(name)

    def test_module_and_class(self) -> None:
        found = get_environment("warpworld.envs.cartpole.cartpole:CartPole")
        assert found is get_environment("cartpole")

    def test_class_of_an_own_module(self, monkeypatch: pytest.MonkeyPatch) -> None:
        module = ModuleType("own_envs")
        module.Pursuit = Pursuit  # type: ignore[attr-defined]
        module.other = 3  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "own_envs", module)
        assert get_environment("own_envs:Pursuit") is Pursuit
        with pytest.raises(DeclarationError, match="environment 'own_envs:other' is not a subclass"):
            get_environment("own_envs:other")

    @pytest.mark.parametrize("name", ["no_such_module:Pursuit", "warpworld:Pursuit", ":Pursuit", "warpworld:"])
    def test_module_or_class_missing(self, name: str) -> None:
        with pytest.raises(DeclarationError, match=f"environment '{name}' cannot be imported"):
            get_environment(name)

    def test_module_with_a_syntax_error(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "own_broken_envs.py").write_text("class A(:\n")
        monkeypatch.syspath_prepend(tmp_path)
        with pytest.raises(
            DeclarationError, match="environment 'own_broken_envs:A' cannot be imported: invalid syntax"
        ):
            get_environment("own_broken_envs:A")

    @pytest.mark.parametrize(
        ("code", "words"),
        [
            ("A = 1 / 0", "ZeroDivisionError: division by zero"),
            ("raise KeyError('B')", "KeyError: 'B'"),
            ("raise ValueError", "ValueError"),
            ("raise RuntimeError('two\\nlines')", "two lines"),
        ],
    )
    def test_module_that_raises(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, words: str) -> None:
        (tmp_path / "own_raising_envs.py").write_text(code)
        monkeypatch.syspath_prepend(tmp_path)
        with pytest.raises(
            DeclarationError, match=f"^environment 'own_raising_envs:A' cannot be imported: {re.escape(words)}$"
        ):
            get_environment("own_raising_envs:A")

    def test_relative_module(self) -> None:
        message = "environment '.envs:A' cannot be imported: '.envs' is relative, expected the module's full name"
        with pytest.raises(DeclarationError, match=f"^{re.escape(message)}$"):
            get_environment(".envs:A")
