"""The command ``splinear``. Needs typer and rich: ``pip install 'splinear[cli]'``.

A file per command, each of which adds itself to the app. typer and rich are imported inside of
functions, so that the package can be imported, and can say what is missing, without them.
"""

from splinear.cli.app import main, make_app

__all__ = ["main", "make_app"]
