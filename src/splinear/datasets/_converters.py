"""From published contents to those of our files."""

from __future__ import annotations

__all__ = ["adult_csv"]

_ADULT_COLUMNS = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,"
    "capital-gain,capital-loss,hours-per-week,native-country,income"
)


def adult_csv(published: bytes) -> bytes:
    """Turn adult.data or adult.test into CSV with a header.

    The original has a blank after each comma and an empty last line; adult.test also begins with a
    comment and ends each row with a dot.
    """
    lines = published.decode("ascii").splitlines()
    rows = [line.rstrip(".") for line in lines if line and not line.startswith("|")]
    return "\n".join([_ADULT_COLUMNS, *(row.replace(", ", ",") for row in rows), ""]).encode()
