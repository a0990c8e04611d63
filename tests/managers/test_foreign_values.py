"""Values that no array takes: each is refused in a sentence, and the array is as it was."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

from warpworld import Array
from warpworld.errors import StoreError
from warpworld.managers.data_manager import DataManager

SWAPPED = np.dtype("float32").newbyteorder("S")
OTHER_ORDER = (
    f"array 'x' is float32, the value is {SWAPPED.str}, which has another byte order than this machine; "
    "convert it first, with .astype('float32')"
)
NO_NUMBERS = "array 'x': the value is a {} tensor; expected a dense one that holds numbers"


@pytest.fixture
def data() -> DataManager:
    data = DataManager(lambda nbytes: torch.zeros(nbytes, dtype=torch.uint8), 3, 2)
    data.add(Array("x", "float32", initial=7))
    data.seal()
    return data


@pytest.mark.filterwarnings("ignore:.*nested tensors is in prototype")
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.ones((3, 2), SWAPPED), OTHER_ORDER),
        (np.ones((), SWAPPED), OTHER_ORDER),
        (torch.ones(3, 2).to_sparse(), NO_NUMBERS.format("sparse")),
        (torch.ones(3, 2).to_sparse_csr(), NO_NUMBERS.format("sparse")),
        (torch.ones(3, 2, device="meta"), NO_NUMBERS.format("meta")),
        (torch.nested.nested_tensor([torch.ones(2)] * 3), NO_NUMBERS.format("nested")),
    ],
)
def test_refused(data: DataManager, value: Any, message: str) -> None:
    with pytest.raises(StoreError, match=f"^{re.escape(message)}$"):
        data["x"] = value
    assert (data["x"] == 7).all()


def test_numbers_alone_are_taken_of_a_tensor_with_a_gradient(data: DataManager) -> None:
    data["x"] = torch.ones(3, 2, requires_grad=True) * 2
    assert (data["x"] == 2).all() and not data["x"].requires_grad


def test_a_list_of_numbers_in_another_byte_order(data: DataManager) -> None:
    data["x"] = [list(np.ones(2, SWAPPED))] * 3
    assert (data["x"] == 1).all()
