"""Every table and figure of the paper's experiments, from one command: ``splinear reproduce``.

One module per table and figure, each with a function ``run(bench)`` that returns a
:class:`~splinear.experiments.results.Section`. The paper's own numbers are in
:mod:`splinear.experiments.paper`, and nowhere else.
"""
