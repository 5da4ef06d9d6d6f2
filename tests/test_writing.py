"""Files that are written as a whole, or not at all."""

import os
import stat
import sys

import pytest

from splinear._writing import written_whole


def write(path, content=b"new"):
    with written_whole(path) as file:
        file.write(content)


def test_a_file_is_replaced_when_all_is_written(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with written_whole(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_fails_leaves_the_old_file(error, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail():
        with written_whole(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_permissions(tmp_path):
    """Those of the file that is replaced; of a new one, as any program would make it."""
    path, other = tmp_path / "file", tmp_path / "other"
    other.touch()
    write(path)
    assert path.stat().st_mode == other.stat().st_mode
    path.chmod(0o640)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_errors_name_the_file_that_was_asked_for(tmp_path):
    path = tmp_path / "nowhere" / "file"
    with pytest.raises(FileNotFoundError) as caught:
        write(path)
    assert caught.value.filename == str(path)


posix = pytest.mark.skipif(sys.platform == "win32", reason="needs links and devices of POSIX")


@posix
def test_a_folder_is_no_file(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(IsADirectoryError) as raised:
        write(folder)
    assert raised.value.filename == str(folder)
    assert raised.value.filename2 is None  # not that of a file beside it
    assert os.listdir(tmp_path) == ["folder"]


def test_a_link_stays_a_link(tmp_path):
    path, link, dangling = tmp_path / "file", tmp_path / "link", tmp_path / "dangling"
    path.write_bytes(b"old")
    link.symlink_to("file")
    dangling.symlink_to("new")
    write(link)
    write(dangling)
    assert [path.read_bytes(), (tmp_path / "new").read_bytes()] == [b"new", b"new"]
    assert [os.readlink(link), os.readlink(dangling)] == ["file", "new"]
    assert not path.is_symlink()


@posix
def test_what_is_not_a_plain_file_is_written_to(tmp_path):
    """A pipe, for example; a file in its place would be a surprise to its reader."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write(path)
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(path.stat().st_mode)
