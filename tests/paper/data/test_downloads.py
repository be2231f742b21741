"""Downloads from a server on this machine: resuming, checksums, wrong answers."""

import hashlib
import os
import socket

import pytest

from download_server import serving
from tpauc.paper.data import archives
from tpauc.paper.data.archives import DownloadError, RemoteFile, download


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving() as running:
        yield running


@pytest.fixture
def body(server):
    """Return the body that the server has: 3 blocks of a download and a bit."""
    server.body = bytes(range(256)) * (3 * archives._BLOCK // 256) + b"the end"
    return server.body


def test_a_download_arrives_whole(server, body, tmp_path):
    shown = []
    download(server.remote(), tmp_path / "data", shown.append)
    assert (tmp_path / "data").read_bytes() == body
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    assert shown[0] == 0
    assert shown[-1] == len(body)
    assert shown == sorted(shown)
    assert server.asked == [None]


def test_a_download_that_broke_off_is_resumed(server, body, tmp_path):
    server.stops_after = 1000
    with pytest.raises(DownloadError) as caught:
        download(server.remote(), tmp_path / "data", lambda arrived: None)
    assert f"ended after 1,000 of {len(body):,} bytes; what has arrived is kept, try again" in str(caught.value)
    assert not (tmp_path / "data").exists()
    assert (tmp_path / "data.part").read_bytes() == body[:1000]

    server.stops_after = None
    shown = []
    download(server.remote(), tmp_path / "data", shown.append)
    assert server.asked == [None, "bytes=1000-"]
    assert shown[0] == 1000
    assert (tmp_path / "data").read_bytes() == body
    assert not (tmp_path / "data.part").exists()


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
@pytest.mark.parametrize("length", [0, 10])
def test_a_link_at_the_name_of_the_part_is_not_followed(server, body, tmp_path, length):
    precious = tmp_path / "precious"
    precious.write_bytes(b"x" * length)
    (tmp_path / "data.part").symlink_to(precious)
    with pytest.raises(OSError, match=r"data\.part is a symbolic link, which is not followed; remove it"):
        download(server.remote(), tmp_path / "data", lambda arrived: None)
    assert precious.read_bytes() == b"x" * length
    assert not (tmp_path / "data").exists()


def test_a_server_that_ignores_the_range_sends_all_again(server, body, tmp_path):
    server.honours_range = False
    (tmp_path / "data.part").write_bytes(b"x" * 1000)  # would be wrong if anything were added to it
    shown = []
    download(server.remote(), tmp_path / "data", shown.append)
    assert server.asked == ["bytes=1000-"]
    assert shown[0] == 0
    assert (tmp_path / "data").read_bytes() == body


def test_a_part_that_is_whole_needs_no_server(server, body, tmp_path):
    (tmp_path / "data.part").write_bytes(body)
    download(server.remote(), tmp_path / "data", lambda arrived: None)
    assert server.asked == []
    assert (tmp_path / "data").read_bytes() == body


def test_a_part_that_is_too_long_is_no_beginning(server, body, tmp_path):
    (tmp_path / "data.part").write_bytes(body + b"more")
    download(server.remote(), tmp_path / "data", lambda arrived: None)
    assert server.asked == [None]
    assert (tmp_path / "data").read_bytes() == body


def test_an_archive_that_was_brought_by_hand_is_used_if_it_is_right(server, body, tmp_path):
    (tmp_path / "data").write_bytes(body)
    download(server.remote(), tmp_path / "data", lambda arrived: None)
    assert server.asked == []
    (tmp_path / "data").write_bytes(b"something else")
    download(server.remote(), tmp_path / "data", lambda arrived: None)
    assert server.asked == [None]
    assert (tmp_path / "data").read_bytes() == body


def failure(remote, tmp_path):
    with pytest.raises(DownloadError) as caught:
        download(remote, tmp_path / "data", lambda arrived: None)
    assert not (tmp_path / "data").exists()
    return str(caught.value)


def test_a_wrong_checksum(server, body, tmp_path):
    message = failure(server.remote(sha256="0" * 64), tmp_path)
    found = hashlib.sha256(body).hexdigest()
    assert f"has the SHA-256 sum {found} instead of {'0' * 64}; what has arrived is removed, try again" in message
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_beginning_is_found_and_does_not_stay(server, body, tmp_path):
    (tmp_path / "data.part").write_bytes(b"x" * 1000)
    assert "SHA-256 sum" in failure(server.remote(), tmp_path)
    download(server.remote(), tmp_path / "data", lambda arrived: None)
    assert (tmp_path / "data").read_bytes() == body


def test_a_body_that_is_too_long(server, body, tmp_path):
    (tmp_path / "data.part").write_bytes(body[:500])
    server.headers = {"Content-Range": "bytes 500-999/1000"}  # and more than that in the body
    message = failure(server.remote(size=1000), tmp_path)
    assert "is longer than the 1,000 bytes that it should have; what has arrived is removed" in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("beginning", [b"", b"x" * 1000])
def test_a_page_instead_of_the_file_leaves_what_has_arrived(server, body, tmp_path, beginning):
    if beginning:
        (tmp_path / "data.part").write_bytes(beginning)
    remote = server.remote()
    server.honours_range, server.body = False, b"<html>please log in</html>"
    message = failure(remote, tmp_path)
    assert f"data.tar.gz has {len(body)} bytes, but the server sent 26 bytes; what has arrived is kept" in message
    assert [path.read_bytes() for path in tmp_path.iterdir()] == ([beginning] if beginning else [])


def test_a_page_of_unknown_length_leaves_what_has_arrived(server, body, tmp_path):
    (tmp_path / "data.part").write_bytes(body[:1000])
    server.honours_range, server.headers = False, {"Content-Length": None}
    assert "but the server sent an unknown number of bytes; " in failure(server.remote(), tmp_path)
    assert (tmp_path / "data.part").read_bytes() == body[:1000]


@pytest.mark.parametrize(
    "sent", [None, "", "bytes 5000-5999/{size}", "bytes 0-999/{size}", "bytes 1000-1999/7", "lines 1"]
)
def test_a_server_that_sends_another_part_than_asked_for(server, body, tmp_path, sent):
    (tmp_path / "data.part").write_bytes(body[:1000])
    server.headers = {"Content-Range": sent and sent.format(size=len(body))}
    message = failure(server.remote(), tmp_path)
    assert f"the server sent the range {server.headers['Content-Range'] or ''!r} when it was asked for from" in message
    assert (tmp_path / "data.part").read_bytes() == body[:1000]


def test_a_range_of_a_file_whose_length_the_server_does_not_say(server, body, tmp_path):
    (tmp_path / "data.part").write_bytes(body[:1000])
    server.headers = {"Content-Range": f"bytes 1000-{len(body) - 1}/*"}
    download(server.remote(), tmp_path / "data", lambda arrived: None)
    assert (tmp_path / "data").read_bytes() == body


def test_a_server_that_cannot_satisfy_the_range(server, body, tmp_path):
    (tmp_path / "data.part").write_bytes(body[:1000])
    server.status = 416
    message = failure(server.remote(), tmp_path)
    assert "the server answered 416" in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("status", [404, 500])
def test_a_server_that_refuses(server, body, tmp_path, status):
    (tmp_path / "data.part").write_bytes(body[:1000])
    server.status = status
    message = failure(server.remote(), tmp_path)
    assert f"the server answered {status} " in message
    assert server.url("data.tar.gz") in message
    assert (tmp_path / "data.part").read_bytes() == body[:1000]  # it may be back tomorrow


def test_no_server(server, tmp_path):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/data.tar.gz"
        message = failure(RemoteFile(url, 10, "0" * 32), tmp_path)
    assert message.startswith(f"no connection to {url} (")
    assert message.endswith("); what has arrived is kept, try again to go on from there")


def test_no_network(tmp_path):
    # No name under .invalid exists.
    message = failure(RemoteFile("http://data.invalid/data.tar.gz", 10, "0" * 32), tmp_path)
    assert "data.invalid" in message


def test_a_server_that_falls_silent(tmp_path, monkeypatch, server):
    monkeypatch.setattr(archives, "_SECONDS_OF_SILENCE", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/data.tar.gz"
        assert "timed out" in failure(RemoteFile(url, 10, "0" * 32), tmp_path)
