"""The benchmarks that need no processes of their own, run here: what they print and write."""

import io
import os
import re
import runpy
import shutil
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

from splinear import _core
from splinear.terms import Varying

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")

FOLDER = Path(__file__).parents[2] / "benchmarks"
SETTINGS = ["n_bins=64", "n_bins=32", 'knots="uniform"', "penalty_order=2", "C=1.0"]
OTHERS = ["linear model", "SplineTransformer", "HistGradientBoosting"]


def run(name, *arguments, data=None, run_name="__main__"):
    """Run a benchmark in this process; return what it prints, and its names."""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.syspath_prepend(FOLDER)
        patch.setattr(sys, "argv", [name, *map(str, arguments)])
        patch.delenv("SPLINEAR_DATA", raising=False)
        if data is not None:
            patch.setenv("SPLINEAR_DATA", data)
        try:
            names = runpy.run_path(str(FOLDER / f"{name}.py"), run_name=run_name)
        finally:
            for script in FOLDER.glob("*.py"):
                sys.modules.pop(script.stem, None)
    return printed.getvalue(), names


def tables_of(page):
    """The tables of a page, as lists of cells."""
    blocks = re.findall(r"(?:^\|.*\|\n)+", page, re.MULTILINE)
    return [[line.strip("| ").split(" | ") for line in block.splitlines()] for block in blocks]


# -- names and files that are not there ------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("fit", "--data"),
        ("path", "--data"),
        ("solvers", "--data"),
        ("defaults", "--data"),
        ("sparse_tables", "--data"),
        ("text_settings", "--data"),
        ("tabular", "--data"),
        ("tabular", "--rivals"),
        ("bands", "--losses"),
        ("surface_bands", "--losses"),
    ],
)
def test_unknown_names_are_refused(name, option, capsys):
    with pytest.raises(SystemExit, match="2"):
        run(name, "--quick", option, "nonsense")
    said = capsys.readouterr().err
    assert said.rstrip().endswith(f"{option}: no such one: nonsense")


@pytest.mark.parametrize("name", ["path", "solvers", "defaults", "tabular"])
def test_a_set_that_is_not_there_is_left_out(name):
    printed, _ = run(name, "--quick", "--data", "magic")
    assert "magic: left out" in printed


def test_a_set_that_is_not_there_is_left_out_of_fits(capsys, monkeypatch):
    monkeypatch.delenv("SPLINEAR_DATA", raising=False)
    _, fit = run("fit", run_name="fit")
    settings = fit["Settings"](data=("adult",), quick=True, output=None, limit=60)
    assert fit["compare"]("adult", settings) == []
    assert "adult: left out" in capsys.readouterr().out


# -- the defaults ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("defaults")
    run("defaults", "--quick", "--output", folder)
    return (folder / "defaults.md").read_text()


@pytest.fixture(scope="module")
def tables(page):
    """The tables of numbers by measure and data set, as dicts from columns to cells."""
    return {
        (head[0], line[0]): dict(zip(head[2:], line[2:], strict=True))
        for head, _, line, *_ in tables_of(page)
        if "rows x columns" in head
    }


def test_every_model_has_its_numbers(tables):
    two = ["AdditiveClassifier()", *SETTINGS, "AdditiveSVC()", *OTHERS]
    assert list(tables["AUC", "synthetic"]) == two
    assert list(tables["log-loss", "synthetic"]) == two
    assert list(tables["R²", "diabetes"]) == [
        "AdditiveRegressor()",
        *SETTINGS,
        "AdditiveSVR()",
        *OTHERS,
    ]
    several = ["AdditiveClassifier()", "C=1.0", "AdditiveSVC()", "linear model"]
    assert list(tables["accuracy", "digits"]) == several
    for (measure, data), cells in tables.items():
        numbers = [cell.strip("*") for cell in cells.values()]
        missing = [name for name, cell in cells.items() if cell == "-"]
        assert missing == (["AdditiveSVC()"] if measure == "log-loss" else []), (measure, data)
        assert all(float(number) > 0 for number in numbers if number != "-")


def test_the_best_of_ours_is_bold(tables):
    for (measure, _), cells in tables.items():
        if measure == "seconds":
            continue
        ours = {name: cell for name, cell in cells.items() if name not in OTHERS and cell != "-"}
        values = {name: float(cell.strip("*")) for name, cell in ours.items()}
        best = (min if measure == "log-loss" else max)(values, key=values.__getitem__)
        assert cells[best].startswith("**")
        for name, cell in cells.items():
            behind = abs(values[name] - values[best]) if name in values else 1.0
            if abs(behind - 0.0005) > 1.01e-4:  # more than the rounding of both cells
                assert cell.startswith("**") == (behind < 0.0005), (measure, name)


def test_curves_beat_lines(tables):
    auc = {name: float(cell.strip("*")) for name, cell in tables["AUC", "synthetic"].items()}
    assert min(value for name, value in auc.items() if name != "linear model") > 0.85
    assert auc["linear model"] < 0.6


def test_the_page_says_what_follows_from_the_numbers(page, tables):
    assert "A quick run" in page
    follows = " ".join(page.split("## What follows")[1].split())
    numbers = tables["log-loss", "synthetic"]
    loss = {name: float(cell.strip("*")) for name, cell in numbers.items() if cell != "-"}
    default = loss["AdditiveClassifier()"]
    for name in (*SETTINGS, *OTHERS):
        said = re.search(
            rf"\| {re.escape(name)} \| log-loss \| (\d) \| (\d) \| 1 \| (\S+)", follows
        )
        assert said is not None, name
        gain = default - loss[name]
        assert float(said[3]) == pytest.approx(gain, abs=2e-4)
        if abs(abs(gain) - 0.0005) > 1e-4:  # more than the rounding of the page
            assert [int(said[1]), int(said[2])] == [int(gain > 0.0005), int(gain < -0.0005)]
    ours = [loss[name] for name in ("AdditiveClassifier()", *SETTINGS)]
    [behind] = re.findall(r"By log-loss, `AdditiveClassifier\(\)` is (\S+) behind", follows)
    assert float(behind) == pytest.approx(default - min(ours), abs=2e-4)


# -- small tables ----------------------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.skipif("SPLINEAR_DATA" not in os.environ, reason="SPLINEAR_DATA is not set")
def test_small_tables_beside_mgcv(tmp_path):
    run("small_tables", "kyphosis", "ToothGrowth", data=os.environ["SPLINEAR_DATA"])
    arguments = ("--quick", "--output", tmp_path)
    run("small_tables", *arguments, data=os.environ["SPLINEAR_DATA"])
    page = (tmp_path / "small_tables.md").read_text()
    assert "| airquality | gaussian | 111 x 5 |" in page
    assert "tables above 1.02" in page


# -- weights, copies and groups --------------------------------------------------------------------


def test_what_counts_as_information(tmp_path):
    run("weights", "--quick", "--output", tmp_path)
    page = (tmp_path / "weights.md").read_text()
    (_, _, plain, *others), (_, _, *precise), (_, _, *panel), (_, _, *rare) = tables_of(page)
    assert plain[0] == "as they are"
    for line in others[:4]:  # copies of all rows, and factors
        assert float(line[1]) == pytest.approx(float(plain[1]), abs=2e-3)
        assert float(line[2]) == pytest.approx(float(plain[2]), abs=0.2)
    assert [line[1] for line in precise] == ["1, 4, 20", "equal"] * 2 + ["1, 4, 20"]
    assert len(panel) == 4
    assert len(rare) == 3
    assert page.count("(bar: ") == 11


# -- numbers, categories and gaps ------------------------------------------------------------------


def test_one_category_or_gap_among_numbers(tmp_path):
    pytest.importorskip("pandas")
    run("mixed", "--quick", "--output", tmp_path)
    page = (tmp_path / "mixed.md").read_text()
    (_, _, alone, *others), (_, _, *raw), (_, _, *many) = tables_of(page)

    assert alone[0] == "20 columns of numbers"
    assert len(others) == 3
    for line in others:
        for first in (1, 4):  # of either model: seconds, ratio, passes
            ratio = float(line[first]) / float(alone[first])
            # The page has three digits of seconds, and two behind the point of ratios.
            assert float(line[first + 1]) == pytest.approx(ratio, abs=0.0051 + 0.0101 * ratio)
    assert page.count("ratio of seconds: ") == 6

    assert [line[0] for line in raw] == ["AdditiveSVC()", "AdditiveClassifier()"]
    assert all(float(line[2]) > 0.9 for line in raw)
    assert all(line[3] == "2" for line in raw)  # bytes per cell
    assert "2,000 training rows and 6 columns, 2 of them text" in page

    assert [line[1] for line in many] == 2 * ["numbers alone", "with `person`"]
    assert all(line[-1] == "none" for line in many)  # warnings
    for without, with_levels in (many[:2], many[2:]):
        assert float(with_levels[4]) > float(without[4]) + 0.02


def test_a_raw_table_without_files(tmp_path):
    pytest.importorskip("pandas")
    run("raw_table", "--quick", "--output", tmp_path)
    [(_, _, *lines)] = tables_of((tmp_path / "raw_table.md").read_text())
    aucs = {tuple(line[:2]): float(line[2]) for line in lines}
    assert len(aucs) == 4
    for model in ("AdditiveClassifier()", "AdditiveClassifier(C=1.0)"):
        assert 0.85 < aucs["20% of the cells blank", model] < aucs["whole", model]


@pytest.mark.data
@pytest.mark.skipif("SPLINEAR_DATA" not in os.environ, reason="SPLINEAR_DATA is not set")
def test_the_raw_table_keeps_its_bars(tmp_path):
    run("raw_table", "--output", tmp_path, data=os.environ["SPLINEAR_DATA"])
    page = (tmp_path / "raw_table.md").read_text()
    assert "AUC of the whole table: 0.929 (bar: at least 0.927) holds" in page
    lost = next(line for line in page.splitlines() if "AUC lost to the blanks" in line)
    assert lost.endswith("holds")


# -- instruction sets ------------------------------------------------------------------------------


def test_every_instruction_set(tmp_path, monkeypatch):
    """All curves on all sets, to the gap that is asked for; the variable is left as it was."""
    monkeypatch.setenv("SPLINEAR_INSTRUCTIONS", "portable")
    printed, _ = run("instructions", "--quick", "--output", tmp_path)
    assert os.environ["SPLINEAR_INSTRUCTIONS"] == "portable"
    page = (tmp_path / "instructions.md").read_text()
    assert page.strip() in printed
    [[head, _, *lines]] = tables_of(page)
    names = [name for name in _core.instruction_sets() if name != "reference"]
    assert [line[1] for line in lines] == 6 * names
    cells = [dict(zip(head, line, strict=True)) for line in lines]
    assert all(float(cell["gap"]) <= 1e-2 and int(cell["passes"]) > 0 for cell in cells)
    assert all(float(cell["to the first"]) == 1.0 for cell in cells if cell is cells[0])
    assert page.count("(bar:") == 6 + 6 * len(names)


def test_every_kernel_beside_its_bound(tmp_path, monkeypatch):
    monkeypatch.setenv("SPLINEAR_INSTRUCTIONS", "portable")
    printed, _ = run("bounds", "--quick", "--output", tmp_path)
    assert os.environ["SPLINEAR_INSTRUCTIONS"] == "portable"
    page = (tmp_path / "bounds.md").read_text()
    assert page.strip() in printed
    [[head, _, *lines]] = tables_of(page)
    cells = [dict(zip(head, line, strict=True)) for line in lines]
    names = [name for name in _core.instruction_sets() if name != "reference"]
    counts = sorted({1, os.cpu_count() or 1})
    assert [cell["threads"] for cell in cells] == [
        str(n) for n in counts for _ in range(4 * 2 * len(names))
    ]
    for cell in cells:
        ratio = float(cell["ns"]) / float(cell["bound, ns"])
        assert float(cell["to the bound"]) == pytest.approx(ratio, rel=2e-2)
        assert float(cell["to uniform"]) == 1.0 or cell["knots"] == "default"
    assert page.count("(bar:") == 4 * len(counts) + 2 * len(names)


# -- several classes, paths ------------------------------------------------------------------------


def test_several_classes(tmp_path):
    run("classes", "--quick", "--output", tmp_path)
    page = (tmp_path / "classes.md").read_text()
    assert "all 10 classes on 2 cores" in page
    assert page.count("(bar: ") == 5
    [(_, _, *lines)] = tables_of(page)
    assert len(lines) == 3
    assert all(float(line[2].rstrip("%")) > 90 for line in lines)


def test_ordered_levels(tmp_path):
    run("levels", "--quick", "--output", tmp_path)
    page = (tmp_path / "levels.md").read_text()
    [(_, _, *lines)] = tables_of(page)
    assert [line[1] for line in lines] == [
        "AdditiveOrdinal", "AdditiveClassifier", "AdditiveRegressor"
    ]  # fmt: skip
    assert float(lines[0][3]) < float(lines[1][3])  # ranked probability scores
    assert page.count("(bar: ") == 1


def test_reml(tmp_path):
    run("reml", "--quick", "--threads", "1", "--output", tmp_path)
    page = (tmp_path / "reml.md").read_text()
    (table,) = tables_of(page)
    assert [line[0] for line in table[2:]] == ["census, raw", "a million rows", "100 columns"]
    for line in table[2:]:
        assert int(line[3]) >= 5  # turns
        assert int(line[4]) > 2 * int(line[3])  # passes
        assert 0 <= int(line[5].removesuffix(" %")) < 100
    assert page.count("(bar: ") == 4
    assert "speed-up on 16 threads: (bar: at least 9) not measured" in page


def test_threads(tmp_path):
    run("threads", "--quick", "--most", "2", "--output", tmp_path)
    page = (tmp_path / "threads.md").read_text()
    [(_, _, *lines)] = tables_of(page)
    assert {line[0] for line in lines} >= {"hinge", "Newton", "REML", "coding", "scoring"}
    assert all(float(line[2]) > 0 and line[3] == "2" for line in lines)
    assert page.count("not measured") == page.count("(bar: ") == 8


def test_shapes(tmp_path):
    run("shapes", "--quick", "--output", tmp_path)
    page = (tmp_path / "shapes.md").read_text()
    [(_, _, *lines)] = tables_of(page)
    assert len(lines) == 11
    assert all(float(line[4]) <= 1e-3 for line in lines)  # the gap
    assert page.count("(bar: ") == 1


def test_gams(tmp_path):
    run("gams", "--quick", "--output", tmp_path)
    page = (tmp_path / "gams.md").read_text()
    errors, seconds = tables_of(page)
    assert [line[:2] for line in errors[2:]] == [["numbers", "400"], ["labels", "400"]]
    assert all(float(line[2]) > 0 and line[3:] == ["-"] * 3 for line in errors[2:] + seconds[2:])


def test_quantile(tmp_path):
    pytest.importorskip("statsmodels", reason="statsmodels is not installed")
    run("quantile", "--quick", "--output", tmp_path)
    [(_, _, *lines)] = tables_of((tmp_path / "quantile.md").read_text())
    assert [line[0] for line in lines[::4]] == ["waves", "skewed", "heavy tails"]
    for loss, error, crossing, _ in zip(*(lines[m::4] for m in range(4)), strict=True):
        assert 0.0 < float(loss[3]) < float(loss[5])
        assert 0.0 < float(error[3]) < float(error[5])
        assert crossing[3] == "0"


def test_smooth_truths(tmp_path):
    run("smooth_truths", "--quick", "--output", tmp_path)
    page = (tmp_path / "smooth_truths.md").read_text()
    [(_, _, *lines)] = tables_of(page)
    assert [line[2] for line in lines] == 6 * ["test RMSE", "error", "seconds"]
    for rmse, error in zip(lines[::3], lines[1::3], strict=True):
        noise = 2.0 if "gamSim" in rmse[0] else 1.0
        both = np.hypot(noise, float(error[3]))
        assert float(rmse[3]) == pytest.approx(both, rel=0.015)  # 50,000 rows: 5 deviations
        assert rmse[4:] == error[4:] == ["-", "-"]
    assert page.count("not measured") == 6


def test_varying(tmp_path):
    run("varying", "--quick", "--output", tmp_path)
    page = (tmp_path / "varying.md").read_text()
    [(_, _, *lines)] = tables_of(page)
    assert [line[2] for line in lines] == 4 * ["error", "seconds"]
    assert all(0.0 < float(line[3]) < float(line[4]) for line in lines[::2])
    assert page.count("not measured") == 4


@pytest.mark.parametrize("kind", ["slope", "logistic", "curve per level", "random slopes"])
def test_errors_of_varying_coefficients_are_those_of_mgcv(kind):
    """On average over ten tables of 400 rows; mgcv's are recorded in the benchmark."""
    _, names = run("varying", run_name="loaded")
    tables = [names["draw"](kind, 400, seed) for seed in range(10)]
    ours = [names["fit"](kind, rows, Varying())[0] for rows in tables]
    assert np.mean(ours) < 1.05 * names["RECORDED"][kind, 400][0]


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_code_for_mgcv_runs():
    _, names = run("smooth_truths", run_name="loaded")
    rows, test = (names["example"](6, 2_000, seed) for seed in range(2))
    errors = [error for _, error, _ in names["of_mgcv"](rows, test)]
    assert len(errors) == len(names["RANKS"])
    assert all(0.1 < error < 0.6 for error in errors)  # of means that vary by 3 or more


def test_pairs_held_out(tmp_path):
    run("pairs_held_out", "--quick", "--at-once", "2", "--output", tmp_path)
    page = (tmp_path / "pairs_held_out.md").read_text()
    classes, categories = tables_of(page)
    assert [line[1] for line in classes[2:]] == ["0", "20", "auto"]
    assert [line[4] for line in classes[2:4]] == ["0", "20"]
    assert len(categories) == 3
    assert page.count("(bar: ") in (3, 4)  # there is no time to compare if no pairs are best


def test_pairs(tmp_path):
    run("pairs", "--quick", "--output", tmp_path)
    page = (tmp_path / "pairs.md").read_text()
    by_measure = {head[0]: lines for head, _, *lines in tables_of(page)}
    [friedman] = by_measure["RMSE"]
    curves, pairs = map(float, friedman[2:4])
    assert pairs < 0.8 * curves  # of sin(pi x0 x1)
    assert "3 products of two features are planted among 190" in page


def test_a_path():
    printed, _ = run("path", "--quick")
    head, *lines = [line.split(" | ") for line in printed.splitlines()]
    assert [line[0] for line in lines] == [
        "synthetic, AdditiveSVC, 10 bins",
        "synthetic, AdditiveClassifier, 10 bins",
    ]
    for line, tol in zip(lines, (1e-2, 1e-3), strict=True):
        found = dict(zip(head, line, strict=True))
        assert 0 < float(found["disagreement"]) < tol  # each point of the path, from a cold fit
        assert float(found["score"]) > 0.75


# -- solvers ---------------------------------------------------------------------------------------


def test_all_solvers_find_the_same_optimum(tmp_path):
    run("solvers", "--quick", "--output", tmp_path / "made")
    page = (tmp_path / "made" / "solvers.md").read_text()
    [(_, _, *lines)] = tables_of(page)
    assert all(line[:2] == ["synthetic", "1,500 x 30"] for line in lines)
    excess = {line[2]: float(line[4]) for line in lines if line[4] != "-"}
    assert list(excess) == [
        "AdditiveClassifier, tol=1e-3",
        "AdditiveClassifier, tol=1e-6",
        "SplineEmbedding + lbfgs",
        "SplineEmbedding + newton-cholesky",
    ]
    assert min(excess.values()) == 0
    assert excess["AdditiveClassifier, tol=1e-3"] < 1e-3
    assert excess["AdditiveClassifier, tol=1e-6"] < 1e-6
    assert excess["SplineEmbedding + newton-cholesky"] < 1e-6
    seconds = {line[2]: float(line[3]) for line in lines}
    for name, ratio in re.findall(r"^- (.*) takes (\S+) to \2 times", page, re.MULTILINE):
        wanted = seconds.pop(name) / seconds["AdditiveClassifier, tol=1e-3"]
        # All three have two digits, each 5 % off at most: 1.05 / 0.95^2 is 1.163.
        assert float(ratio) == pytest.approx(wanted, rel=0.164)
    assert list(seconds) == list(excess)[:2]  # all others were compared


# -- sparse tables ---------------------------------------------------------------------------------


def test_sparse_tables(tmp_path):
    run("sparse_tables", "--quick", "--output", tmp_path / "made")
    page = (tmp_path / "made" / "sparse.md").read_text()
    names = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert names == ["counts", "counts, tf-idf", "few topics"]
    right = re.findall(r"^- AdditiveSVC\(\): ([+-]\d+) rows right of 250", page, re.MULTILINE)
    for (_, _, linear, ours), more in zip(tables_of(page), right, strict=True):
        assert [linear[0], ours[0]] == ["LinearSVC()", "AdditiveSVC()"]
        accuracies = [float(line[3].rstrip("%")) for line in (linear, ours)]
        assert min(accuracies) > 65
        assert int(more) == round((accuracies[1] - accuracies[0]) * 2.5)
        assert float(ours[4]) > 0.05  # gigabytes


def test_settings_for_text(tmp_path):
    printed, _ = run("text_settings", "--quick", "--output", tmp_path)
    page = (tmp_path / "text_settings.md").read_text()
    assert page.strip() in printed
    [accuracy] = tables_of(page)
    forms = [f"few texts, {form}" for form in ("counts", "tf-idf", "sublinear")]
    assert [line[0] for line in accuracy[2:]] == forms
    assert [accuracy[0][1], accuracy[0][-1]] == ["AdditiveSVC()", "LinearSVC()"]
    for line in accuracy[2:]:
        default = float(line[1])
        for cell in line[2:]:
            mean, more = re.match(r"(\S+) \(([+-]\S+) ± \S+\)$", cell).groups()
            # Three numbers with two digits behind the point.
            assert float(more) == pytest.approx(float(mean) - default, abs=0.0151)


# -- bands -----------------------------------------------------------------------------------------


def test_coverage_of_every_curve(tmp_path):
    printed, _ = run("bands", "--sets", 2, "--losses", "gaussian", "--output", tmp_path)
    page = (tmp_path / "bands.md").read_text()
    assert page.strip() in printed
    assert "## gaussian: 2 data sets" in page
    coverage, shares_of_p = tables_of(page)
    curves = ["sine", "bump", "line", "wave", "null 1", "null 2"]
    assert [line[0] for line in coverage[2:]] == [line[0] for line in shares_of_p[2:]] == curves
    assert all(0.7 < float(line[2]) <= 1.0 for line in coverage[2:4])  # the strong ones
    assert page.count("(bar:") == 4 + 2 * 3


def test_coverage_of_every_surface(tmp_path):
    printed, _ = run("surface_bands", "--sets", 2, "--losses", "gaussian", "--output", tmp_path)
    page = (tmp_path / "surface_bands.md").read_text()
    assert page.strip() in printed
    [lines] = tables_of(page)
    assert [line[0] for line in lines[2:]] == ["product", "waves", "half null", "null"]
    assert all(0.5 < float(line[1]) <= 1.0 for line in lines[2:])
    assert page.count("(bar:") == 2 + 2 * 3
