"""A process that forks, before or while it trains: parent and children go on, to the same bits."""

import os
import subprocess
import sys

import pytest

FORKED = """
import os, sys, threading, warnings
import numpy as np
from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC

warnings.simplefilter("ignore", DeprecationWarning)  # of Python, about forks beside threads
random = np.random.default_rng(0)
X = random.random((3000, 8))
y = (X[:, 0] + 0.3 * random.normal(size=3000) > 0.5).astype(int)
kind = {"svc": AdditiveSVC, "classifier": AdditiveClassifier, "regressor": AdditiveRegressor}

def score(model):
    name = "predict" if isinstance(model, AdditiveRegressor) else "decision_function"
    return getattr(model, name)(X)

def train():
    return kind[sys.argv[1]](C=10.0, tol=1e-4, n_jobs=2, random_state=0).fit(X, y)

model = train()
before, busy = score(model), threading.Event()
if sys.argv[2] == "while":
    def go_on():
        while not busy.is_set():
            train()
    other = threading.Thread(target=go_on)
    other.start()
children = []
for _ in range(4):
    child = os.fork()
    if child == 0:
        again = np.array_equal(score(model), before) and np.array_equal(score(train()), before)
        os._exit(0 if again else 1)
    children.append(child)
ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
busy.set()
print(ends, np.array_equal(score(train()), before))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX")
@pytest.mark.parametrize(
    ("kind", "when"),
    [
        ("svc", "after"),
        ("classifier", "after"),
        ("regressor", "after"),
        # The others call linear algebra, whose own locks a child may find locked for good.
        ("svc", "while"),
    ],
)
def test_children_train_and_predict_the_same_bits(kind, when):
    run = subprocess.run(
        [sys.executable, "-c", FORKED, kind, when], capture_output=True, text=True, timeout=120
    )
    assert run.stdout == "[0, 0, 0, 0] True\n", run.stderr
