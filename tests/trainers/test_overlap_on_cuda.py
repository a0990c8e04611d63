"""On cuda an update runs on a second stream, beside the next rollout; here on a stand-in whose streams may lag."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.cases import often
from tests.stand_in.driver import StandIn
from tests.stand_in.streams import STREAMS
from tests.trainers.overlapped import RolloutFirst, overlapped, result, trained
from tests.trainers.small_networks import small_networks
from tests.trainers.test_overlap import BY_HAND, CARTPOLE, CONFIGS, by_hand, check_resumes
from tests.trainers.test_resumed_runs import DQN, ONE
from warpworld.errors import ConfigError
from warpworld.managers.cuda.driver import driver_of
from warpworld.trainers.collecting import Collector
from warpworld.trainers.trainer import Trainer
from warpworld.world import World

pytestmark = [pytest.mark.stand_in, pytest.mark.usefixtures("whole_products")]

SELDOM_READ = {"saving": {"log_every": 3, "checkpoint_every": 100}}  # else the host waits for every update
RUNS = {
    **CONFIGS,
    "minimal gru": {
        "name": "cartpole",
        "policy": {"agent": {**ONE, "model": {"recurrent": "mingru", "recurrent_size": 8}}},
    },
}
# A network with a memory in one kernel, and by torch; several policies, players and groups; a critic of all agents; an
# update of several graphs, and of one; a replay. Others have no event of their own between the streams.
FIRST = (
    *("minimal gru", "self-play", "target_kl", "gru, frozen gru and v-trace", "mappo with popart and a memory"),
    "r2d2",
)
HANDS = ("ppo with v-trace", "dqn")  # the others' targets are these' or need nothing of the policy that acted


# ---- the order in which rollout and update run -----------------------------------------------------------------------
class Watched(RolloutFirst):
    """All in one stream; notes which bytes of the store a rollout changes, and which the update beside it.

    Args:
        world: whose store it is.
    """

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self.changed: list[tuple[torch.Tensor, torch.Tensor]] = []

    def start(self, task: Callable[[], None]) -> None:
        """Keep the store of the moment at which both begin."""
        self._before = self._bytes()
        super().start(task)

    def join(self) -> None:
        """Run the update."""
        if self._task is not None:
            between = self._bytes()
            super().join()
            self.changed.append((self._before != between, between != self._bytes()))

    def _bytes(self) -> torch.Tensor:
        return self._world.data.block.cpu()


def written_by_both(trainer: Trainer) -> set[str]:
    """Arrays of which a rollout and the update beside it change a same byte, once graphs are captured."""
    beside = trainer.updates._beside
    assert isinstance(beside, Watched) and len(beside.changed) == 6  # five beside a rollout, and the last
    found, world = set[str](), trainer.world
    for of_rollout, of_update in beside.changed[2:5]:
        assert of_rollout.any() and of_update.any()
        both = (of_rollout & of_update).nonzero().flatten() + world.data.block.data_ptr()
        for name in world.data.names():
            array = world[name]
            if ((both >= array.data_ptr()) & (both < array.data_ptr() + array.nbytes)).any():
                found.add(name)
    return found


@pytest.mark.heavy
@pytest.mark.usefixtures("bf16_everywhere")
@pytest.mark.parametrize("name", often(FIRST, RUNS))
def test_two_streams_give_what_one_gives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever of them lags, as far as events allow; and they write no scratch in common, which is no state."""
    data = RUNS[name] if name == "target_kl" else small_networks(RUNS[name])  # others may leave out no epoch
    config = overlapped({**data, **SELDOM_READ}, torch_threads=1)
    with monkeypatch.context() as patch:
        patch.setattr("warpworld.trainers.trainer.choose_beside", Watched)
        trainer, metrics = Trainer(config), list[dict[str, object]]()
        trainer.train(None, metrics.append)
    assert written_by_both(trainer) == set()
    in_one = result(trainer, metrics)
    for lagging in (0, driver_of(0).second.handle):
        with STREAMS.lag(lagging):
            assert trained(config) == in_one, lagging
            assert STREAMS.late >= 4


@pytest.mark.heavy
@pytest.mark.parametrize("policy", [BY_HAND["ppo with v-trace"], DQN], ids=["ppo", "dqn"])
def test_graphs_on_two_streams_change_nothing(policy: dict[str, object], stand_in: StandIn) -> None:
    data = small_networks({"name": "cartpole", "policy": {"agent": policy}})
    assert trained(overlapped(data, graph_steps=0)) == trained(overlapped(data))


@pytest.mark.heavy
@pytest.mark.parametrize("name", often(HANDS, BY_HAND))
def test_a_loop_by_hand_gives_the_same_weights(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = {"name": "cartpole", "policy": {"agent": BY_HAND[name]}}
    weights = trained(overlapped(data, torch_threads=1, fused=False))[0]
    monkeypatch.setattr(Collector, "rows_ahead", property(lambda collector: collector.num_steps))  # as large a ring
    assert by_hand(data, graph_steps=0) == weights


@pytest.mark.heavy
@pytest.mark.parametrize("data", [CARTPOLE, {"name": "cartpole", "policy": {"agent": DQN}}], ids=["ppo", "dqn"])
def test_a_run_resumes_from_any_checkpoint(data: dict[str, object], tmp_path: Path) -> None:
    check_resumes(small_networks(data), tmp_path)


@pytest.mark.long
def test_draws_of_the_device_s_generator_are_refused() -> None:
    """Graphs on two streams would read its state from one place."""
    model = {"type": "tests.trainers.test_overlap:Noisy"}
    trainer = Trainer(overlapped({"name": "cartpole", "policy": {"agent": {"model": model}}}))
    with pytest.raises(ConfigError, match="draws from torch's global generator"):
        trainer.train(None)
