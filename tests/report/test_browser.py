"""The page in a real Chromium."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from exported_models import CASES, fitted, rows

from splinear import AdditiveClassifier, AdditiveRegressor, inspection, report

selenium = pytest.importorskip("selenium")
pytest.importorskip("jinja2")

from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not BROWSER or not DRIVER, reason="there is no Chromium, or no driver"),
]

EVIL = "<script>alert(1)</script>"

# Writes a row into the controls as a reader would, and reads what the panel says.
TRY = """
const answers = [];
for (const row of arguments[0]) {
  for (const [feature, value] of Object.entries(row)) {
    const line = document.querySelector(`.row[data-feature="${feature}"]`);
    const choice = line.querySelector("select");
    if (choice) {
      const wanted = value === null ? "(missing)" : value;
      const option = [...choice.options].find((own) => own.textContent === wanted);
      choice.value = option ? option.value : "unseen";
      choice.dispatchEvent(new Event("input", {bubbles: true}));
    } else if (value === null) {
      const box = line.querySelector("input[type=checkbox]");
      box.checked = true;
      box.dispatchEvent(new Event("input", {bubbles: true}));
    } else {
      const number = line.querySelector("input[type=number]");
      number.value = value;
      number.dispatchEvent(new Event("input", {bubbles: true}));
    }
  }
  const said = document.getElementById("result").dataset;
  answers.push([said.score, said.probability, said.mean]);
}
return answers;
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    wanted = "headless=new no-sandbox disable-gpu disable-dev-shm-usage"
    for argument in (*wanted.split(), "force-prefers-reduced-motion"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


def opened(browser: Any, folder: Path, model: Any, *arguments: Any, **more: Any) -> None:
    path = folder / "model.html"
    report.write(model, path, *arguments, **more)
    browser.get_log("browser"), browser.get_log("performance")  # of the page before
    browser.get(path.as_uri())


def requests(browser: Any) -> list[str]:
    """What the page has loaded, but for itself."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    return [url for url in urls if not url.startswith(("file:", "data:"))]


def with_controls(model: Any, X: pd.DataFrame) -> pd.DataFrame:
    """Return rows that are missing only what was missing in training, too."""
    for j, name in enumerate(X.columns):
        term = model.terms_.of_feature(j)
        if term is not None and not term.had_missing:
            X = X[X[name].notna()]
    return X


def as_typed(model: Any, X: pd.DataFrame) -> list[dict[str, str | None]]:
    there = [j for j in range(X.shape[1]) if model.terms_.of_feature(j) is not None]
    is_level = {j for j in there if model.terms_.of_feature(j).levels is not None}

    def typed(j: int, value: Any) -> str | None:
        if value is None or value != value:
            return None
        return str(value) if j in is_level else repr(float(value))

    return [
        {str(j): typed(j, row[j]) for j in there} for row in X.astype(object).to_numpy().tolist()
    ]


NAMES = ["two classes", "three classes", "labels", "ordered levels", "pairs",
         "pairs of three classes", "pairs with few nodes", "squared error", "poisson", "gamma",
         "svc", "svc of three", "svr", "degree 0", "degree 1, linear", "degree 2",
         "degree 3, linear", "given knots", "waves", "polynomials"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_panel_computes_what_the_model_does(name: str, browser: Any, tmp_path: Path) -> None:
    model = fitted(name)
    X = with_controls(model, rows(name))
    X = X.sample(100, random_state=0)
    opened(browser, tmp_path, model)
    answers = browser.execute_script(TRY, as_typed(model, X))
    scores = np.array([json.loads(score) for score, _, _ in answers])
    np.testing.assert_allclose(scores, model._scores(X), rtol=1e-9, atol=1e-9)
    if hasattr(model, "predict_proba"):
        p = np.array([json.loads(chance) for _, chance, _ in answers])
        expected = model.predict_proba(X)
        expected = np.column_stack(expected) if isinstance(expected, list) else expected
        np.testing.assert_allclose(p, expected, atol=1e-6)
    elif CASES[name].target.__name__ in ("number", "count", "positive"):
        mean = np.array([json.loads(mean) for _, _, mean in answers])
        np.testing.assert_allclose(mean, model.predict(X), rtol=1e-6)
    assert browser.get_log("browser") == []


def test_booleans_are_chosen_by_name(browser: Any, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    X = pd.DataFrame({"on": random.random(200) < 0.4, "off": random.random(200) < 0.4})
    y = 1.0 * (X["on"] ^ X["off"])
    model = AdditiveRegressor(interactions=[("on", "off")]).fit(X, y)
    opened(browser, tmp_path, model)
    few = X.drop_duplicates()
    typed = [{str(j): str(bool(v)) for j, v in enumerate(row)} for row in few.to_numpy()]
    answers = browser.execute_script(TRY, typed)
    means = np.array([json.loads(mean) for _, _, mean in answers])
    np.testing.assert_allclose(means, model.predict(few), rtol=1e-6)


def test_nothing_is_loaded_and_names_stay_text(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({EVIL: rng.normal(size=300), "b": rng.choice([EVIL, "</script>"], 300)})
    y = np.where(X[EVIL] + (X["b"] == EVIL) > 0, EVIL, "</title>")
    model = AdditiveClassifier(random_state=0, interactions=[(EVIL, "b")]).fit(X, y)
    opened(browser, tmp_path, model, X, y, title=EVIL)
    assert browser.get_log("browser") == []
    assert requests(browser) == []
    assert browser.title == EVIL
    assert browser.find_element(By.TAG_NAME, "h1").text == EVIL
    labels = [own.text for own in browser.find_elements(By.CSS_SELECTOR, ".row > label")]
    assert sorted(labels) == sorted([EVIL, "b"])
    assert len(browser.find_elements(By.TAG_NAME, "script")) == 2
    [figure] = browser.find_elements(By.CSS_SELECTOR, "#figures > div")
    assert EVIL in figure.text or "</title>" in figure.text


def test_what_is_outside_of_training_is_refused(browser: Any, tmp_path: Path) -> None:
    model = fitted("refusing")
    opened(browser, tmp_path, model)
    field = browser.find_element(By.ID, "f0")
    problem = browser.find_element(By.ID, "problem")
    assert not problem.is_displayed()
    for value, words in (("1000", "refuses values outside"), ("", "needs a number")):
        field.clear()
        field.send_keys(value)
        assert words in problem.text
        assert browser.find_element(By.ID, "figures").text == ""
    browser.find_element(By.ID, "reset").click()
    WebDriverWait(browser, 5).until(lambda _: not problem.is_displayed())
    assert "%" in browser.find_element(By.ID, "figures").text


def test_a_keyboard_is_enough(browser: Any, tmp_path: Path) -> None:
    model, X = fitted("two classes"), rows("two classes", 50)
    opened(browser, tmp_path, model, X)
    spoken = browser.find_element(By.ID, "spoken")
    WebDriverWait(browser, 5).until(lambda _: "Probability of yes" in hidden_text(spoken))
    before = hidden_text(spoken)
    browser.execute_script("document.getElementById('reset').focus()")
    seen = []
    for _ in range(4):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        focused = browser.switch_to.active_element
        seen.append(focused.get_attribute("type"))
        assert focused.value_of_css_property("outline-style") != "none"
    assert "number" in seen or "select-one" in seen
    slider = browser.find_element(By.CSS_SELECTOR, ".row input[type=range]")
    number = slider.find_element(By.XPATH, "../input[@type='number']")
    old = number.get_attribute("value")
    slider.send_keys(Keys.END)
    assert number.get_attribute("value") != old
    WebDriverWait(browser, 5).until(lambda _: hidden_text(spoken) != before)


def hidden_text(element: Any) -> str:
    """The text of an element that only a screen reader tells."""
    return str(element.get_attribute("textContent"))


@pytest.mark.parametrize("width", [360, 390, 1280])
@pytest.mark.parametrize("name", ["pairs of three classes", "two classes", "gamma"])
def test_nothing_is_wider_than_the_screen(
    width: int, name: str, browser: Any, tmp_path: Path
) -> None:
    """Nor is a table, opened or not, on a phone; and no name of an estimator is broken."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    model, X = fitted(name), rows(name, 200)
    opened(browser, tmp_path, model, X, CASES[name].target(X))
    browser.execute_script("document.querySelectorAll('details').forEach((own) => own.open = true)")
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    scrolled = browser.execute_script(
        "return [...document.querySelectorAll('.scroll, nav ul')]"
        ".filter((own) => own.scrollWidth > own.clientWidth + 1).map((own) => own.textContent)"
    )
    heights = browser.execute_script(
        "return [...document.querySelectorAll('.facts dd')]"
        ".filter((own) => own.textContent.startsWith('Additive')).map((own) => own.offsetHeight)"
    )
    label = browser.execute_script(
        "const cell = document.querySelector('.ranking tbody td:nth-of-type(2)');"
        "return getComputedStyle(cell, '::before').content"
    )
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert wide <= width
    assert scrolled == [] or width > 500
    assert heights
    assert heights[0] < 30
    assert ("Importance" in label) == (width < 500)


def test_a_threshold_is_moved(browser: Any, tmp_path: Path) -> None:
    """Counts, precision, recall and cost follow the slider and the costs."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=4000), "b": rng.normal(size=4000)})
    y = np.where(rng.random(4000) < 1 / (1 + np.exp(6 - 2.5 * X["a"])), EVIL, "ordinary")
    model = AdditiveClassifier(random_state=0).fit(X, y)
    opened(browser, tmp_path, model, X, y)
    p, is_it = model.predict_proba(X)[:, 0], y == EVIL

    def said(name: str) -> str:
        return str(browser.find_element(By.ID, name).text)

    def check(threshold: float, alarm: float, miss: float) -> None:
        flagged = p >= threshold
        hits, alarms = (flagged & is_it).sum(), (flagged & ~is_it).sum()
        assert said("count-hits") == f"{hits:,}"
        assert said("count-alarms") == f"{alarms:,}"
        assert said("count-misses") == f"{is_it.sum() - hits:,}"
        assert said("count-passed") == f"{(~is_it).sum() - alarms:,}"
        assert said("line-recall") == f"{hits / is_it.sum():.1%}"
        assert said("line-precision") == f"{hits / (hits + alarms):.1%}"
        cost = alarm * alarms + miss * (is_it.sum() - hits)
        assert said("line-cost").replace(",", "") == f"{cost:.0f}"

    alarm, miss = (browser.find_element(By.ID, f"cost-{name}") for name in ("alarm", "miss"))
    for field, value in ((alarm, "20"), (miss, "300")):
        field.clear()
        field.send_keys(value)
    check(0.5, 20, 300)
    slider = browser.find_element(By.ID, "line-at")
    slider.send_keys(*[Keys.ARROW_RIGHT] * 12)
    at = float(said("line-value"))
    assert at < 0.5
    check(at, 20, 300)
    assert slider.get_attribute("aria-valuetext").startswith(f"Threshold {at}")
    browser.find_element(By.ID, "line-best").click()
    best = float(said("line-value").split()[0])
    check(best, 20, 300)
    cost = int(said("line-cost").replace(",", ""))
    assert said("line-least").startswith(f"least: {cost:,} at {best}")
    for other in np.quantile(p, [0.5, 0.8, 0.9, 0.95, 0.99]):
        flagged = p >= other
        assert cost <= 20 * (flagged & ~is_it).sum() + 300 * (~flagged & is_it).sum()
    miss.clear()
    assert "0 or larger" in said("line-problem")
    assert browser.get_log("browser") == []


def test_a_model_of_logarithms_multiplies(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(0, 20, 800), "where": rng.choice(["a", "b"], 800)})
    y = 30_000 * np.exp(-0.05 * X["age"] + 0.5 * (X["where"] == "b")) * rng.gamma(5, 0.2, 800)
    model = AdditiveRegressor(loss="gamma", random_state=0).fit(X, y)
    opened(browser, tmp_path, model, X, y, target_name="cost")
    row = pd.DataFrame({"age": [12.0], "where": ["b"]})
    browser.execute_script(TRY, as_typed(model, row))

    def read(text: str) -> float:
        return float(text.lstrip("\u00d7").replace(",", ""))

    [base, predicted] = (read(browser.find_element(By.ID, name).text) for name in ("base", "score"))
    factors = [
        read(own.text) for own in browser.find_elements(By.CSS_SELECTOR, ".row[data-feature] b")
    ]
    assert predicted == round(model.predict(row)[0])
    assert base * np.prod(factors) == pytest.approx(predicted, rel=0.01)
    parts = inspection.contributions(model, row)[0]
    np.testing.assert_allclose(sorted(factors), sorted(np.exp(parts)), rtol=0.01)
    assert f"{predicted:,.0f}" in browser.find_element(By.ID, "figures").text
    assert browser.find_element(By.ID, "unit").text == "cost"
    assert browser.get_log("browser") == []
