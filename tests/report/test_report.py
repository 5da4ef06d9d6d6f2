"""The page as a file: what is in it, what is not, and how large it is."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from exported_models import CASES, fitted, rows
from pages import EVIL, Page, check_structure, shown, unpacked, written
from sklearn import metrics
from sklearn.datasets import dump_svmlight_file, load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, inspection, report

pytest.importorskip("jinja2")

NAMES = ["two classes", "three classes", "labels", "pairs", "pairs of three classes",
         "squared error", "poisson", "gamma", "svc", "svc of three", "svc of labels", "svr",
         "degree 0", "degree 2", "waves", "polynomials", "refusing", "numbers"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_model_has_a_page(name: str, tmp_path: Path) -> None:
    model, X = fitted(name), rows(name, 120)
    whole = pd.DataFrame(X).reset_index(drop=True)
    filled = whole.assign(**{c: 0.0 for c in ("a", "b", "few", "hour", "code") if c not in whole})
    filled = filled.assign(**{k: 0 for k in ["co\"lor 's;"] if k not in whole})
    y = CASES[name].target(filled)
    for arguments in ((), (X,), (X, y)):
        text, page = written(tmp_path, model, *arguments)
        check_structure(text, page)
        assert ("Quality on test rows" in page.words) == (len(arguments) == 2)
        assert "certificate" in page.words.lower()
    n_pictures = sum("picture" in (a.get("class") or "") for a in page.named("svg"))
    told = re.search(r"(\d+) terms? adds? nothing", page.words)
    assert n_pictures >= len(model.terms_) - int(told[1] if told else 0)


def test_sums_are_those_of_the_model(tmp_path: Path) -> None:
    for name in ("two classes", "three classes", "pairs", "poisson"):
        model = fitted(name)
        data = written(tmp_path, model)[1].data
        means = np.sum([term["mean"] for term in data["terms"]], axis=0)
        base = np.atleast_1d(inspection.base_value(model))
        np.testing.assert_allclose(data["fixed"] + means, base, rtol=1e-13)
        line = next(term for term in data["terms"] if term["type"] == "lines")
        knots = unpacked(line["knots"])
        values = unpacked(line["values"]).reshape(len(base), -1)
        x = np.linspace(knots[0], knots[-1], 57)
        expected = model.terms_.of_feature(line["feature"]).evaluate(x)
        for k, own in enumerate(values):
            np.testing.assert_allclose(np.interp(x, knots, own), expected[:, k], atol=1e-12)


def wide_table(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 42)), columns=[f"measurement {j}" for j in range(42)])
    for j in range(5):
        X[f"category {j}"] = rng.choice([f"level {k} of {j}" for k in range(20)], n)
    X.loc[::9, "measurement 0"] = np.nan
    score = X["measurement 1"] + np.sin(3 * X["measurement 2"]) + (X["category 0"] > "level 5")
    score += X["measurement 3"] * X["measurement 4"]
    return X, np.asarray(score + rng.normal(size=n) > 0.5).astype(int)


def test_fifty_terms_take_less_than_500_kilobytes(tmp_path: Path) -> None:
    X, y = wide_table(3000)
    pairs = [("measurement 3", "measurement 4"), ("measurement 1", "category 0"), (2, 5)]
    model = AdditiveClassifier(random_state=0, interactions=pairs).fit(X[:2000], y[:2000])
    assert len(model.terms_) == 50
    text, page = written(tmp_path, model, X[2000:], y[2000:])
    assert len(text.encode()) < 500_000
    assert len(page.data["terms"]) == 50


def test_fifty_terms_of_ten_classes_take_less_than_500_kilobytes(tmp_path: Path) -> None:
    X, y = load_digits(return_X_y=True, as_frame=True)
    model = AdditiveClassifier(random_state=0).fit(X[:800], y[:800])
    text, page = written(tmp_path, model, X[800:], y[800:])
    assert len(text.encode()) < 500_000
    assert len(page.data["terms"]) == 50
    assert "14 more terms" in page.words
    means = np.sum([term["mean"] for term in page.data["terms"]], axis=0)
    np.testing.assert_allclose(page.data["fixed"] + means, inspection.base_value(model))


def numbers_in(page: Page) -> np.ndarray:
    """All numbers of the page: in its text, in pictures, and of the terms, packed or not."""
    found: list[float] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict | list):
            for item in value.values() if isinstance(value, dict) else value:
                walk(item)
        elif isinstance(value, int | float):
            found.append(float(value))
        elif isinstance(value, str) and len(value) > 10 and re.fullmatch(r"[\w+/]+=*", value):
            found.extend(unpacked(value) if len(base64.b64decode(value)) % 8 == 0 else [])

    walk(page.data)
    texts = [page.words, *(str(v) for _, a in page.elements for v in a.values())]
    found += [float(x) for text in texts for x in re.findall(r"\d+\.?\d*", text)]
    return np.abs(np.array(found))


def test_no_row_of_the_training_data_is_there(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(3100, 6)), columns=list("abcdef"))
    y = (X["a"] + rng.normal(size=3100)).to_numpy()
    train = X[:3000].to_numpy()
    model = AdditiveRegressor(random_state=0).fit(X[:3000], y[:3000])
    _, page = written(tmp_path, model, X[3000:], y[3000:])
    known = numbers_in(page)
    # Knots are values of single features, in ascending order; no row has more than some of them.
    assert np.isin(np.abs(train), known).sum(axis=1).max() <= 3
    assert not np.isin(np.abs(y[:3000]), known).any()
    for term in page.data["terms"]:
        knots = unpacked(term["knots"])
        assert len(knots) <= 129
        assert (np.diff(knots) > 0).all()
    # Of values that can be read, none has the digits by which it could be told from others.
    written_out = re.findall(r"\d+\.\d{6,}", page.words)
    digits = [float(x) for x in written_out if len(x.replace(".", "").lstrip("0")) >= 5]
    assert not np.isclose(np.abs(train)[..., None], digits, rtol=1e-5, atol=0.0).any()


def test_the_page_does_not_grow_with_rows(tmp_path: Path) -> None:
    sizes = []
    for n in (600, 6000):
        X, y = wide_table(n)
        X = X[["measurement 1", "measurement 2", "category 0"]]
        model = AdditiveClassifier(random_state=0).fit(X, y)
        sizes.append(len(written(tmp_path, model, X, y)[0]))
    assert sizes[1] < 1.15 * sizes[0]


@pytest.fixture(scope="module")
def rare() -> tuple[Any, pd.DataFrame, np.ndarray]:
    """A model of a category that has five levels of 9 rows or fewer; one is in a surface, too."""
    rng = np.random.default_rng(0)
    names = ["common"] * 300 + ["usual"] * 200 + ["ten rows"] * 10
    names += ["nine rows"] * 9 + ["Anna Smith"] * 3 + ["Bo Li", "Zoë", EVIL]
    X = pd.DataFrame({"who": names, "x": rng.normal(size=len(names))})
    order = rng.permutation(len(X))
    X = X.iloc[order].reset_index(drop=True)
    effect = X["who"].map({"common": 0.0, "usual": 1.0, "nine rows": 3.0}).fillna(-2.0).to_numpy()
    y = effect + X["x"].to_numpy() * (X["who"] == "usual") + 0.1 * rng.normal(size=len(X))
    model = AdditiveRegressor(random_state=0, interactions=[("who", "x")]).fit(X, y)
    return model, X, y


@pytest.mark.parametrize("with_rows", [False, True])
def test_rare_levels_are_not_named(
    rare: tuple[Any, pd.DataFrame, np.ndarray], with_rows: bool, tmp_path: Path
) -> None:
    model, X, y = rare
    text, page = written(tmp_path, model, *((X, y) if with_rows else ()))
    for name in ("nine rows", "Anna", "Smith", "Bo Li", "Zoë", "Zo\\u00eb", "alert(1)"):
        assert name not in text
    assert "5 rare levels" in page.words
    assert "ten rows" in page.words


def test_rare_levels_add_their_mean(
    rare: tuple[Any, pd.DataFrame, np.ndarray], tmp_path: Path
) -> None:
    model, X, _ = rare
    data = written(tmp_path, model)[1].data
    levels = next(term for term in data["terms"] if term["type"] == "levels")
    is_rare = ~X["who"].isin(["common", "usual", "ten rows"])
    parts = inspection.contributions(model, X, center=False)
    packed = unpacked(levels["values"])
    assert len(packed) == 4
    assert packed[-1] == pytest.approx(parts[is_rare, 0].mean(), rel=1e-12)
    surface = data["terms"][-1]
    table = unpacked(surface["values"]).reshape(surface["sizes"])
    knots = unpacked(next(a["knots"] for a in surface["axes"] if a["knots"] is not None))
    table = table if surface["sizes"][0] == 4 else table.T
    for k, at in enumerate(knots):
        moved = X[is_rare].assign(x=at)
        own = inspection.contributions(model, moved, center=False)[:, 2]
        assert table[-1, k] == pytest.approx(own.mean(), abs=1e-7)


def test_very_many_levels_are_pooled(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    number = np.minimum(rng.geometric(0.004, 20_000), 900)
    code = np.char.add("code-", number.astype(str))
    X = pd.DataFrame({"code": code, "x": rng.normal(size=20_000)})
    model = AdditiveRegressor(random_state=0).fit(X, X["x"] + 0.01 * number)
    counts = X["code"].value_counts()
    text, page = written(tmp_path, model, X, X["x"] + 0.01 * number)
    named = set(re.findall(r"code-\d+", text))
    assert len(named) == 200
    assert counts[sorted(named)].min() >= counts.iloc[200]
    assert f"{len(counts) - 200} less frequent levels" in page.words
    assert len(text) < 120_000


@pytest.mark.filterwarnings("ignore:.*levels that differ by case, blanks")
def test_extreme_columns(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    n = 300
    X = pd.DataFrame(
        {
            "huge": rng.normal(size=n) * 1e300,
            "tiny": rng.normal(size=n) * 1e-300,
            "far": 1e12 + rng.integers(0, 3, n),
            "cauchy": rng.standard_cauchy(n) ** 5,
            "one": np.full(n, 7.5),
            "gaps": np.full(n, np.nan),
            "some": np.where(rng.random(n) < 0.5, np.nan, 2.0),
            "yes": rng.random(n) < 0.3,
            "a very long name of a column " * 8: rng.normal(size=n),
            "": rng.choice(["", " ", "long level " * 20], n),
        }
    )
    model = AdditiveRegressor(random_state=0).fit(X, rng.normal(size=n) + X["yes"])
    for arguments in ((), (X, rng.normal(size=n))):
        text, page = written(tmp_path, model, *arguments)
        check_structure(text, page)
        assert not re.search(r"\b(nan|inf)\b", re.sub(r"<script.*?</script>", "", text, flags=re.S))


def test_a_column_of_one_value_says_which(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    n = 300
    some = np.where(rng.random(n) < 0.5, np.nan, 2.0)
    X = pd.DataFrame({"one": 7.5, "gaps": np.full(n, np.nan), "some": some})
    model = AdditiveRegressor().fit(X, rng.normal(size=n) + np.isnan(some))
    for arguments in ((), (X,)):
        _, page = written(tmp_path, model, *arguments)
        flat = "one (always 7.5 in training), gaps (always missing in training)."
        assert f"2 terms add nothing, or too little to be drawn: {flat}" in page.words
        assert "In training, 2 or missing." in page.words


def test_terms_that_add_nothing_are_a_line(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 4)), columns=["slope", "noise", EVIL, "few gaps"])
    X.loc[:30, "few gaps"] = np.nan
    y = 3 * X["slope"] + 4 * X["few gaps"].isna() + 0.01 * rng.normal(size=400)
    X[EVIL] = 1.0
    X["noise"] = rng.permutation(np.repeat([-1.0, 1.0], 200)) * 1.0
    model = AdditiveRegressor(random_state=0).fit(X, y)
    text, page = written(tmp_path, model, X, y)
    check_structure(text, page)
    told = re.search(r"(\d) terms? adds? nothing, or too little to be drawn: ([^.]*)", page.words)
    assert told
    assert f"{EVIL} (always 1 in training)" in told[2]
    for name in ("slope", "few gaps"):  # a missing value adds something
        assert name not in told[2]
        assert f"<h3>{name}</h3>" in text
    assert text.count('<figure class="card" id="term-') == 4 - int(told[1])
    assert len(re.findall('<a href="#term-', text)) >= 4 - int(told[1])
    still = text[text.index('<details class="still">') :]
    still = still[: still.index("</details>")]
    assert still.count("data-feature=") == int(told[1])
    assert len(page.data["terms"]) == 4  # the panel still computes what the model does


@pytest.mark.parametrize("kind", [bool, object, "boolean", float], ids=str)
@pytest.mark.parametrize("with_rows", [False, True])
def test_booleans_are_called_false_and_true(kind: Any, with_rows: bool, tmp_path: Path) -> None:
    """In pictures, tables and the panel; a number that is 0 or 1 remains a number."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({name: random.random(200) < 0.4 for name in ("on", "off", "gaps")})
    y = 1.0 * (X["on"] ^ X["off"]) + X["gaps"]
    X["always"] = True
    X = X.astype(kind)
    if kind in (object, "boolean"):
        X.loc[:9, "gaps"] = None
    model = AdditiveRegressor(interactions=[("on", "off")]).fit(X, y)
    text, page = written(tmp_path, model, X if with_rows else None)
    check_structure(text, page)
    if kind is float:
        assert "False" not in page.words
        return
    assert "always (always True in training)" in page.words
    for name, n in (("False", 4), ("True", 4)):  # there is a pair
        assert text.count(f'<th scope="row">{name}</th>') == n
        assert text.count(f">{name}</text>") == n + 1  # on both axes of the pair
    panel = text[text.index('<section id="what-if"') :]
    assert panel.count(">True</option>") == 4
    assert panel.count('<option value="1" selected>True</option>') >= 1  # of the constant
    curves = text[text.index('<section id="curves"') : text.index('<section id="what-if"')]
    assert not re.search(r'class="level"[^>]*>[01]<|<th scope="row">[01]<', curves)


def test_rows_with_one_boolean_value_show_both(tmp_path: Path) -> None:
    X = pd.DataFrame({"on": np.arange(100) % 3 == 0})
    model = AdditiveRegressor().fit(X, 1.0 * X["on"])
    text, _ = written(tmp_path, model, X[X["on"]])
    assert ">False</text>" in text
    assert ">True</text>" in text


def test_the_panel_begins_near_medians(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "skewed": rng.lognormal(3, 3, 2000),
            "even": rng.normal(170, 10, 2000),
            "far": rng.uniform(1e6, 1e6 + 10, 2000),
        }
    )
    X["mirrored"] = -X["skewed"]
    model = AdditiveRegressor().fit(X, np.log(X["skewed"]) + rng.normal(size=2000))
    _, page = written(tmp_path, model, X)
    values = {a["id"]: float(a["value"]) for a in page.named("input") if a.get("type") == "number"}
    for j, name in enumerate(X):
        below = (X[name] < values[f"f{j}"]).mean()
        assert 0.45 < below < 0.55


def test_names_stay_text(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({EVIL: rng.normal(size=300), "b": rng.choice([EVIL, "</style>&\"'"], 300)})
    y = np.where(X[EVIL] + (X["b"] == EVIL) > 0, EVIL, "</title>")
    pair = [(EVIL, "b")]
    model = AdditiveClassifier(random_state=0, interactions=pair).fit(X, y)
    text, page = written(tmp_path, model, X, y, title=f"{EVIL}</title>")
    check_structure(text, page)
    assert [a.get("type") for a in page.named("script")] == ["application/json", None]
    assert len(page.named("style", "head", "body", "h1")) == 4
    assert page.words.count(EVIL) > 10
    assert EVIL in page.data["outputs"] or EVIL in page.data["classes"]
    assert text.count("</script>") == 2


def test_policy_lets_nothing_else_run(tmp_path: Path) -> None:
    text, page = written(tmp_path, fitted("two classes"))
    policy = next(a["content"] for a in page.named("meta") if "http-equiv" in a) or ""
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        [content] = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize("name", ["two classes", "three classes"])
@pytest.mark.parametrize("weighted", [False, True])
def test_measures_of_classes(name: str, weighted: bool, tmp_path: Path) -> None:
    model, X = fitted(name), rows(name, 300)
    y = CASES[name].target(X)
    w = np.random.default_rng(0).uniform(size=len(y)) if weighted else None
    p = model.predict_proba(X)
    page = written(tmp_path, model, X, y, sample_weight=w)[1]
    assert shown(page, "Log-loss") == f"{metrics.log_loss(y, p, sample_weight=w):.4f}"
    accuracy = metrics.accuracy_score(y, model.predict(X), sample_weight=w)
    assert shown(page, "Accuracy") == f"{accuracy:.1%}"
    if len(model.classes_) == 2:
        area = metrics.roc_auc_score(y, p[:, 1], sample_weight=w)
        brier = metrics.brier_score_loss(y == "yes", p[:, 1], sample_weight=w)
        assert shown(page, "Area under ROC") == f"{area:.3f}"
        assert shown(page, "Brier score") == f"{brier:.4f}"
    elif not weighted:
        area = metrics.roc_auc_score(y, p, multi_class="ovr")
        assert shown(page, "Mean area under ROC") == f"{area:.3f}"


@pytest.mark.parametrize("name", ["squared error", "poisson", "gamma", "svr"])
def test_measures_of_numbers(name: str, tmp_path: Path) -> None:
    model, X = fitted(name), rows(name, 300)
    y = CASES[name].target(X)
    page = written(tmp_path, model, X, y)[1]
    predicted = model.predict(X)
    assert shown(page, "Mean absolute error") == f"{np.abs(y - predicted).mean():.4g}"
    error = np.sqrt(((y - predicted) ** 2).mean())
    assert shown(page, "Root mean squared error") == f"{error:.4g}"
    quality = "D²" if name in ("poisson", "gamma") else "R²"
    assert shown(page, quality) == f"{model.score(X, y):.3f}"


def test_classes_that_training_did_not_have(tmp_path: Path) -> None:
    model, X = fitted("two classes"), rows("two classes", 100)
    y = CASES["two classes"].target(X).astype(object)
    y[:10] = "perhaps"
    page = written(tmp_path, model, X, y)[1]
    assert shown(page, "Accuracy") == f"{np.mean(model.predict(X) == y):.1%}"
    known = y != "perhaps"
    loss = metrics.log_loss(y[known].astype(str), model.predict_proba(X[known]))
    assert shown(page, "Log-loss") == f"{loss:.4f}"


@pytest.mark.parametrize(
    ("name", "y", "message"),
    [
        ("two classes", np.arange(20), r"none of the model's classes, 'no', 'yes'; .* 0, 1, 2"),
        ("two classes", np.array(["yes", None] * 10), "first in row 1.* needs a class"),
        ("squared error", np.array(["yes", "no"] * 10), "must hold numbers, but row 0 holds 'yes'"),
        ("squared error", np.array([1.0, np.nan] * 10), "first in row 1"),
    ],
)
def test_targets_of_another_model_are_refused(
    name: str, y: np.ndarray, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        report.write(fitted(name), tmp_path / "model.html", rows(name, 20).head(20), y)


@pytest.mark.parametrize("name", ["two classes", "squared error"])
def test_targets_in_a_column(name: str, tmp_path: Path) -> None:
    model, X = fitted(name), rows(name, 50)
    y = CASES[name].target(X)
    plain = written(tmp_path, model, X, y)[0]
    assert written(tmp_path, model, X, pd.DataFrame({"y": y}))[0] == plain


def test_pipelines_and_names(tmp_path: Path) -> None:
    X, y = wide_table(500)
    X = X.iloc[:, 1:4]
    pipeline = make_pipeline(StandardScaler(), AdditiveClassifier(random_state=0)).fit(X, y)
    page = written(tmp_path, pipeline, X, y, title="Churn", class_names=["stays", "leaves"], top=2)[
        1
    ]
    assert "Churn" in page.words
    assert "Probability of" not in page.words  # that is said by the script
    assert "log-odds of leaves" in page.words
    assert page.data["outputs"] == ["leaves"]
    assert len(page.data["terms"]) == 2
    assert "measurement 1" in page.words


def test_concurvity_is_warned_of(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    a, c = rng.normal(size=(2, 500))
    X = pd.DataFrame({"a": a, "b": a + 0.05 * rng.normal(size=500), "c": c})
    alike = AdditiveRegressor(random_state=0).fit(X, np.sin(a) + c)
    apart = AdditiveRegressor(random_state=0).fit(X[["a", "c"]], np.sin(a) + c)
    assert "stand in for each other" in written(tmp_path, alike)[1].words
    assert "stand in for each other" not in written(tmp_path, apart)[1].words


def test_a_failure_leaves_the_old_page(tmp_path: Path) -> None:
    path = tmp_path / "model.html"
    path.write_text("old")
    model, X = fitted("two classes"), rows("two classes", 20)
    with pytest.raises(ValueError, match="y_test has 3"):
        report.write(model, path, X, ["yes", "no", "yes"])
    with pytest.raises(ValueError, match="give X_test"):
        report.write(model, path, None, ["yes"])
    with pytest.raises(ValueError, match="top must be"):
        report.write(model, path, top=0)
    with pytest.raises(ValueError, match="class_names must have 2"):
        report.write(model, path, class_names=["one"])
    with pytest.raises(TypeError, match="AdditiveClassifier"):
        report.write(StandardScaler(), path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["model.html"]


def test_one_row_and_one_class(tmp_path: Path) -> None:
    model, X = fitted("two classes"), rows("two classes", 40)
    y = CASES["two classes"].target(X)
    for chosen in (np.arange(1), np.flatnonzero(y == "yes")):
        page = written(tmp_path, model, X.iloc[chosen], y[chosen])[1]
        assert "Accuracy" in page.words
        assert "ROC" not in page.words
    regressor = fitted("squared error")
    page = written(tmp_path, regressor, X.iloc[:1], [1.0])[1]
    assert "Mean absolute error" in page.words


def test_sparse_tables(tmp_path: Path) -> None:
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = sparse.random(300, 80, 0.1, format="csr", random_state=0)
    y = np.asarray(X.sum(axis=1)).ravel() + 0.1 * rng.normal(size=300) > 3.9
    model = AdditiveSVC(random_state=0, C=1.0).fit(X, y)
    text, page = written(tmp_path, model, X, y)
    check_structure(text, page)
    assert "30 more terms" in page.words


def quality_of(page: Page) -> str:
    return page.words.partition("Quality on test rows")[2].partition("Terms by importance")[0]


def test_labels_in_a_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((200, 5)) < 0.4).astype(float)
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=200) > 0.5, 1, -1)
    dump_svmlight_file(X, y, str(tmp_path / "s.svm"))
    model = AdditiveSVC(C=1.0, random_state=0).fit(tmp_path / "s.svm")
    page = written(tmp_path, model, tmp_path / "s.svm")[1]
    assert "Accuracy" in quality_of(page)
    assert f"{model.score(X, y):.1%}" in quality_of(page)


def test_test_rows_in_a_file(tmp_path: Path) -> None:
    """A file and the name of its column are what fit and score take, too."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"a": rng.normal(size=300), "place": rng.choice(["x", "z"], 300)})
    data["sold"] = np.where(data["a"] + rng.normal(size=300) > 0, "yes", "no")
    data.to_parquet(tmp_path / "s.parquet")
    data.to_csv(tmp_path / "s.csv", index=False)
    model = AdditiveClassifier(random_state=0).fit(tmp_path / "s.parquet", "sold")
    in_memory = quality_of(written(tmp_path, model, data[["a", "place"]], data["sold"])[1])
    assert "Area under ROC" in in_memory
    for name in ("s.parquet", "s.csv"):
        assert quality_of(written(tmp_path, model, str(tmp_path / name), "sold")[1]) == in_memory
    without = written(tmp_path, model, tmp_path / "s.parquet")[1].words
    assert "Area under ROC" not in without
    with pytest.raises(ValueError, match="'sol'"):
        written(tmp_path, model, tmp_path / "s.parquet", "sol")
    with pytest.raises(ValueError, match="y is the text 'sold'"):
        written(tmp_path, model, data[["a", "place"]], "sold")


def test_money_is_written_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=600)})
    y = 28_250 + 12_000 * np.sin(X["a"]) + 40_000 * rng.normal(size=600)
    text, page = written(tmp_path, AdditiveRegressor(random_state=0).fit(X, y), X, y)
    seen = page.words.replace("1e-16", "")
    assert re.search(r"Root mean squared error \d\d,\d\d\d without features \d\d,\d\d\d", seen)
    assert not re.search(r"\de\+\d", seen)
    assert not re.search(r">[\d\u2212]+k<", text)
    assert ">50,000</text>" in text


def test_a_model_of_logarithms_shows_factors(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(0, 20, 900), "where": rng.choice(["a", "b"], 900)})
    X["age"] = X["age"].mask(rng.random(900) < 0.1)
    mean = np.exp(-0.1 * X["age"].fillna(3) * (1 + (X["where"] == "b")))
    y = 30_000 * mean * rng.gamma(5, 0.2, 900)
    pair = [("age", "where")]
    model = AdditiveRegressor(loss="gamma", random_state=0, interactions=pair).fit(X, y)
    text, page = written(tmp_path, model, X, y, target_name="cost")
    check_structure(text, page)
    curves = text[text.index('<section id="curves"') : text.index('<section id="what-if"')]
    assert "log of cost" not in curves
    assert curves.count("factor on cost") >= 4
    for tick in ("0.5", "1.0"):
        assert f">\u00d7{tick}</text>" in curves
    term = model.terms_.of_feature(1)
    for level, own in zip(term.levels, term.evaluate(np.arange(2.0)) - term.mean, strict=True):
        assert f'<th scope="row">{level}</th><td>\u00d7{np.exp(own[0]):.3g}</td>' in curves
    assert "What each feature multiplies cost by" in page.words
    assert "What two features together multiply cost by" in page.words
    assert "Multiplies by" in page.words


def test_a_model_without_effects_has_no_curves(tmp_path: Path) -> None:
    X = pd.DataFrame({"a": np.ones(100), "b": np.zeros(100)})
    model = AdditiveRegressor(loss="poisson").fit(X, np.arange(100) % 3)
    text, page = written(tmp_path, model, X, np.arange(100) % 3)
    check_structure(text, page)
    assert "2 terms add nothing" in page.words
    assert "Curves and levels" not in page.words


def test_the_spread_of_many_levels_is_told(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    code, effect = rng.integers(0, 300, 9000), 10_000 * rng.normal(size=300)
    X = pd.DataFrame({"shop": np.char.add("shop-", code.astype(str))})
    model = AdditiveRegressor(random_state=0).fit(X, effect[code] + rng.normal(size=9000))
    words = written(tmp_path, model, X)[1].words
    term = model.terms_.of_feature(0)
    f = (term.evaluate(np.arange(300.0)) - term.mean)[:, 0]
    ends = [f"{q:+,.0f}".replace("-", "\u2212") for q in np.quantile(f, [0.25, 0.75, 0.05, 0.95])]
    assert f"half are between {ends[0]} and {ends[1]}" in words
    assert f"nine in ten between {ends[2]} and {ends[3]}." in words
    assert re.search(r"The picture has the 1[34] of 300 levels that matter most\.", words)


def test_small_surfaces_are_pale(tmp_path: Path) -> None:
    """One of 0.02 looked like one of 2: the deepest color of both was the same."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1.0, 1.0, (4000, 3)), columns=list("abc"))
    y = 2.0 * X["a"] * X["b"] + 0.02 * X["b"] * X["c"] + 0.01 * rng.normal(size=4000)
    model = AdditiveRegressor(interactions=[("a", "b"), ("b", "c")], random_state=0).fit(X, y)
    text, page = written(tmp_path, model, X, y)
    assert "The deepest color is at least an eighth of the range of the largest term" in page.words
    text = text[text.index('id="surfaces"') :]
    deepest = [float(end) for end in re.findall(r">\u2212[\d.]+ to \+([\d.]+)<", text)]
    assert deepest == [pytest.approx(2.1, abs=0.15), pytest.approx(4.2 / 8.0, abs=0.03)]
    maps = [svg for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL) if 'class="heat' in svg]
    n_colors = [len(re.findall(r'<path[^>]*class="heat [npz]\d"', svg)) - 13 for svg in maps]
    assert n_colors[0] > 10  # beside those of the key
    assert n_colors[1] == 1
