"""What central critics read, by hand."""

from __future__ import annotations

import torch

from warpworld.policies.inputs.central_inputs import CentralInputs

SEEN = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]])  # one env, three agents, two features


def test_all_agents_observations_and_their_numbers() -> None:
    inputs = CentralInputs(3, 2, None, own=False, ids=True)
    found = inputs(SEEN, None, None)
    assert inputs.numbers == 9
    team = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert found[0].tolist() == [[*team, 1.0, 0.0, 0.0], [*team, 0.0, 1.0, 0.0], [*team, 0.0, 0.0, 1.0]]


def test_agents_that_take_no_part_are_zeros() -> None:
    inputs = CentralInputs(3, 2, None, own=True, ids=False)
    seen = SEEN.clone()
    seen[0, 1] = float("nan")
    found = inputs(seen, None, torch.tensor([[True, False, True]]))
    team = [1.0, 2.0, 0.0, 0.0, 5.0, 6.0]
    assert inputs.numbers == 8
    assert found[0].tolist() == [[*team, 1.0, 2.0], [*team, 0.0, 0.0], [*team, 5.0, 6.0]]


def test_a_state_of_an_env_is_read_once() -> None:
    inputs = CentralInputs(3, 2, 4, own=False, ids=False)
    state = torch.tensor([7.0, 8.0, 9.0, 10.0])
    found = inputs(SEEN, state.expand(1, 3, 4), None)
    assert found[0].tolist() == [state.tolist()] * 3


def test_a_state_of_agents_is_read_whole_by_each() -> None:
    inputs = CentralInputs(3, 2, 6, own=True, ids=False)
    parts = torch.tensor([[[7.0, 8.0], [9.0, 10.0], [11.0, 12.0]]])
    found = inputs(SEEN, parts, None)
    assert found[0, 1].tolist() == [7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 3.0, 4.0]


def test_a_part_of_a_state_is_zeros_where_its_agent_takes_no_part() -> None:
    inputs = CentralInputs(3, 2, 3, own=False, ids=False)
    parts = torch.tensor([[[7.0], [float("nan")], [9.0]]])
    found = inputs(SEEN, parts, torch.tensor([[True, False, True]]))
    assert found[0].tolist() == [[7.0, 0.0, 9.0]] * 3
