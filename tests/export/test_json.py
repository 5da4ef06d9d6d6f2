"""The JSON of a model is the model: scores computed from it alone are the estimator's."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

pytest.importorskip("pandas")

from exported_models import CASES, ODD_NAME, clear_levels, fitted, rows, table, two
from json_evaluator import JsonModel

from splinear import AdditiveClassifier, inspection
from splinear.export import to_json
from splinear.penalties import MatrixPenalty
from splinear.terms import Hermite
from splinear.terms.basis import SampledBasis


def own_scores(model: object, X: object) -> np.ndarray:
    """What the estimator computes, (n_rows, n_outputs)."""
    if hasattr(model, "predict_latent"):
        return model.predict_latent(X)[:, None]
    if hasattr(model, "decision_function"):
        out = model.decision_function(X)
        return out[:, None] if out.ndim == 1 else out
    f = model.predict(X)
    return (np.log(f) if getattr(model, "loss", "") in ("poisson", "gamma") else f)[:, None]


def listed(X: object) -> list[list[object]]:
    return X.astype(object).to_numpy().tolist()


@pytest.mark.parametrize("name", CASES)
def test_scores_and_predictions(name: str) -> None:
    model, X = fitted(name), rows(name)
    reader = JsonModel(to_json(model))
    scores, expected = reader.scores(listed(X)), own_scores(model, X)
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    if hasattr(model, "predict_proba"):
        own = model.predict_proba(X)
        np.testing.assert_allclose(reader.probabilities(scores), own, rtol=1e-11, atol=1e-12)
    predicted = reader.predictions(scores)
    if reader.content["task"] == "regression":
        np.testing.assert_allclose(predicted, model.predict(X), rtol=1e-11, atol=1e-12)
    elif reader.content["task"] == "ordinal":
        clear = clear_levels(model, X)
        np.testing.assert_array_equal(predicted[clear], model.predict(X)[clear])
    else:
        clear = np.abs(np.diff(np.sort(expected, axis=1), axis=1, prepend=0)).min(axis=1) > 1e-9
        np.testing.assert_array_equal(predicted[clear], model.predict(X)[clear])


@pytest.mark.parametrize("name", ["pairs", "three classes", "poisson"])
def test_parts_are_the_contributions(name: str) -> None:
    model, X = fitted(name), rows(name)
    reader = JsonModel(to_json(model))
    own = inspection.contributions(model, X)
    own = own[:, :, None] if own.ndim == 2 else own
    means = np.array([term["mean"] for term in reader.content["terms"]])
    parts = np.array([reader.parts(row) for row in listed(X)]) - means
    scale = np.abs(own).max()
    np.testing.assert_allclose(parts, own, atol=1e-12 * scale)  # all columns have terms here
    base = np.ravel(inspection.base_value(model))
    np.testing.assert_allclose(reader.content["base"], base, rtol=1e-12)


def test_sparse_rows() -> None:
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = sparse.random(400, 6, density=0.3, format="csr", random_state=0)
    y = (X.toarray()[:, 0] + 0.1 * rng.normal(size=400) > 0.1).astype(int)
    model = AdditiveClassifier(random_state=0).fit(X, y)
    reader = JsonModel(to_json(model))
    scores = reader.scores(X.toarray().tolist())
    np.testing.assert_allclose(scores[:, 0], model.decision_function(X), rtol=1e-11, atol=1e-12)


def test_file_is_written_whole(tmp_path: Path) -> None:
    model = fitted("two classes")
    path = tmp_path / "model.json"
    path.write_text("old")
    text = to_json(model, path, indent=2)
    assert path.read_text(encoding="utf-8") == text
    assert json.loads(text) == json.loads(to_json(model))
    assert [p.name for p in tmp_path.iterdir()] == ["model.json"]
    with pytest.raises(FileNotFoundError):
        to_json(model, tmp_path / "nowhere" / "model.json")


def test_content_says_what_it_is() -> None:
    content = json.loads(to_json(fitted("pairs")))
    assert content["task"] == "binary"
    assert content["link"] == "logistic"
    assert content["classes"] == ["no", "yes"]
    kinds = {feature["name"]: feature["kind"] for feature in content["features"]}
    assert kinds[ODD_NAME] == kinds["code"] == "category"
    assert kinds["a"] == "number"
    forms = [term["type"] for term in content["terms"]]
    assert set(forms) == {"lines", "levels", "surface"}
    assert forms.count("surface") == 4
    dropped = json.loads(to_json(fitted("waves")))["features"][4]
    assert dropped == {"name": ODD_NAME, "kind": "dropped"}


def test_what_cannot_be_exported() -> None:
    X = table(200, 0)[["a", "few"]]
    pipeline = make_pipeline(StandardScaler(), AdditiveClassifier(random_state=0))
    with pytest.raises(TypeError, match="pipeline"):
        to_json(pipeline.fit(X, two(table(200, 0))))
    codes = np.array([(1, 2), (3, 4)] * 50 + [None], dtype=object)[:100]
    cells = np.empty((100, 1), dtype=object)
    cells[:, 0] = codes
    model = AdditiveClassifier(categorical_features=[0], random_state=0)
    model.fit(cells, np.arange(100) % 2)
    with pytest.raises(TypeError, match=re.escape("The level (1, 2) is of type tuple")):
        to_json(model)


def test_any_other_basis(monkeypatch: pytest.MonkeyPatch) -> None:
    """A term of functions that are known by their values is lines between these."""

    class Waves(SampledBasis):
        size = 2
        n_cells = 50

        def functions(self, x: np.ndarray) -> np.ndarray:
            return np.column_stack([np.exp(x), np.sin(3 * x)])

        def penalty(self, order: int, *, through_zero: bool = False) -> MatrixPenalty:
            assert order == 1
            assert not through_zero
            return MatrixPenalty(np.eye(2))

    monkeypatch.setattr("splinear.terms.hermite.HermiteBasis", lambda degree: Waves())
    X = table(400, 0)[["a", "few"]]
    model = AdditiveClassifier(Hermite(), random_state=0).fit(X, two(table(400, 0)))
    content = JsonModel(to_json(model))
    assert content.content["terms"][0]["type"] == "lines"
    rows = table(200, 1, far=0.4)[["a", "few"]]
    own = model.decision_function(rows)
    np.testing.assert_allclose(content.scores(listed(rows))[:, 0], own, rtol=1e-11, atol=1e-12)
