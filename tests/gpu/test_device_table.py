"""Tables on a device, by arrays of NumPy in place of CuPy's."""

from __future__ import annotations

import numpy as np
import pytest

from splinear.tables.dense import ArrayTable
from splinear.tables.device import DeviceTable


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_columns_in_order_are_those_of_the_host(dtype):
    rng = np.random.default_rng(0)
    X = (100 * rng.normal(size=(50, 6))).astype(dtype)
    if dtype != np.int16:
        X[::7, 2] = np.nan
    rows, columns = np.array([3, 9, 1, 40, 41, 7, 14]), [4, 2, 0]
    found = DeviceTable(X).sorted_columns(rows, columns)
    expected = ArrayTable(X).sorted_columns(rows, columns)
    assert found.dtype == DeviceTable(X).dtype
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, expected)
    for some in (None, columns, np.array(columns)):
        found, expected = (kind(X).sample(rows, some) for kind in (DeviceTable, ArrayTable))
        np.testing.assert_array_equal(found, expected)
