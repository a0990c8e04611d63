"""One clear sentence for everything that is wrong in a config or an override."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from tests.chase import NAME, TEXT, changed
from warpworld.config import Document, RunConfig, load_config
from warpworld.config.settings import checked_model_settings
from warpworld.errors import ConfigError
from warpworld.trainers.algorithms import ALGORITHMS

# --- the file


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (changed("num_envs:", "num_envz:"), "line 5: trainer.num_envz is not a known key. Did you mean 'num_envs'?"),
        (changed("trainer:", "trainr:"), "line 4: trainr is not a known key. Did you mean 'trainer'?"),
        (changed("gamma: 1", "lr: 1"), "line 12: policy.evader.lr is not a known key. Did you mean 'learning_rate'?"),
        (
            changed("gamma: 1", "model: {zzz: 1}"),
            "line 12: policy.evader.model.zzz is not a known key. "
            "Known: type, normalise_observations, shared, recurrent, recurrent_size, recurrent_layers, "
            "recurrent_heads, recurrent_window, hidden_sizes, activation",
        ),
        (changed("chasers: 3", "chaserz: 3"), "line 3: env.chaserz is not a known key. Did you mean 'chasers'?"),
        (TEXT + "num_steps: 3\n", "line 13: num_steps is not a known key. Did you mean 'trainer.num_steps'?"),
        (changed("  num_envs: 8\n", ""), "line 4: trainer.num_envs is missing (envs that step together)"),
        (changed("  chasers: 3\n", ""), "line 2: env.chasers is missing"),
        (TEXT[TEXT.index("env:") :], "name is missing (which environment)"),
        (TEXT[: TEXT.index("policy:")], "policy is missing (one entry per policy)"),
        (
            changed("num_steps: 4", "num_steps: 4\n  num_envs: 9"),
            "line 7: trainer.num_envs is given twice, first in line 5; keep one",
        ),
        (TEXT + "name: x\n", "line 13: name is given twice, first in line 1; keep one"),
        (TEXT + "---\nname: x\n", "line 13: a second YAML document starts here, expected one: remove the '---'"),
        (
            changed(NAME, "!!python/object/apply:os.getcwd []"),
            "line 1: the YAML tag !!python/object/apply:os.getcwd is not allowed, "
            "expected plain numbers, texts, lists and sections",
        ),
        (
            changed("gamma: 1", "gamma: !mine 1"),
            "line 12: the YAML tag !mine is not allowed, expected plain numbers, texts, lists and sections",
        ),
        (TEXT + "1: x\n", "line 13: 1 stands as a key, expected a name"),
        (TEXT + "? [a]\n: x\n", "line 13: a list or section stands as a key, expected a name"),
        ("", "is empty, expected the sections name, env, trainer, policy and saving"),
        ("# only a comment\n", "is empty, expected the sections name, env, trainer, policy and saving"),
        ("- a\n", "holds a list, expected 'key: value' lines: name, env, trainer, policy, saving"),
        ("abc\n", "holds only the value 'abc', expected 'key: value' lines: name, env, trainer, policy, saving"),
        (b"name: \xff\n", "byte 6 is not UTF-8 text, expected a YAML file"),
        ("name: a: b\n", "line 1: YAML syntax error: mapping values are not allowed here"),
        (
            "name: [a\n",
            "line 2: YAML syntax error: expected ',' or ']', but got '<stream end>' (while parsing a flow sequence)",
        ),
        (
            changed("  num_envs", "\tnum_envs"),
            r"line 5: YAML syntax error: found character '\t' that cannot start any token "
            "(while scanning for the next token); indent with spaces, not tabs",
        ),
        ("name: *unknown\n", "line 1: YAML syntax error: found undefined alias 'unknown'"),
        ("name: &loop {a: *loop}\n", "line 1: name.a stands for name, which would hold itself"),
        ("[" * 100_000, "brackets or sections are nested too deeply"),
    ],
)
def test_bad_file(load: Callable[..., RunConfig], tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(text)
    assert str(caught.value) in {f"{tmp_path / 'run.yaml'}{joint}{message}" for joint in (", ", ": ", " ")}


def test_endless_number(load: Callable[..., RunConfig]) -> None:
    with pytest.raises(ConfigError, match=r"line 6: trainer.num_steps is not a number that can be read: 9{40}$"):
        load(changed("num_steps: 4", "num_steps: " + "9" * 5000))


@pytest.mark.parametrize("number", ["9" * 5000, "0x" + "f" * 5000])
def test_endless_number_on_the_command_line(load: Callable[..., RunConfig], number: str) -> None:
    with pytest.raises(ConfigError, match=rf" is not a number that can be read: {number[:40]}$"):
        load(TEXT, f"trainer.num_steps={number}")


@pytest.mark.parametrize("key", ["learning_rate", "ent_coef", "clip_coef", "gamma", "vf_coef", "target_kl"])
@pytest.mark.parametrize("digits", [309, 400])
def test_numbers_that_no_float_holds(load: Callable[..., RunConfig], key: str, digits: int) -> None:
    with pytest.raises(ConfigError, match=rf": policy.chaser.{key} is 9+\.\.\.9+, expected a finite number"):
        load(TEXT, f"policy.chaser.{key}={'9' * digits}")


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (f"[[0, 1], [9, {10**400}]]", r"expected a finite number of at least 0, or points such as \[\[0, 1e-3\], "),
        (f"[[0, 1], [{10**400}, 0.5]]", "expected points at 9223372036854775807 env steps at most$"),
    ],
)
def test_schedules_that_no_float_holds(load: Callable[..., RunConfig], points: str, words: str) -> None:
    with pytest.raises(ConfigError, match=rf": policy.chaser.ent_coef is \[\[0, 1\], .*, {words}"):
        load(TEXT, f"policy.chaser.ent_coef={points}")


def test_nul_byte(load: Callable[..., RunConfig]) -> None:
    with pytest.raises(ConfigError, match=r"run.yaml, line 2: the character U\+0000 cannot stand in YAML text$"):
        load(b"name: x\nenv: \0\n")


def test_file_not_found_suggests_packaged_configs(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"^no file 'cartpol', and no packaged .* Did you mean 'cartpole'\? All: warpworld list$"
    ):
        load_config("cartpol")
    with pytest.raises(ConfigError, match=r"Did you mean 'tag_gridworld'"):
        load_config(tmp_path / "tag_gridwurld.yaml")


def test_unreadable(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"is a folder, expected a YAML file or a name of `warpworld list`$"):
        load_config(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"cannot be read: Not a directory$"):
        load_config(tmp_path / "file" / "run.yaml")
    with pytest.raises(ConfigError, match=r"cannot be read: (stat: )?embedded null (byte|character in path)$"):
        load_config("a\0b")


# --- the values


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("num_envs: 8", "num_envs: 0", "line 5: trainer.num_envs is 0, expected at least 1"),
        ("num_envs: 8", "num_envs: -3", "line 5: trainer.num_envs is -3, expected at least 1"),
        ("num_envs: 8", "num_envs: many", "line 5: trainer.num_envs is 'many', expected a whole number"),
        ("num_envs: 8", "num_envs: 2.5", "line 5: trainer.num_envs is 2.5, expected a whole number"),
        ("num_envs: 8", "num_envs: true", "line 5: trainer.num_envs is true, expected a whole number"),
        ("num_envs: 8", "num_envs:", "line 5: trainer.num_envs is empty, expected a whole number"),
        ("num_envs: 8", "num_envs: [8]", "line 5: trainer.num_envs is [8], expected a whole number"),
        ("num_envs: 8", "num_envs: '8'", "line 5: trainer.num_envs is '8', expected a whole number"),
        ("num_envs: 8", "num_envs: 1e30", "line 5: trainer.num_envs is 1e+30, expected a whole number"),
        (
            "num_steps: 4",
            "num_steps: 4\n  device: gpu",
            "line 7: trainer.device is 'gpu', expected 'auto', 'cpu' or 'cuda'",
        ),
        ("num_steps: 4", "num_steps: 4\n  seed: -1", "line 7: trainer.seed is -1, expected at least 0"),
        ("num_steps: 4", "num_steps: 4\n  num_workers: 0", "line 7: trainer.num_workers is 0, expected at least 1"),
        (
            "num_steps: 4",
            "num_steps: 4\n  envs_per_warp: 33",
            "line 7: trainer.envs_per_warp is 33, expected at most 32",
        ),
        ("gamma: 1", "gamma: 1.5", "line 12: policy.evader.gamma is 1.5, expected at most 1"),
        ("gamma: 1", "gamma: .nan", "line 12: policy.evader.gamma is nan, expected a finite number"),
        ("gamma: 1", "train: maybe", "line 12: policy.evader.train is 'maybe', expected true or false"),
        (
            "gamma: 1",
            "clip_coef: 0",
            "line 12: policy.evader.clip_coef is 0, "
            "expected a finite number above 0, or points such as [[0, 1e-3], [10000, 1e-4]]",
        ),
        ("gamma: 1", "target_kl: x", "line 12: policy.evader.target_kl is 'x', expected a number"),
        (
            "gamma: 1",
            "algorithm: dqq",
            f"line 12: policy.evader.algorithm: algorithm 'dqq', expected one of {', '.join(ALGORITHMS)}, random, "
            "script, or module:Class. Did you mean 'dqn'?",
        ),
        (
            "gamma: 1",
            "model: mlp",
            "line 12: policy.evader.model is 'mlp', expected a section of indented 'key: value' lines",
        ),
        (
            "gamma: 1",
            "model: {hidden_sizes: 64}",
            "line 12: policy.evader.model.hidden_sizes is 64, expected a list such as [64, 64]",
        ),
        (
            "gamma: 1",
            "model: {hidden_sizes: [64, 0]}",
            "line 12: policy.evader.model.hidden_sizes[1] is 0, expected at least 1",
        ),
        ("  chasers: 3", "  chasers: 3.0", "line 3: env.chasers is 3.0, expected a whole number"),
        ("  chasers: 3", "  chasers: true", "line 3: env.chasers is true, expected a whole number"),
        ("chasers: 3", "chasers: 3\n  side: wide", "line 4: env.side is 'wide', expected a number"),
        ("chasers: 3", "chasers: 3\n  side: true", "line 4: env.side is true, expected a number"),
        ("chasers: 3", "chasers: 3\n  side: .nan", "line 4: env.side is nan, expected a number"),
        ("chasers: 3", "chasers: 3\n  walls: 1", "line 4: env.walls is 1, expected true or false"),
        ("chasers: 3", "chasers: 3\n  start: randm", "line 4: env.start is 'randm', expected 'random' or 'fixed'"),
        ("chasers: 3", "chasers: 3\n  goal: [1]", "line 4: env.goal is [1], expected another number of entries"),
        ("chasers: 3", "chasers: 3\n  goal: [1, 2, 3]", "line 4: env.goal is [1, 2, 3], expected at most 2 entries"),
        ("chasers: 3", "chasers: 3\n  places: [1, a]", "line 4: env.places[1] is 'a', expected a number"),
        ("chasers: 3", "chasers: 3\n  title: 5", "line 4: env.title is 5, expected a text"),
        ("chasers: 3", "chasers: 3\n  side: -1", "line 4: env: side=-1.0: expected more than 0"),
        ("chasers: 3", "chasers: 3\n  evaders: 0", "line 4: env: evaders=0: expected at least 1"),
        ("env:\n  chasers: 3", "env: 3", "line 2: env is 3, expected a section of indented 'key: value' lines"),
        ("  num_steps: 4", "  num_steps: [1,\n    2]", "line 6: trainer.num_steps is [1, 2], expected a whole number"),
        (
            "total_env_steps: 2_000",
            "total_env_steps: 31",
            "line 7: trainer.total_env_steps is 31, expected at least one rollout: num_envs 8 x num_steps 4 = 32",
        ),
        (
            "gamma: 1",
            "num_minibatches: 5",
            "line 12: policy.evader.num_minibatches is 5, expected a divisor of the 32 rows of a rollout: "
            "num_envs 8 x num_steps 4 x 1 agent",
        ),
        (
            "learning_rate: 1e-3",
            "num_minibatches: 5",
            "line 10: policy.chaser.num_minibatches is 5, expected a divisor of the 96 rows of a rollout: "
            "num_envs 8 x num_steps 4 x 3 agents",
        ),
        (
            "  evader:\n    gamma: 1\n",
            "",
            f"line 8: no policy plays group 'evader' of {NAME}: add an entry policy.evader, "
            "or name it in the groups of another policy",
        ),
        (
            "  evader:",
            "  evadr:",
            f"line 11: policy.evadr.groups: {NAME} has no group 'evadr'. Did you mean 'evader'? Known: chaser, evader",
        ),
        (
            "gamma: 1",
            "groups: [evader, chaser]",
            "line 12: policy.evader.groups: group 'chaser' is played by policies 'chaser' and 'evader', "
            "expected exactly one policy",
        ),
        (
            "gamma: 1",
            "groups: [evader, evader]",
            "line 12: policy.evader.groups: group 'evader' is played by policy 'evader' twice, expected exactly "
            "one policy",
        ),
        ("gamma: 1", "groups: []", "line 12: policy.evader.groups is empty, expected at least one of chaser, evader"),
        (
            "  evader:",
            "  e/v:",
            "line 11: policy name 'e/v': expected letters, digits, - and _, a letter first",
        ),
        (
            f"name: {NAME}",
            "name: nope:Env",
            "line 1: name: environment 'nope:Env' cannot be imported: No module named 'nope'",
        ),
        (f"name: {NAME}", "name: 5", "line 1: name is 5, expected a text"),
    ],
)
def test_bad_value(load: Callable[..., RunConfig], tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(changed(old, new))
    assert str(caught.value) == f"{tmp_path / 'run.yaml'}, {message}"


def test_unknown_environment(load: Callable[..., RunConfig]) -> None:
    with pytest.raises(ConfigError, match=r"line 1: name: unknown environment 'cartpol'. Did you mean 'cartpole'\?"):
        load(changed(NAME, "cartpol"))


def test_no_policy_at_all(load: Callable[..., RunConfig]) -> None:
    with pytest.raises(ConfigError, match=r"line 8: policy is \{\}, expected at least 1 entries$"):
        load(TEXT[: TEXT.index("policy:")] + "policy: {}\n")


def test_groups_of_a_policy_need_equal_spaces(load: Callable[..., RunConfig]) -> None:
    text = TEXT[: TEXT.index("policy:")] + "policy:\n  all: {groups: [chaser, evader]}\n"
    with pytest.raises(
        ConfigError, match=r"policy 'all' plays groups 'chaser' and 'evader', whose observation spaces differ"
    ):
        load(text, "env.wide=true")


# --- the command line


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("trainer.num_envs=0", "trainer.num_envs is 0, expected at least 1"),
        ("trainer.num_envz=3", "trainer.num_envz is not a known key. Did you mean 'num_envs'?"),
        ("polcy.chaser.gamma=1", "polcy is not a known key. Did you mean 'policy'?"),
        ("num_envz=3", "num_envz is not a known key. Did you mean 'trainer.num_envs'?"),
        ("env.chasrs=3", "env.chasrs is not a known key. Did you mean 'chasers'?"),
        ("env.side=0", "env: side=0.0: expected more than 0"),
        ("trainer.num_envs.x=3", "trainer.num_envs is a value, not a section"),
        ("trainer.num_envs=", "trainer.num_envs is empty, expected a whole number"),
        (
            "trainer.num_envs=[1",
            "YAML syntax error: expected ',' or ']', but got '<stream end>' (while parsing a flow sequence)",
        ),
        (
            "trainer.seed=!!python/name:os.sep 1",
            "the YAML tag !!python/name:os.sep is not allowed, expected plain numbers, texts, lists and sections",
        ),
        (
            "policy.chaser.num_minibatches=5",
            "policy.chaser.num_minibatches is 5, expected a divisor of the 96 rows of a rollout: num_envs 8 x "
            "num_steps 4 x 3 agents",
        ),
        (
            "trainer.total_env_steps=8",
            "trainer.total_env_steps is 8, expected at least one rollout: num_envs 8 x num_steps 4 = 32",
        ),
        (
            "policy.evader.groups=[evadr]",
            f"policy.evader.groups: {NAME} has no group 'evadr'. Did you mean 'evader'? Known: chaser, evader",
        ),
        ("trainer=3", "trainer is 3, expected a section of indented 'key: value' lines"),
        ("trainer={num_envs: 3}", "trainer.num_steps is missing (steps of every env between two updates)"),
    ],
)
def test_bad_override_says_that_it_came_from_the_command_line(
    load: Callable[..., RunConfig], override: str, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(TEXT, override)
    assert str(caught.value) == f"command line, {override}: {message}"


@pytest.mark.parametrize("override", ["trainer.num_envs", "=3", "a..b=3", ".a=3", "num_envs:3"])
def test_override_without_a_key_or_value(load: Callable[..., RunConfig], override: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(TEXT, override)
    assert str(caught.value) == f"override '{override}': expected key=value, for instance trainer.num_envs=64"


def test_an_override_makes_no_new_policy(load: Callable[..., RunConfig]) -> None:
    with pytest.raises(
        ConfigError, match=r"no policy 'evadr' in .*run.yaml. Did you mean 'evader'\? Known: chaser, evader$"
    ):
        load(TEXT, "policy.evadr.train=false")


def test_an_override_that_breaks_another_value_is_named(load: Callable[..., RunConfig]) -> None:
    with pytest.raises(
        ConfigError, match=r"^command line, trainer.num_envs=600: trainer.total_env_steps is 2000, expected"
    ):
        load(TEXT, "trainer.num_envs=600")


def test_choices_are_listed_in_the_order_of_their_own_declaration() -> None:
    """Also where another thing that was checked before declares the same ones in another order."""

    class One:
        def __init__(self, *, kind: Literal["a", "b"] = "a") -> None: ...

    class Other:
        def __init__(self, *, kind: Literal["b", "a"] = "a") -> None: ...

    for cls, expected in ((One, "'a' or 'b'"), (Other, "'b' or 'a'")):
        with pytest.raises(ConfigError, match=f"kind is 'c', expected {expected}"):
            checked_model_settings(cls, {"kind": "c"}, Document("config", {}), ("model",), {})
