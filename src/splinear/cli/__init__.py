"""The command ``splinear``. Needs typer and rich: ``pip install 'splinear[cli]'``.

Each command has a file of its own, and adds itself to the app. typer and rich are imported inside
functions, so that the package can be imported without them, and can say what is missing.
"""

from splinear.cli.app import main, make_app

__all__ = ["main", "make_app"]
