"""Every table and figure of the paper's experiments, from one command: ``splinear reproduce``.

One module a table and a figure, each with a function ``run(bench)`` that gives a
:class:`~splinear.experiments.results.Result`. The paper's own numbers are in
:mod:`splinear.experiments.paper`, and nowhere else.
"""
