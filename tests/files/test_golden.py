"""Files of every version of the format stay readable, and predict what they did."""

import json

import numpy as np
import pytest
from golden import FOLDER, KINDS, answer, rows_of
from numpy.testing import assert_allclose

import splinear
from splinear.files.saving import VERSION

VERSIONS = range(1, VERSION + 1)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_golden_file_predicts_what_it_did(kind, version):
    kept = json.loads((FOLDER / f"expected_v{version}.json").read_text(encoding="utf-8"))
    model = splinear.load(FOLDER / f"{kind}_v{version}.splinear")
    found = answer(model, rows_of(kind, kept["rows"]))
    # Other machines sum in another order.
    assert_allclose(found, np.array(kept["expected"][kind]), rtol=1e-9, atol=1e-12)


def test_todays_format_is_that_of_the_golden_file(tmp_path):
    path = FOLDER / f"classifier_v{VERSION}.splinear"
    splinear.save(splinear.load(path), tmp_path / "again.splinear")
    assert (tmp_path / "again.splinear").read_bytes() == path.read_bytes()
