"""Downloads, from a server on this machine: what arrives, and what is left when it goes wrong."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from splinear import datasets
from splinear.datasets import _download
from splinear.datasets._files import HOME_VARIABLE, DataFile
from splinear.datasets._registry import DATA_SETS, adult_csv

# What a server is asked for: for each file of a data set, one path per mirror.
PATHS = {
    name: [
        [url.removeprefix("https:/") for url in file.published.urls]
        for file in data_set.files
        if file.published is not None
    ]
    for name, data_set in DATA_SETS.items()
}
W8A = PATHS["w8a"][0][0]
CONTENT = b"-1 300:1\n+1 1:1 2:1\n"


@dataclass
class Server:
    """Answers by path; an answer may promise more bytes than it has."""

    address: str
    answers: dict[str, bytes] = field(default_factory=dict)
    missing_bytes: int = 0
    asked: list[str] = field(default_factory=list)
    when_sent: Callable[[], None] = lambda: None


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append(self.path)
            body = found.answers.get(self.path)
            if body is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(body) + found.missing_bytes))
            self.end_headers()
            self.wfile.write(body)
            found.when_sent()

        def log_message(self, *arguments: Any) -> None:
            pass

    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        found = Server(f"http://127.0.0.1:{http.server_address[1]}")
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield found
        http.shutdown()
        thread.join()


Publish = Callable[..., None]


@pytest.fixture
def publish(server: Server, monkeypatch: pytest.MonkeyPatch) -> Publish:
    """Let the server publish the files of a data set, and expect these from now on."""

    def move(name: str, *answers: bytes) -> None:
        files = []
        for file, answer in zip(DATA_SETS[name].files, answers, strict=True):
            assert file.published is not None
            urls = tuple(
                server.address + url.removeprefix("https:/") for url in file.published.urls
            )
            packed = file.published.path.endswith(".gz")
            content = file.published.convert(gzip.decompress(answer) if packed else answer)
            published = replace(file.published, urls=urls, sha256=sha256(answer))
            files.append(DataFile(file.path, sha256(content), published))
        monkeypatch.setitem(DATA_SETS, name, replace(DATA_SETS[name], files=tuple(files)))

    return move


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def files_below(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


# --- what arrives ----------------------------------------------------------------------------


def test_a_missing_file_is_fetched_and_kept(
    server: Server, publish: Publish, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    publish("w8a", CONTENT)
    server.answers[W8A] = CONTENT
    home = tmp_path / "not there" / "yet"
    w8a = datasets.load_w8a(home, download=True)
    assert list(zip(*w8a.data.nonzero(), strict=True)) == [(0, 299), (1, 0), (1, 1)]
    assert files_below(home) == ["w8a/w8a"]
    assert (home / "w8a/w8a").read_bytes() == CONTENT
    datasets.load_w8a(home, download=True)
    datasets.load_w8a(home)
    assert server.asked == [W8A]
    printed, logged = capfd.readouterr()
    assert printed == ""
    assert logged.count(server.address + W8A) == 1


def test_packed_sources_and_their_mirrors(server: Server, publish: Publish, tmp_path: Path) -> None:
    images = bytes([0, 0, 8, 3]) + np.array([1, 2, 2], ">u4").tobytes() + bytes([1, 2, 3, 4])
    labels = bytes([0, 0, 8, 1]) + np.array([1], ">u4").tobytes() + bytes([7])
    packed = [gzip.compress(content) for content in (images, labels, images, labels)]
    paths = PATHS["mnist"]
    publish("mnist", *packed)
    for (first, second), answer in zip(paths, packed, strict=True):
        server.answers[first] = b"<html>moved</html>"
        server.answers[second] = answer
    mnist = datasets.load_mnist(tmp_path, download=True)
    np.testing.assert_array_equal(mnist.images, [[[1, 2], [3, 4]]] * 2)
    np.testing.assert_array_equal(mnist.target, [7, 7])
    assert server.asked == [path for mirrors in paths for path in mirrors]


def test_only_what_is_missing_is_fetched(server: Server, publish: Publish, tmp_path: Path) -> None:
    publish("a9a", b"-1 1:1\n", b"+1 2:1\n")
    (tmp_path / "a9a").mkdir()
    (tmp_path / "a9a/a9a.bz2").write_bytes(bz2.compress(b"-1 1:1\n"))
    test_part = PATHS["a9a"][1][0]
    server.answers[test_part] = b"+1 2:1\n"
    assert datasets.load_a9a(tmp_path, download=True).data.shape == (2, 123)
    assert server.asked == [test_part]


def test_nothing_is_fetched_unasked(server: Server, publish: Publish, tmp_path: Path) -> None:
    publish("w8a", CONTENT)
    server.answers[W8A] = CONTENT
    with pytest.raises(FileNotFoundError, match="With download=True, missing files are fetched"):
        datasets.load_w8a(tmp_path)
    assert server.asked == []


# --- what goes wrong -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "missing_bytes", "reason"),
    [
        (None, 0, "404"),
        (CONTENT + b"-1 3:1\n", 0, "does not match the known hash"),
        (CONTENT[:9], 0, "does not match the known hash"),
        (CONTENT, 100, "IncompleteRead"),
    ],
    ids=["not there", "wrong checksum", "cut short", "connection lost"],
)
def test_a_failed_download_leaves_nothing(
    server: Server,
    publish: Publish,
    tmp_path: Path,
    answer: bytes | None,
    missing_bytes: int,
    reason: str,
) -> None:
    publish("w8a", CONTENT)
    server.missing_bytes = missing_bytes
    if answer is not None:
        server.answers[W8A] = answer
    with pytest.raises(OSError, match=rf"w8a could not be downloaded\. .*{reason}") as caught:
        datasets.load_w8a(tmp_path, download=True)
    assert server.address + W8A in str(caught.value)
    assert files_below(tmp_path) == []


def test_nobody_answers(publish: Publish, tmp_path: Path, server: Server) -> None:
    server.address = "http://127.0.0.1:1"
    publish("w8a", CONTENT)
    with pytest.raises(OSError, match=r"could not be downloaded.*refused"):
        datasets.load_w8a(tmp_path, download=True)


def test_a_server_that_stalls(
    publish: Publish, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_download, "TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server.address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        publish("w8a", CONTENT)
        with pytest.raises(OSError, match=r"could not be downloaded.*timed out"):
            datasets.load_w8a(tmp_path, download=True)
    assert files_below(tmp_path) == []


@pytest.fixture
def _python_hears_ctrl_c() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to a thread")
@pytest.mark.usefixtures("_python_hears_ctrl_c")
def test_ctrl_c_while_the_body_arrives(server: Server, publish: Publish, tmp_path: Path) -> None:
    seen: list[str] = []

    def press() -> None:
        seen.extend(files_below(tmp_path))
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    publish("w8a", CONTENT)
    server.answers[W8A] = CONTENT
    server.missing_bytes = 100
    server.when_sent = press
    with pytest.raises(KeyboardInterrupt):
        datasets.load_w8a(tmp_path, download=True)
    (partial,) = seen
    assert partial != "w8a/w8a"
    assert files_below(tmp_path) == []


def test_an_interrupt_at_the_last_moment(
    server: Server, publish: Publish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    publish("w8a", CONTENT)
    server.answers[W8A] = CONTENT
    monkeypatch.setattr("shutil.move", interrupt)
    with pytest.raises(KeyboardInterrupt):
        datasets.load_w8a(tmp_path, download=True)
    assert server.asked == [W8A]
    assert files_below(tmp_path) == []


def test_a_folder_that_cannot_be_made(server: Server, publish: Publish, tmp_path: Path) -> None:
    publish("w8a", CONTENT)
    (tmp_path / "w8a").write_text("a file where the folder should be")
    with pytest.raises(OSError, match=r"could not be downloaded.*irectory.*data_home="):
        datasets.load_w8a(tmp_path, download=True)
    assert server.asked == []
    assert files_below(tmp_path) == ["w8a"]


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind this user"
)
def test_a_folder_without_permission(server: Server, publish: Publish, tmp_path: Path) -> None:
    publish("w8a", CONTENT)
    folder = tmp_path / "w8a"
    folder.mkdir(mode=0o500)
    with pytest.raises(OSError, match=r"could not be downloaded.*Permission denied.*data_home="):
        datasets.load_w8a(tmp_path, download=True)
    assert server.asked == []


def test_an_existing_file_is_left_alone(server: Server, publish: Publish, tmp_path: Path) -> None:
    publish("w8a", CONTENT)
    server.answers[W8A] = CONTENT
    path = tmp_path / "w8a/w8a.bz2"
    path.parent.mkdir()
    path.write_bytes(bz2.compress(b"another content"))
    before = path.read_bytes()
    with pytest.raises(OSError, match="is not the expected one"):
        datasets.load_w8a(tmp_path, download=True)
    assert path.read_bytes() == before
    assert server.asked == []


def test_pooch_is_asked_for_when_it_is_needed(
    publish: Publish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish("w8a", CONTENT)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"needs pooch.*splinear\[download\]"):
        datasets.load_w8a(tmp_path, download=True)
    (tmp_path / "w8a").mkdir()
    (tmp_path / "w8a/w8a").write_bytes(CONTENT)
    assert datasets.load_w8a(tmp_path, download=True).data.shape == (2, 300)


@pytest.mark.parametrize(
    "name", [name for name, found in DATA_SETS.items() if found.files[0].published is None]
)
def test_sets_without_a_download_say_so(name: str, tmp_path: Path) -> None:
    load = getattr(datasets, f"load_{name}")
    with pytest.raises(FileNotFoundError, match="cannot be downloaded: it was made from") as caught:
        load(tmp_path, download=True)
    assert DATA_SETS[name].url in str(caught.value)
    assert "With download=True" not in str(caught.value)
    assert files_below(tmp_path) == []


def test_addresses_are_encrypted_and_for_all_files_of_a_set_or_none() -> None:
    for data_set in DATA_SETS.values():
        published = [file.published for file in data_set.files]
        assert len({found is None for found in published}) == 1
        for found in published:
            assert found is None or all(url.startswith("https://") for url in found.urls)


# --- Adult, which is converted ---------------------------------------------------------------

ADULT_DATA = b"""\
39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, \
2174, 0, 40, United-States, <=50K
54, ?, 180211, Some-college, 10, Married-civ-spouse, ?, Husband, Asian-Pac-Islander, Male, \
0, 0, 60, South, >50K

"""
ADULT_TEST = b"""\
|1x3 Cross validator
25, Private, 226802, 11th, 7, Never-married, Machine-op-inspct, Own-child, Black, Male, \
0, 0, 40, United-States, <=50K.

"""


def test_adult_is_converted(server: Server, publish: Publish, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    publish("adult_raw", ADULT_DATA, ADULT_TEST)
    (train,), (test,) = PATHS["adult_raw"]
    server.answers |= {train: ADULT_DATA, test: ADULT_TEST}
    adult = datasets.load_adult_raw(tmp_path, download=True)
    np.testing.assert_array_equal(adult.target, [0, 1, 0])
    np.testing.assert_array_equal(adult.is_test, [False, False, True])
    np.testing.assert_array_equal(adult.data["age"], [39, 54, 25])
    assert adult.data["workclass"].tolist()[::2] == ["State-gov", "Private"]
    assert adult.data.isna().sum().to_dict() == {
        name: int(name in ("workclass", "occupation")) for name in adult.feature_names
    }
    assert adult.data.shape == (3, 14)
    assert sum(isinstance(dtype, pandas.CategoricalDtype) for dtype in adult.data.dtypes) == 8


@pytest.mark.skipif(HOME_VARIABLE not in os.environ, reason=f"{HOME_VARIABLE} names no data folder")
@pytest.mark.data
@pytest.mark.parametrize(
    ("part", "file"), [*zip(("train", "test"), DATA_SETS["adult_raw"].files, strict=True)]
)
def test_our_adult_comes_from_the_published_one(part: str, file: DataFile) -> None:
    """Undo the conversion: the checksums are those of adult.data and adult.test as published."""
    path = Path(os.environ[HOME_VARIABLE]) / file.path
    ours = gzip.decompress(path.read_bytes())
    _, *rows = ours.decode().splitlines()
    first, end = ("", "") if part == "train" else ("|1x3 Cross validator\n", ".")
    original = first + "".join(row.replace(",", ", ") + end + "\n" for row in rows) + "\n"
    assert file.published is not None
    assert sha256(original.encode()) == file.published.sha256
    assert adult_csv(original.encode()) == ours
