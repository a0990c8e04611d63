"""Why Deathmatch learns slowly by megastep's rules: what the ablation trains, what it counts, and what it keeps."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.experiments.megastep_ablation import arms, exam, results, table, training
from benchmarks.experiments.megastep_ablation.arms import ARMS
from benchmarks.experiments.megastep_ablation.exam import Shots, examine
from benchmarks.experiments.megastep_ablation.main import _parser, main
from tests.docs.pages import blocks, page
from tests.packaged import packaged
from warpworld import World
from warpworld.envs.deathmatch.megastep_rules import MENDS
from warpworld.errors import RunError

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "megastep-ablation-cpu-2-cores.json"
BOX: dict[str, Any] = {"plans": "box", "res": 64, "subsample": 4, "megastep_rules": True, "players": 1, "rivals": 3}
RANDOM = {"hits": 8.0, "hits_error": 0.4, "taken": 8.0, "kills": 0.2, "deaths": 1.0}


def in_a_box(num_envs: int) -> World:
    world = packaged("deathmatch", num_envs, device="cpu", seed=1, **BOX)
    world.reset()
    return world


def point(seconds: float, hits: float, common: float | None = None, **counts: float) -> dict[str, Any]:
    """A checkpoint with so many hits by its own rules, and perhaps by the common ones."""
    by_common = None if common is None else {**RANDOM, "hits": common}
    own = {**RANDOM, "hits": hits, **counts}
    return {"seconds": seconds, "env_steps": 10_000 * seconds, "own": own, "common": by_common}


def an_arm(*curve: dict[str, Any], **also: Any) -> dict[str, Any]:
    settings = {
        "minutes": 10.0,
        "seed": 1,
        "date": "2020-01-01",
        "commit": "0123456789",
        "device": "a core",
        "cores": 2,
    }
    settings |= {"wall_seconds": 600.0, "env_steps": 6_000_000, "random": RANDOM}
    points = list(curve) or [point(600.0, 8.0)]
    return {**settings, "common_random": RANDOM if points[0]["common"] else None, "curve": points, **also}


# ---- what is trained -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MENDS)
def test_an_arm_has_one_fault_less_and_nothing_else(name: str) -> None:
    published, mended = (ARMS[arm].config(seed=3).to_dict() for arm in ("published", name))
    assert published["env"].pop("megastep_mends") == ""
    assert mended["env"].pop("megastep_mends") == name
    assert mended == published
    assert published["trainer"]["seed"] == 3


def test_arms_of_learning_differ_in_what_they_say_only() -> None:
    published = ARMS["published"].config(seed=1).to_dict()
    for name, changed in (("advantages", {"norm_adv"}), ("pool", {"self_play"}), ("all", {"norm_adv", "self_play"})):
        arm = ARMS[name].config(seed=1).to_dict()
        own, theirs = arm["policy"].pop("fighter"), published["policy"]["fighter"]
        assert {key for key in theirs if own[key] != theirs[key]} == changed
        assert not own["norm_adv"] if "norm_adv" in changed else own["norm_adv"]
        assert arm["env"]["megastep_mends"] == (",".join(MENDS) if name == "all" else "")
        assert {key: arm[key] for key in arm if key not in ("policy", "env")} == {
            key: published[key] for key in arm if key not in ("policy", "env")
        }


def test_the_other_rules_have_the_same_plans_and_network() -> None:
    published, own = (ARMS[arm].config(seed=1) for arm in ("published", "warpworld"))
    same = ("plans", "num_plans", "min_rooms", "max_rooms", "plan_seed", "players", "rivals", "res", "fov")
    assert {key: own.env[key] for key in same} == {key: published.env[key] for key in same}
    assert own.policy["fighter"] == published.policy["fighter"]
    assert own.trainer == published.trainer
    assert own.schedules
    assert not published.schedules


def test_in_one_room_nothing_else_changes() -> None:
    for name, same in (("room", "published"), ("room_rules", "rules"), ("room_warpworld", "warpworld")):
        here, there = ARMS[name].config(seed=1).to_dict(), ARMS[same].config(seed=1).to_dict()
        assert here["env"].pop("plans") == "column"
        assert there["env"].pop("plans") == "homes"
        assert here == there


# ---- what is counted -------------------------------------------------------------------------------------------------


def test_planted_shots_are_counted() -> None:
    """Agent 0 is examined: -2 is no shot, -1 a miss, else who was hit; shots among the others are nobody's business."""
    world = in_a_box(2)
    shots_so_far = Shots(world, world.groups["player"].slice)
    for shots in ([[1, -2, 0, 3], [-1, 0, 0, 0]], [[3, -1, -1, -2], [-2, -2, 1, 0]]):
        world.data.numpy("shot")[:] = shots
        shots_so_far.add()
    world.data.numpy("kills")[:] = [[1, 9, 9, 9], [0, 9, 9, 9]]
    world.data.numpy("deaths")[:] = [[0, 9, 9, 9], [3, 9, 9, 9]]
    counts = shots_so_far.counts()
    assert counts.hits == pytest.approx(2 / 4 * 1000)  # 2 hits in 2 steps of 2 envs
    assert counts.hits_error == pytest.approx(np.std([1000.0, 0.0], ddof=1) / np.sqrt(2))
    assert counts.taken == pytest.approx(5 / 4 * 1000)
    assert counts.share == pytest.approx(2 / 7)
    assert (counts.kills, counts.deaths) == pytest.approx((250.0, 750.0))


def test_shots_of_a_trajectory_are_counted() -> None:
    """The first looks at another one's back for 20 steps, which is what it takes to kill it; two look at walls."""
    world = in_a_box(3)
    number = world.data.numpy
    number("positions")[:] = [[2.0, 3.5], [4.0, 3.5], [1.5, 1.5], [5.5, 1.5]]
    number("angles")[:] = [0.0, 0.0, -90.0, -90.0]
    shots_so_far = Shots(world, world.groups["player"].slice)
    for _ in range(20):
        number("actions")[:] = 0
        world.step()
        shots_so_far.add()
    counts = shots_so_far.counts()
    assert (counts.hits, counts.hits_error, counts.taken, counts.share) == (1000.0, 0.0, 0.0, 1.0)
    assert (counts.kills, counts.deaths) == (50.0, 0.0)


def test_random_agents_deal_as_much_as_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exam, "NUM_ENVS", 16)
    monkeypatch.setattr(exam, "STEPS", 100)
    counts = examine({**BOX, "episode_length": 10}, None)
    assert counts.hits == counts.taken > 0.0
    assert counts.share == 0.5
    assert counts == examine({**BOX, "episode_length": 10}, None)  # the same opponents for everybody


def test_no_shot_has_no_share() -> None:
    assert np.isnan(exam.Counts(0.0, 0.0, 0.0, 0.0, 1.0).share)


# ---- what becomes of it ----------------------------------------------------------------------------------------------


def test_multiples_of_what_random_agents_hit() -> None:
    assert table.multiple({"hits": 24.0, "hits_error": 1.2}, RANDOM) == pytest.approx((3.0, np.hypot(0.15, 0.15)))
    assert np.isnan(table.multiple({"hits": 24.0, "hits_error": 1.2}, {"hits": 0.0, "hits_error": 0.0})[0])
    slow = an_arm(point(0.0, 8.0), point(75.0, 15.9), point(150.0, 16.0), point(225.0, 30.0))
    assert table.reached(slow)["seconds"] == 150.0  # type: ignore[index]
    lucky = an_arm(point(0.0, 8.0), point(75.0, 17.0), point(150.0, 15.9), point(225.0, 30.0))
    assert table.reached(lucky)["seconds"] == 225.0  # type: ignore[index]
    assert table.reached(an_arm()) is None


def test_who_catches_up_is_seen_by_the_common_rules() -> None:
    first = an_arm(point(300.0, 90.0, common=20.0), point(600.0, 90.0, common=30.0))
    fast = an_arm(point(0.0, 8.0, common=8.0), point(75.0, 8.0, common=30.0), point(600.0, 8.0, common=29.9))
    assert table.caught_up(fast, first)["seconds"] == 75.0  # type: ignore[index]
    lucky = an_arm(point(75.0, 8.0, common=40.0), point(150.0, 8.0, common=9.0), point(600.0, 8.0, common=30.0))
    assert table.caught_up(lucky, first)["seconds"] == 600.0  # type: ignore[index]
    assert table.caught_up(first, first)["seconds"] == 600.0  # type: ignore[index]
    assert table.caught_up(an_arm(point(600.0, 90.0, common=29.1)), first) is None  # two errors are 0.8
    assert table.caught_up(an_arm(point(600.0, 90.0)), first) is None  # it cannot play by them
    assert table.caught_up(fast, None) is None


def test_the_table() -> None:
    learnt = an_arm(point(300.0, 16.0, common=12.0), point(600.0, 24.0, common=16.0, taken=6.0, kills=1.234))
    text = table.section({"published": learnt, "warpworld": an_arm()}, "images/curves.png")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in lines}) == 1
    cells = [cell.strip() for cell in lines[2].split("|")[1:-1]]
    assert cells[:5] == ["`published`: the published rules, all faults", "6.00", "8.0", "24.0", "3.00 ± 0.16"]
    assert cells[5:9] == ["300 s, 3.00 M", "1.23 (0.20)", "1.00 (1.00)", "0.80"]
    assert cells[9:] == ["16.0", "2.00 ± 0.11", "600 s, 6.00 M"]
    assert [cell.strip() for cell in lines[3].split("|")[-4:-1]] == ["-", "-", "-"]
    assert "10 minutes of training on one core each, seed 1; a core, 2020-01-01, commit 0123456." in text
    assert "(images/curves.png)" in text
    assert table.section({}) == "Not measured yet."


def test_arms_are_merged_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "new" / "saved.json"
    for name in ("aim", "published"):
        results.merge(path, name, an_arm())
    results.merge(path, "aim", an_arm(env_steps=7))
    held = results.read(path, 10.0, 1)
    assert list(held) == ["published", "aim"]
    assert (held["published"]["env_steps"], held["aim"]["env_steps"]) == (6_000_000, 7)


def test_arms_that_end_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "saved.json"
    with ThreadPoolExecutor(len(ARMS)) as threads:
        list(threads.map(lambda name: results.merge(path, name, an_arm()), ARMS))
    assert list(results.read(path, 10.0, 1)) == list(ARMS)


def test_arms_of_another_length_are_refused_before_anything_is_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "saved.json"
    results.merge(path, "published", an_arm())
    with pytest.raises(SystemExit, match="2"):
        main(["--only", "aim", "--minutes", "0.5", "--save", str(path)])
    assert "holds arms of 10 minutes and seed 1, expected 0.5 and 1" in capsys.readouterr().err
    with pytest.raises(RunError, match="expected 10 and 2"):
        results.read(path, 10.0, 2)


@pytest.mark.parametrize("text", ["", "[]", '{"rows": []}', '{"arms": {"aim": {}}}', '{"arms": 3}'])
def test_files_of_something_else_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "saved.json"
    path.write_text(text)
    with pytest.raises(RunError, match=r"saved.json cannot be read as results of this ablation .*name another file"):
        results.merge(path, "aim", an_arm())
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "aim", "walls"], "no arm walls; there are published, bounds, reward, aim, credit, spawns, adv"),
        (["--only"], "--only without an arm trains nothing, and there is no --save FILE to show"),
        (["--minutes", "0"], "0 minutes, expected more than 0"),
        (["--minutes", "nan"], "nan minutes, expected more than 0"),
    ],
)
def test_what_cannot_be_run(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert said in capsys.readouterr().err


def test_a_page_without_a_place_for_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = tmp_path / "page.md"
    with pytest.raises(RunError, match="cannot be read: No such file"):
        table.write_into(written, "text")
    written.write_text("A page.\n")
    with pytest.raises(RunError, match="has no place for the table, expected the lines"):
        table.write_into(written, "text")
    assert written.read_text() == "A page.\n"
    with pytest.raises(SystemExit, match="2"):
        main(["--page", str(written)])  # before anything is trained
    assert "has no place for the table" in capsys.readouterr().err


def test_the_page_shows_what_the_results_hold() -> None:
    held = results.read(RESULTS, 10.0, 1)
    expected = table.section(held, "images/megastep-ablation.png" if held else None)
    assert page("deathmatch-ablation").partition(table.BEGIN)[2].partition(table.END)[0].strip() == expected


def test_the_page_tells_of_all_arms_and_of_what_can_be_run() -> None:
    text = page("deathmatch-ablation")
    assert [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")][-len(ARMS) :] == list(ARMS)
    for line in blocks(text, "sh")[0].splitlines():
        module, *arguments = line.split()[2:]
        assert module == main.__module__.removesuffix(".main")
        assert set(_parser().parse_args(arguments).only or ()) <= set(ARMS)


def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arms, "TRAINER", {**arms.TRAINER, "num_envs": 8, "num_steps": 4})
    monkeypatch.setattr(arms, "SAME", {**BOX, "players": 2, "rivals": 2})
    monkeypatch.setattr(training, "CHECKPOINTS", (0, 0.5, 1))
    monkeypatch.setattr(exam, "NUM_ENVS", 4)
    monkeypatch.setattr(exam, "STEPS", 10)


@pytest.mark.heavy
@pytest.mark.long
def test_a_short_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    small(monkeypatch)
    saved, picture, shown_on = tmp_path / "saved.json", tmp_path / "images" / "curves.png", tmp_path / "page.md"
    shown_on.write_text(f"Before.\n\n{table.BEGIN}\nold\n{table.END}\n\nAfter.\n")
    results.merge(saved, "aim", an_arm(minutes=0.01))
    shown = ["--minutes", "0.01", "--save", str(saved), "--draw", str(picture), "--page", str(shown_on)]
    main(["--only", "published", *shown])
    held = json.loads(saved.read_text())["arms"]
    assert list(held) == ["published", "aim"]
    curve = held["published"]["curve"]
    assert (curve[0]["seconds"], curve[0]["env_steps"]) == (0.0, 0)
    assert curve[-1]["env_steps"] == held["published"]["env_steps"] >= 32
    assert 0.6 <= curve[-1]["seconds"] <= held["published"]["wall_seconds"] + 0.5
    assert all(counts.keys() == RANDOM.keys() for point in curve for counts in (point["own"], point["common"]))
    assert {"date", "commit", "device", "minutes", "seed"} <= held["published"].keys()
    assert picture.read_bytes().startswith(b"\x89PNG")
    text = shown_on.read_text()
    assert text.startswith("Before.")
    assert text.endswith("After.\n")
    assert "images/curves.png" in text
    assert "old" not in text
    printed = capsys.readouterr().out
    assert "`published`: the published rules" in printed
    assert "`aim`: aim fixed" in printed
    main(["--only", *shown])  # trains nothing
    assert capsys.readouterr().out == printed
    assert json.loads(saved.read_text())["arms"] == held


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_every_arm(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    small(monkeypatch)
    main(["--only", name, "--minutes", "0.01"])
    assert f"`{name}`" in capsys.readouterr().out
