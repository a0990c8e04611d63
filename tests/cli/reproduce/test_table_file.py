"""A table's file: what it is read as, and every mistake before anything is trained. Packaged tables are right."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpworld.cli.main import main
from warpworld.cli.reproduce.results import Results, read_results
from warpworld.cli.reproduce.table_file import QUICK_SEED, QUICK_SHARE, TableFile
from warpworld.config import load_config
from warpworld.errors import ConfigError, RunError
from warpworld.packaged import packaged_tables
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend

HEAD = "about: Poles.\njudged: {metric: agent}\n"
POLE = f"{HEAD}normalised: false\nconfig: cartpole\nenv_steps: 1_000_000\n"


def table_of(folder: Path, text: str) -> TableFile:
    (folder / "poles.yaml").write_text(text)
    return TableFile(str(folder / "poles.yaml"))


FEWER = {name: ["env.num_plans=8"] for name in ("homes", "pixels")}  # ways through homes take long to find


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.heavy) if name in FEWER else name for name in packaged_tables()],
)
@pytest.mark.usefixtures("optimised")  # ways through homes take long to find
def test_packaged_tables(name: str) -> None:
    """Every task's config takes every override, and has the metric that it is judged by."""
    file, fewer = TableFile(name), FEWER.get(name, ())
    whole, quick = list(file.planned(overrides=fewer)), list(file.planned(quick=True, overrides=fewer))
    assert [task.name for task in whole] == [task.name for task in quick] == list(file.table.tasks)
    assert all(task.seed > 100 and task.seeds >= 5 for task in whole)
    assert all(task.seed == QUICK_SEED and task.env_steps < whole[0].env_steps for task in quick)
    assert all(task.published or task.note for task in file.table.tasks.values())


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "task"), [("overcooked", "forced_coord"), ("skirmish", "5m_vs_6m")])
def test_tasks_that_train(name: str, task: str) -> None:
    """Two iterations; bfloat16 is not there on all machines."""
    small = ["trainer.precision=float32", "trainer.num_envs=16", "trainer.num_steps=8"]
    words = next(each.words for each in TableFile(name).planned(overrides=small) if each.name == task)
    trainer = Trainer(load_config(words[0], [*words[1:], "trainer.total_env_steps=256", "trainer.device=cpu"]))
    metrics, ((learner, _),) = trainer.train(None), trainer.algorithms.items()
    assert trainer.iteration == 2 and metrics[f"losses/{learner}/grad_norm"] > 0


@pytest.mark.long
def test_a_table(tmp_path: Path) -> None:
    file = table_of(
        tmp_path,
        f"{POLE}overrides: [gamma=0.9]\ntasks:\n  a: {{overrides: [gamma=0.8]}}\n  b: {{first_seed: 201, seeds: 9}}\n",
    )
    a, b = file.planned(overrides=["trainer.num_workers=1"])
    budget = "trainer.total_env_steps=1000000"
    assert a.words == ("cartpole", "gamma=0.9", "gamma=0.8", "trainer.num_workers=1", budget)
    assert (a.seed, a.seeds, b.seed, b.seeds) == (101, 5, 201, 9)
    a, _ = file.planned(quick=True)
    assert (a.seed, a.seeds, a.env_steps) == (QUICK_SEED, 1, 1_000_000 // QUICK_SHARE)


def test_a_config_lies_beside_the_table(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "name: cartpole\ntrainer: {num_envs: 4, num_steps: 8, total_env_steps: 64}\npolicy: {agent: {}}\n"
    )
    (task,) = table_of(tmp_path, POLE.replace("cartpole", "mine.yaml") + "tasks: {a: {}}\n").planned()
    assert task.words[0] == str(tmp_path / "mine.yaml")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{POLE}task: {{a: {{}}}}\n", "{file}, line 6: task is not a known key. Did you mean 'tasks'?"),
        (
            f"{HEAD}normalised: false\nenv_steps: 9\ntasks:\n  a: {{}}\n",
            "{file}, line 6: tasks.a.config is missing, and the table has none for all tasks",
        ),
        (
            f"{HEAD}config: cartpole\nenv_steps: 9\ntasks: {{a: {{}}}}\n",
            "{file}, line 5: tasks.a.published is missing, and scores are divided by it; set normalised: false to "
            "leave them as they are",
        ),
        (
            f"{POLE}sources: {{pgx: {{by: Pgx, rules: same}}}}\ntasks:\n  a: {{published: {{pgz: {{score: [1]}}}}}}\n",
            "{file}, line 8: tasks.a.published names 'pgz', which is not among the sources. Did you mean 'pgx'? "
            "Known: pgx",
        ),
        (
            f"{POLE}sources: {{pgx: {{by: Pgx, rules: same}}}}\ntasks:\n  a: {{published: {{pgx: {{score: 1}}}}}}\n",
            "{file}, line 8: tasks.a.published.pgx.score is 1, expected a list such as [64, 64]",
        ),
        (
            f"{POLE}tasks:\n  a:\n    overrides: [gama=0.9]\n",
            "{file}, line 7: tasks.a: gama=0.9: gama is not a known key. Did you mean 'policy.agent.gamma'?",
        ),
        (
            POLE.replace("metric: agent", "metric: agents") + "tasks: {a: {}}\n",
            "{file}, line 2: judged.metric is 'agents', which task 'a' does not have. Did you mean 'agent'? "
            "Known: agent",
        ),
        (
            POLE.replace("metric: agent", "metric: eval/exploitability") + "tasks: {a: {}}\n",
            "{file}, line 2: judged.metric is 'eval/exploitability', but the environment of task 'a' measures nothing "
            "of policies",
        ),
        *(
            (
                POLE.replace("metric: agent", f"metric: eval/exploitability, {key}: {value}").replace(
                    "cartpole", "kuhn_poker"
                )
                + "tasks: {a: {}}\n",
                f"{{file}}, line 2: judged.metric is 'eval/exploitability', but judged.{key} is about episodes, and "
                "none is played to measure it",
            )
            for key, value in (("references", "[guide]"), ("opponents", "[guide]"), ("earlier", 0.5))
        ),
        (
            POLE.replace("metric: agent", "metric: agent, env: {gravty: 1}") + "tasks: {a: {}}\n",
            "{file}, line 2: task 'a': judged.env: env.gravty is not a known key. Did you mean 'gravity'?",
        ),
        (
            POLE.replace("metric: agent", "metric: agent, references: [guide]") + "tasks: {a: {}}\n",
            "{file}, line 2: judged.references names 'guide', which is no script of task 'a'. Known: none",
        ),
        (
            POLE.replace("metric: agent", "metric: agent, opponents: [guide]") + "tasks: {a: {}}\n",
            "{file}, line 2: judged.opponents names 'guide', which is no script of task 'a'. Known: none",
        ),
        (
            POLE.replace("metric: agent", "metric: agent, earlier: 0.5") + "tasks: {a: {}}\n",
            "{file}, line 2: opponents play the groups of a policy but its first, and no policy of task 'a' has "
            "several",
        ),
        (
            f"{POLE}rules: {{versions: [ours, theirs], rows: {{sticky: [yes]}}}}\ntasks: {{a: {{}}}}\n",
            "{file}, line 6: rules.rows.sticky has 1 entries, expected one for each of ours, theirs",
        ),
        (
            f"{POLE}cross_play: true\ntasks: {{a: {{}}}}\n",
            "{file}, line 6: cross_play is true, but 'agent' of task 'a' plays agent, expected one group with several "
            "agents",
        ),
        (
            POLE.replace("metric: agent", "metric: cook").replace("cartpole", "overcooked")
            + "cross_play: true\ntasks: {a: {overrides: [policy.cook.model.recurrent=gru]}}\n",
            "{file}, line 6: cross_play is true, but 'cook' of task 'a' has a memory, expected one without",
        ),
        (
            POLE.replace("metric: agent", "metric: env/soups").replace("cartpole", "overcooked")
            + "cross_play: true\ntasks: {a: {}}\n",
            "{file}, line 6: cross_play is true, but 'env/soups' of task 'a' is no policy that learns",
        ),
    ],
)
def test_mistakes(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        list(table_of(tmp_path, text).planned())
    assert str(caught.value) == expected.format(file=tmp_path / "poles.yaml")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["minatr"], "no file 'minatr', and no packaged table of that name. Did you mean 'minatar'? Known: "),
        (["minatar", "--tasks", "asterisk"], "table 'minatar' has no task 'asterisk'. Did you mean 'asterix'? Known: "),
        (["minatar", "--against", "none.json"], "results 'none.json' cannot be read: No such file or directory"),
    ],
)
def test_mistakes_on_the_command_line(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *words]) == 2
    assert capsys.readouterr().err.startswith(f"error: {expected}")
    assert list(tmp_path.iterdir()) == []


def test_without_a_name_the_tables_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["table", *packaged_tables()]


def test_a_file_that_holds_no_results(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    Results(table="poles", quick=False, greedy=True, overrides=(), tasks={}).write(path)
    assert read_results(path).table == "poles"
    path.write_text('{"results": {}}')
    with pytest.raises(RunError, match=r"holds no results of `warpworld reproduce`: table: field required"):
        read_results(path)
