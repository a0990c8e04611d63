"""`algorithm: gumbel_zero`: how searches play, what is learnt from them, and where they cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.packaged import packaged
from tests.trainers.searching.every_game import losses
from warpworld.cli.main import main
from warpworld.config import config_from_dict, load_config
from warpworld.envs.board.perfect import WEIGHTS, best_moves
from warpworld.envs.board.solving.positions import played
from warpworld.envs.board.solving.solver import dropped, wins
from warpworld.envs.board.tic_tac_toe import TicTacToe
from warpworld.errors import ConfigError, DeclarationError, RunError
from warpworld.policies import Policy
from warpworld.runs import Run
from warpworld.trainers.algorithms.gumbel_zero import search_targets
from warpworld.trainers.building import build_policies
from warpworld.trainers.evaluate import evaluate
from warpworld.trainers.searching import SearchingPolicy, check_searchable, play_by_search, searched
from warpworld.trainers.searching.random_numbers import random_numbers
from warpworld.trainers.searching.searching import Search
from warpworld.trainers.trainer import Trainer
from warpworld.world import World

pytestmark = pytest.mark.cpu_backend  # searches run there alone

TRAINER = {"device": "cpu", "num_envs": 6, "num_steps": 8, "total_env_steps": 6 * 8 * 4, "torch_threads": 1}
SIDES = ("first", "second")
CONFIGS = Path(__file__).parents[3] / "configs"


class Winning(TicTacToe):
    """Tic-tac-toe that measures how often the first player wins where it can at once."""

    def measure(self, probabilities: Mapping[str, Any]) -> Mapping[str, float]:
        cells = np.array([[1, 1, 0, 2, 2, 0, 0, 0, 0]], np.uint8).reshape(1, 3, 3)
        seen = np.stack((cells == 1, cells == 2), 1)
        return {"wins": probabilities["first"](seen, (cells == 0).reshape(1, 9))[0, 2]}


def config(
    name: str,
    groups: tuple[str, ...],
    trainer: dict[str, Any] | None = None,
    env: Any = None,
    others: Any = None,
    **entry: Any,
) -> Any:
    given = {"groups": list(groups), "algorithm": "gumbel_zero", "num_minibatches": 2, "num_simulations": 8, **entry}
    document = {"name": name, "env": env or {}, "policy": {"player": given, **(others or {})}}
    return config_from_dict({**document, "trainer": {**TRAINER, **(trainer or {})}, "saving": {"loggers": []}})


def board_game(name: str = "tic_tac_toe", **entry: Any) -> Any:
    return config(name, SIDES, **entry)


# ---- playing ---------------------------------------------------------------------------------------------------------
def knows_nothing(settings: Any) -> SearchingPolicy:
    """A policy whose networks give 0 everywhere."""
    policy = build_policies(settings, settings.make_environment(), torch.Generator().manual_seed(1))["player"]
    assert isinstance(policy, SearchingPolicy)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.zero_()
    return policy


def chosen(game: str, cells: np.ndarray, simulations: int) -> np.ndarray:
    """(n,) the moves that searches which know nothing choose in positions, (n, rows, columns)."""
    settings = board_game(game, eval_simulations=simulations)
    policy, environment = knows_nothing(settings), settings.make_environment()
    movers, moves = np.count_nonzero(cells, axis=(1, 2)) % 2, np.zeros(len(cells), np.int64)
    for k, side in enumerate(SIDES):
        own = cells[movers == k]
        if len(own) == 0:
            continue
        masks = (own == 0).reshape(len(own), -1)[:, : environment.choices]
        found = searched(policy, environment, side)(np.stack((own == k + 1, own == 2 - k), 1), masks)
        assert found.sum(1).tolist() == [1.0] * len(own)
        moves[movers == k] = found.argmax(1)
    return moves


def test_a_search_wins_where_it_can_at_once() -> None:
    """Connect four, random positions of both players in which a move wins."""
    cells = np.concatenate([played(np.full(60, stones), np.random.default_rng(stones)) for stones in (14, 19)])
    replies = [[dropped(row[None], np.array([move])) for move in np.flatnonzero(row[0] == 0)] for row in cells]
    cells = cells[[wins(np.concatenate(after)).any() for after in replies]]
    assert len(cells) >= 20
    assert wins(dropped(cells, chosen("connect_four", cells, 64))).all()


@pytest.mark.long
def test_a_search_keeps_the_value_of_positions() -> None:
    """Tic-tac-toe, random positions in which some move would throw a win or a draw away."""
    generator, cells = np.random.default_rng(2), np.zeros((400, 9), np.uint8)
    for k in range(4):
        free = np.where(cells == 0, generator.random(cells.shape), -1.0)
        cells[np.arange(400), free.argmax(1)] = 1 + k % 2
    best = (best_moves()[cells @ WEIGHTS, None] >> np.arange(9) & 1).astype(bool)
    some = np.flatnonzero(best.any(1) & (best.sum(1) < (cells == 0).sum(1)))[:24]
    assert len(some) == 24
    assert best[some, chosen("tic_tac_toe", cells[some].reshape(-1, 3, 3), 400)].all()


# ---- learning --------------------------------------------------------------------------------------------------------
def trained(settings: Any) -> Trainer:
    trainer = Trainer(settings)
    trainer.train(None)
    return trainer


def weights(trainer: Trainer) -> torch.Tensor:
    policy = trainer.policies["player"]
    assert policy is not None
    return torch.cat([each.detach().flatten() for each in policy.parameters()])


def alone(policy: Policy) -> dict[str, Any]:
    """Choices of the network alone, the likeliest ones, for both sides."""
    return dict.fromkeys(SIDES, lambda seen, masks: np.asarray(policy.probabilities(seen, True, action_mask=masks)))


def by_search(policy: SearchingPolicy, simulations: int) -> dict[str, Any]:
    play_by_search({"player": policy}, simulations)
    return {side: searched(policy, TicTacToe(), side) for side in SIDES}


@pytest.mark.heavy
@pytest.mark.usefixtures("optimised")
def test_tic_tac_toe_is_learnt_in_seconds() -> None:
    """Hardly any of all ends that replies lead to is lost, where a policy that knows nothing loses dozens."""
    sizes = {"num_envs": 64, "num_steps": 16, "total_env_steps": 64 * 16 * 60, "num_workers": 1}
    model = {"hidden_sizes": [64, 64], "shared": True, "activation": "relu"}
    few = {"num_simulations": 16, "random_moves": 6, "update_epochs": 2, "num_minibatches": 8, "model": model}
    settings = board_game(trainer=sizes, learning_rate=3e-3, **few)
    policy, untrained = trained(settings).policies["player"], knows_nothing(settings)
    assert isinstance(policy, SearchingPolicy)
    for players in (alone, partial(by_search, simulations=16)):
        assert sum(losses(players(policy)).values()) < 0.1 * sum(losses(players(untrained)).values())


@pytest.mark.exhaustive
@pytest.mark.slow
def test_tic_tac_toe_by_the_packaged_config_is_never_lost() -> None:
    """Against any replies, as either player: by the network alone, and with search."""
    policy = trained(load_config(str(CONFIGS / "tic_tac_toe_zero.yaml"), ["saving.loggers=[]"])).policies["player"]
    assert isinstance(policy, SearchingPolicy)
    assert losses(alone(policy)) == {"first": 0, "second": 0}
    assert losses(by_search(policy, 32)) == {"first": 0, "second": 0}


@pytest.mark.long
def test_a_world_of_one_agent_is_learnt() -> None:
    """A row of four states: chance often fails to reach its end in time, and a policy that has learnt never does."""
    sizes = {"num_envs": 32, "num_steps": 16, "total_env_steps": 32 * 16 * 10}
    model = {"hidden_sizes": [32]}
    settings = config(
        "chain", ("agent",), sizes, {"length": 4}, gamma=0.99, learning_rate=1e-2, num_simulations=16, model=model
    )
    returns: list[float] = []
    Trainer(settings).train(None, lambda metrics: returns.append(metrics["charts/player/episodic_return"]))
    assert returns[-1] > 0.95


@pytest.mark.long
def test_a_world_in_which_much_is_left_to_chance_is_searched() -> None:
    """MinAtar's Breakout, by its kernels: rows hold policies that searches found, of several actions."""
    trainer = trained(config("minatar_breakout", ("agent",), gamma=0.99))
    found = trainer.world["rollout_search_policy"].double()
    torch.testing.assert_close(found.sum(-1), torch.ones_like(found[..., 0]))
    assert (found.max(-1).values < 1).any() and torch.isfinite(weights(trainer)).all()


def test_any_number_of_workers_gives_the_same_bits() -> None:
    one, three = (trained(board_game(trainer={"num_workers": workers})) for workers in (1, 3))
    assert torch.equal(weights(one), weights(three))
    assert not torch.equal(weights(one), weights(trained(board_game(trainer={"seed": 7}))))


def test_a_resumed_run_has_the_same_bits(tmp_path: Path) -> None:
    settings = board_game(random_moves=4)
    run, first, second = Run.create(settings, tmp_path), Trainer(settings), Trainer(settings)
    done: list[Any] = []
    first.train(run, done.append, stop=lambda: len(done) == 2)
    second.resume(Run.open(run.path))
    second.train(run)
    assert len(done) == 2
    assert torch.equal(weights(second), weights(trained(settings)))


def test_chance_makes_the_first_moves_of_an_episode() -> None:
    """At most as many as the setting says, and each number of them about equally often."""
    trainer = trained(board_game(random_moves=3, trainer={"num_envs": 400, "num_steps": 5, "total_env_steps": 2000}))
    drawn = trainer.world["rollout_search_drawn"].numpy()
    assert not drawn[3:].any() and (np.diff(drawn[:4].astype(int), axis=0) <= 0).all()
    assert (np.abs(np.bincount(drawn.sum(0), minlength=4) / 400 - 0.25) < 0.08).all()
    assert not trained(board_game()).world["rollout_search_drawn"].any()


def test_random_numbers_are_uniform_and_of_each_env_alone() -> None:
    keys, streams = np.full(4000, 5, np.uint64), np.arange(4000, dtype=np.uint32)
    numbers = random_numbers(keys, streams, np.ones(4000, np.int32), 7)
    assert np.abs(np.histogram(numbers, 10, (0, 1))[0] / numbers.size - 0.1).max() < 0.01
    assert np.abs(np.corrcoef(numbers.T) - np.eye(7)).max() < 0.06
    assert abs(np.corrcoef(numbers[:-1, 0], numbers[1:, 0])[0, 1]) < 0.06
    np.testing.assert_array_equal(random_numbers(keys[9:], streams[9:], np.ones(3991, np.int32), 7), numbers[9:])


def test_targets_count_from_the_view_of_who_moves() -> None:
    """Three moves of a game that the second player wins, and two of the next; lambda 1, 0 and between."""
    rewards = torch.tensor([[0.0], [1.0], [0.0], [0.0]])
    discounts = torch.tensor([[-0.9], [0.0], [-0.9], [-0.9]])
    values = torch.tensor([[0.125], [0.5], [9.0], [0.25], [-0.5]])
    never = torch.zeros(4, 1, dtype=torch.bool)

    def targets(td_lambda: float, drawn: torch.Tensor = never) -> list[float]:
        found: list[float] = search_targets(rewards, discounts, values, drawn, td_lambda)[:, 0].tolist()
        return found

    assert targets(1.0) == pytest.approx([-0.9, 1, -0.405, 0.45])
    assert targets(0.0) == pytest.approx([-0.45, 1, -0.225, 0.45])
    assert targets(0.5) == pytest.approx([-0.9 * 0.75, 1, -0.9 * (0.125 + 0.225), 0.45])
    by_chance = torch.tensor([[False], [True], [False], [True]])  # such rows count what the search has found
    assert targets(1.0, by_chance) == pytest.approx([-0.45, 0.5, -0.225, 0.25])


# ---- evaluating ------------------------------------------------------------------------------------------------------
def run_of(folder: Path, settings: Any) -> Run:
    run = Run.create(settings, folder)
    policy = knows_nothing(settings)
    run.save_checkpoint(0, {"policies": {"player": policy.state_dict()}})
    return run


@pytest.mark.long
def test_evaluations_play_by_the_network_alone_or_by_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A policy that knows nothing wins about as often as chance does; with search it wins more against chance."""
    name = f"{__name__}:Winning"
    run = run_of(tmp_path, config(name, SIDES, trainer={"num_workers": 1}))
    alone, by_search = evaluate(run, 200)["player"], evaluate(run, 200, simulations=32)["player"]
    assert alone["eval/wins"] == pytest.approx(1 / 5) and by_search["eval/wins"] == 1.0
    assert alone["confidence"] >= 0.0 and by_search["mean_return"] == 0.0
    always = run_of(tmp_path / "always", config(name, SIDES, trainer={"num_workers": 1}, eval_simulations=32))
    assert evaluate(always, 200)["player"] == by_search
    assert evaluate(always, 200, simulations=0)["player"] == alone
    assert main(["eval", str(run.path), "--episodes", "8", "--simulations", "16"]) == 0
    assert "wins" in capsys.readouterr().out


def test_policies_of_other_algorithms_do_not_search(tmp_path: Path) -> None:
    with pytest.raises(RunError) as refused:
        play_by_search({"player": None}, 8)
    assert str(refused.value) == (
        "--simulations 8: no policy of the run plays by search, expected algorithm: gumbel_zero; leave it out"
    )


# ---- what cannot be searched -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "groups", "entry", "message"),
    [
        (
            "tag_gridworld",
            ("tagger", "runner"),
            {},
            "11 agents of 'tag_gridworld' act at once; expected one agent, or two who take turns by an action_mask",
        ),
        (
            "tic_tac_toe",
            ("first",),
            {"others": {"second": {"algorithm": "random"}}},
            "it does not play second of 'tic_tac_toe'; expected one policy with all groups",
        ),
        (
            "pendulum",
            ("agent",),
            {},
            "group 'agent' acts in Box(-2.0, 2.0, (1,), float32), expected a Discrete; ppo acts in any space",
        ),
        (
            "tic_tac_toe",
            SIDES,
            {"model": {"recurrent": "gru"}},
            "model.recurrent is gru, but gumbel_zero searches from what the env holds, expected no memory; ppo trains "
            "policies that remember",
        ),
        (
            "tic_tac_toe",
            SIDES,
            {"num_minibatches": 49},
            "num_minibatches is 49, expected at most the 48 moves of a rollout",
        ),
        ("tic_tac_toe", SIDES, {"num_simulations": 0}, "num_simulations is 0, expected at least 1"),
        (
            "tic_tac_toe",
            SIDES,
            {"self_play": {"slots": 1, "groups": ["second"]}},
            "self_play is set, but the search of gumbel_zero plays all sides by one policy, expected null",
        ),
        (
            "tic_tac_toe",
            SIDES,
            {"trainer": {"overlap": True}},
            "trainer.overlap is true, but policy 'player' learns by gumbel_zero, which has no take()",
        ),
    ],
)
def test_what_cannot_be_searched_is_refused(
    name: str, groups: tuple[str, ...], entry: dict[str, Any], message: str
) -> None:
    with pytest.raises((ConfigError, DeclarationError)) as refused:
        Trainer(config(name, groups, **entry))
    assert message in str(refused.value) and "\n" not in str(refused.value)


def test_other_devices_and_several_processes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    world, policy = packaged("tic_tac_toe", 2, device="cpu"), knows_nothing(board_game(eval_simulations=8))
    with pytest.raises(ConfigError, match="2 processes train the run, expected one"):
        check_searchable(world, SIDES, 2)
    monkeypatch.setattr(World, "captures", property(lambda self: True))
    with pytest.raises(ConfigError, match=r"trainer\.device is cuda, expected cpu: a search waits for each"):
        check_searchable(world, SIDES, 1)
    with pytest.raises(RunError, match=r"tic_tac_toe play by search, which runs on a cpu alone; give --device cpu, or"):
        Search(world, policy.search)


def test_two_who_move_at_once_are_refused() -> None:
    """A mask that allows both a move is found where a search begins."""
    trainer = Trainer(board_game())
    trainer.world.reset()
    trainer.world["action_mask"].fill_(True)
    policy = trainer.policies["player"]
    assert isinstance(policy, Policy)
    with pytest.raises(DeclarationError) as refused:
        trainer.collector.actors["first"].act()
    assert "both agents may move at once" in str(refused.value)
