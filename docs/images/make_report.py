"""Take report.png: the upper part of a report on the raw Adult table.

``python docs/images/make_report.py`` needs that table, in the folder of SPLINEAR_DATA, selenium,
chromium and chromedriver.
"""

import tempfile
from base64 import b64decode
from pathlib import Path
from shutil import which

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from splinear import AdditiveClassifier, report
from splinear.datasets import load_adult_raw

adult = load_adult_raw()
X, y, test = adult.data, adult.target, adult.is_test
model = AdditiveClassifier(random_state=0, interactions=3).fit(X[~test], y[~test])
options = webdriver.ChromeOptions()
for argument in ("headless=new", "no-sandbox", "hide-scrollbars", "window-size=1180,900"):
    options.add_argument(f"--{argument}")
service = Service(which("chromedriver"))
with tempfile.TemporaryDirectory() as folder, webdriver.Chrome(options, service) as browser:
    page = Path(folder) / "adult.html"
    names = ["<=50K", ">50K"]
    report.write(model, page, X[test], y[test], title="Who earns more?", class_names=names)
    browser.get(page.as_uri())
    view = {"x": 0, "y": 0, "width": 1180, "height": 1525, "scale": 0.75}
    shot = {"clip": view, "captureBeyondViewport": True}
    picture = browser.execute_cdp_cmd("Page.captureScreenshot", shot)["data"]
Path(__file__).with_name("report.png").write_bytes(b64decode(picture))
