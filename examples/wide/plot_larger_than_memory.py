"""
A fit from Parquet files larger than memory
===========================================

X may be a folder of files. They are read in chunks, coded once, two bytes per value, and where
even the codes do not fit into ``max_memory`` they go to a temporary file. The model is the one
that would have been learned in memory. Here both are small, so that the example is quick; nothing
in it changes for a file of 100 GB.

Read more: :doc:`/guide/large`.
"""

# %%
# A folder of files
# -----------------
# The files are written one by one, so that never more than one of them is in memory.
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
temporary = TemporaryDirectory()
folder = Path(temporary.name)
n_pieces, n_rows, n_columns = 4, 25_000, 24
for k in range(n_pieces):
    values = rng.normal(size=(n_rows, n_columns)).astype(np.float32)
    piece = pd.DataFrame(values, columns=[f"sensor {j}" for j in range(n_columns)])
    piece["site"] = rng.choice(["north", "south", "west"], n_rows)
    score = np.sin(1.5 * piece["sensor 0"]) + np.abs(piece["sensor 1"]) - 0.8
    score += 0.5 * (piece["site"] == "west")
    piece["alarm"] = np.where(score + 0.7 * rng.logistic(size=n_rows) > 0, "yes", "no")
    piece.to_parquet(folder / f"part-{k}.parquet", index=False)
size = sum(path.stat().st_size for path in folder.iterdir())
print(f"{n_pieces * n_rows:,} rows in {n_pieces} files, {size / 1e6:.0f} MB")

# %%
# Two fits
# --------
# The codes alone take 5 MB. The callback records the gap after each pass: it bounds how much
# better any other model can be.
from time import perf_counter

from splinear import AdditiveSVC
from splinear.terms import Spline

fits = {}
for name, limit in {"in memory": None, "within 4 MB": "4MB"}.items():
    seen, start = [], perf_counter()

    def watch(progress, seen=seen):
        """Note the relative duality gap after a pass over the rows."""
        seen.append(progress.gap)

    model = AdditiveSVC(
        Spline(n_bins=25), max_memory=limit, tol=5e-3, callback=watch, random_state=0
    )
    model.fit(folder, "alarm")
    fits[name] = model, seen
    print(
        f"{name}: {perf_counter() - start:.1f} s, objective {model.objective_:.1f}, "
        f"gap {model.dual_gap_:.1e}, certified: {model.certified_}"
    )

# %%
# The same model
# --------------
# Left: the gap after each pass. From disk there are fewer of them, because rows that have been
# read are visited twice before the next ones are. Right: the curves agree, up to the tolerance.
# Both objectives are within half a percent of the optimum; the gap proves it.
from matplotlib import pyplot as plt

from splinear.inspection import shape_function
from splinear.plotting import DOWN, MUTED, UP

styles = {
    "in memory": {"color": UP, "lw": 4, "alpha": 0.5},
    "within 4 MB": {"color": DOWN, "lw": 1.5},
}
figure, (left, *panels) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for name, (model, seen) in fits.items():
    left.semilogy(np.arange(1, len(seen) + 1), seen, "o-", label=name, **styles[name])
    for j, ax in enumerate(panels):
        x, f = shape_function(model, f"sensor {j}", center=True)
        ax.plot(x, f, label=name, **styles[name])
        ax.set(title=f"sensor {j}", xlabel="value", ylabel="added to the margin")
left.axhline(5e-3, color=MUTED, ls="--", lw=1)
left.text(1, 5e-3, "tol", va="bottom", color=MUTED)
left.set(xlabel="passes over the rows", ylabel="relative duality gap", xticks=range(2, 19, 4))
left.set_title("How far from the optimum")
for ax in (left, *panels):
    ax.spines[["top", "right"]].set_visible(False)
left.legend(frameon=False)
temporary.cleanup()
plt.show()
