"""Downloads, from a server on this machine that serves good, damaged, slow and no files."""

import hashlib
import io
import socket
import subprocess
import sys
import threading
import time
import zipfile
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from warplearn import datasets
from warplearn.datasets import DatasetNotFoundError, DownloadError, archive

FILES = {
    "Good_TRAIN.tsv": "1\t0.5\t1.5\n2\t2.5\t3.5\n",
    "Good_TEST.tsv": "1\t4.5\t5.5\n",
    "Good.txt": "what it is about",
    "../../Good_TRAIN.sh": "what tries to get out",
}


def zipped(files, compression=zipfile.ZIP_DEFLATED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return stream.getvalue()


GOOD = zipped(FILES)
PLAIN = zipped(FILES, zipfile.ZIP_STORED)
DAMAGED = PLAIN.replace(b"2.5\t3.5", b"2.5\t9.5", 1)  # a number changed, the length the same


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        answer = getattr(self, self.path.split("/")[1], None)
        if answer is None:
            self.send_error(404)
        else:
            answer(len(self.server.asked))

    def send(self, content, announced=None, pause=0.0, step=1 << 20):
        self.send_response(200)
        if announced != -1:
            self.send_header("Content-Length", str(announced or len(content)))
        self.end_headers()
        for start in range(0, len(content), step):
            self.wfile.write(content[start : start + step])
            self.wfile.flush()
            time.sleep(pause)

    def good(self, attempt):
        self.send(GOOD)

    def no_length(self, attempt):
        self.send(GOOD, announced=-1)

    def long_length(self, attempt):
        self.send(GOOD, announced="9" * 5000)

    def changed(self, attempt):
        self.send(PLAIN)

    def truncated(self, attempt):
        self.send(GOOD[:100], announced=len(GOOD))

    def truncated_unseen(self, attempt):
        self.send(GOOD[:-30], announced=-1)

    def recovers(self, attempt):
        if attempt == 1:
            self.send_error(503)
        elif attempt == 2:
            self.truncated(attempt)
        else:
            self.send(GOOD)

    def damaged(self, attempt):
        self.send(DAMAGED)

    def no_zip(self, attempt):
        self.send(b"<html>please log in</html>")

    def nothing_in_it(self, attempt):
        self.send(zipped({"Other_TRAIN.tsv": "1\t2\n"}))

    def silent(self, attempt):
        time.sleep(2)

    def slow(self, attempt):
        self.send(GOOD, pause=0.1, step=20)

    def slow_header(self, attempt):
        self.drip(b"HTTP/1.1 200 OK\r\nX-Long: ")

    def slow_size(self, attempt):
        self.drip(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5; ")

    def slow_unseen(self, attempt):
        self.drip(b"HTTP/1.1 200 OK\r\n\r\n" + GOOD)

    def drip(self, beginning):
        """Something, and then a byte every now and then, so that no timeout is exceeded."""
        self.wfile.write(beginning)
        while True:
            time.sleep(0.02)
            self.wfile.write(b"x")

    def endless(self, attempt):
        self.send_response(200)
        self.end_headers()
        while True:
            self.wfile.write(b"0" * 65536)

    def bomb(self, attempt):
        self.send(zipped({"Good_TRAIN.tsv": b"0" * 5_000_000}))

    def elsewhere(self, attempt):
        self.send_response(302)
        self.send_header("Location", "http://example.org/Good.zip")
        self.end_headers()

    def in_parts(self, attempt):
        """Half of the file at the first attempt; after that what is asked for."""
        self.server.ranges.append((self.headers.get("Range"), self.headers.get("If-Range")))
        tag = '"two"' if self.server.changes and attempt > 1 else '"one"'
        content = PLAIN if self.server.changes and attempt > 1 else GOOD
        first = 0
        if self.headers.get("Range") and self.headers.get("If-Range") == tag:
            first = int(self.headers["Range"].split("=")[1].rstrip("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        self.send_header("ETag", tag)
        self.send_header("Content-Length", str(len(content) - first))
        self.end_headers()
        self.wfile.write(content[first:100] if attempt == 1 else content[first:])

    def log_message(self, *arguments):
        pass

    def handle(self):
        with suppress(BrokenPipeError, ConnectionResetError):  # the client gives up, as it should
            super().handle()


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.asked, server.ranges, server.changes = [], [], False
        server.daemon_threads = True
        server.block_on_close = False
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        server.base = f"http://127.0.0.1:{server.server_port}"
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def pauses(monkeypatch):
    """Attempts follow one another at once; the pauses that there would be are listed."""
    pauses = []
    monkeypatch.setattr(archive, "_pause", pauses.append)
    return pauses


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.delenv("WARPLEARN_DATA", raising=False)
    monkeypatch.setattr("warplearn.datasets.finding._CARRIED", {})
    monkeypatch.setattr("warplearn.datasets.archive.cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def files_in(folder):
    return sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file())


def test_load_downloads_once(server, cache):
    seen = []
    for _ in range(2):
        found = datasets.load(
            "Good", base=server.base + "/good", progress=lambda *now: seen.append(now)
        )
        assert found.y.tolist() == [1, 2, 1]
    assert server.asked == ["/good/Good.zip"]
    assert files_in(cache) == ["Good/Good.zip.sha256", "Good/Good_TEST.tsv", "Good/Good_TRAIN.tsv"]
    assert (cache / "Good" / "Good.zip.sha256").read_text().strip() == (
        hashlib.sha256(GOOD).hexdigest()
    )
    assert seen[0] == (0, len(GOOD))
    assert seen[-1] == (len(GOOD), len(GOOD))
    assert datasets.available()["Good"] == "the cache"


@pytest.mark.parametrize("kind", ["no_length", "long_length"])
def test_a_server_that_does_not_say_how_much(kind, server, cache):
    folder = datasets.download("Good", base=f"{server.base}/{kind}")
    assert folder == cache / "Good"
    assert len(files_in(folder)) == 3


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("truncated", "truncated, 100 of \\d+ bytes came|IncompleteRead"),
        ("truncated_unseen", "no sound zip file"),
        ("damaged", "no sound zip file: Bad CRC-32"),
        ("no_zip", "no sound zip file: File is not a zip file"),
    ],
)
def test_a_file_that_is_not_whole_leaves_nothing_behind(kind, problem, server, cache, pauses):
    with pytest.raises(DownloadError, match=f"failed after 3 attempts: .*({problem})"):
        datasets.download("Good", base=f"{server.base}/{kind}")
    assert len(server.asked) == 3
    assert pauses == [1, 2]
    assert list(cache.iterdir()) == []


def test_an_attempt_that_fails_is_made_again(server, cache, pauses):
    datasets.download("Good", base=server.base + "/recovers")
    assert len(server.asked) == 3
    assert pauses == [1, 2]


def test_what_is_not_there_is_not_asked_for_again(server, cache):
    with pytest.raises(DatasetNotFoundError, match="not found in the cache, and there is no .*404"):
        datasets.load("Good", base=server.base + "/missing")
    with pytest.raises(DownloadError, match="holds no Good_TRAIN or Good_TEST"):
        datasets.download("Good", base=server.base + "/nothing_in_it")
    assert len(server.asked) == 2


def test_a_server_that_does_not_answer(server, cache):
    start = time.perf_counter()
    with pytest.raises(DownloadError, match="at the only attempt: .*timed out"):
        datasets.download("Good", base=server.base + "/silent", timeout=0.2, retries=0)
    assert time.perf_counter() - start < 1.5


@pytest.mark.parametrize("kind", ["long", "larger format", "cut"])
def test_lists_of_entries_that_are_long_or_hidden(kind, tmp_path, monkeypatch):
    """A list is read whole, so its length is looked at first; other records cannot hide it."""
    file, end = tmp_path / "Good.zip", GOOD[-22:]
    content = {
        "long": GOOD,
        "larger format": GOOD[:-22] + b"PK\6\7" + bytes(16) + end,
        "cut": GOOD[:-22] + end[:16] + b"PK\5\6" + end[20:],  # a mark within the record
    }[kind]
    file.write_bytes(content)
    monkeypatch.setattr(archive, "_LONGEST_DIRECTORY", 10 if kind == "long" else 10**6)
    with pytest.raises(archive.RetryableError, match="list of entries is damaged or too long"):
        archive._unpack(file, "Good", tmp_path / "Good", None)
    file.write_bytes(GOOD)
    monkeypatch.setattr(archive, "_LONGEST_DIRECTORY", 10**6)
    assert any(archive._unpack(file, "Good", tmp_path / "sound", None).iterdir())


@pytest.mark.parametrize("kind", ["slow", "slow_header", "slow_size", "slow_unseen"])
def test_a_server_that_is_slow(kind, server, cache):
    start = time.perf_counter()
    with pytest.raises(DownloadError, match="took longer than 0.3 seconds"):
        datasets.download("Good", base=f"{server.base}/{kind}", patience=0.3, retries=0)
    assert time.perf_counter() - start < 1.5
    assert list(cache.iterdir()) == []


def test_offline(cache):
    with socket.socket() as free:  # a port where nobody listens
        free.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(DatasetNotFoundError, match="not found in the cache, and .*online?"):
        datasets.load("Good", base=base)


def test_checksum_that_is_given(server, cache):
    right = hashlib.sha256(GOOD).hexdigest()
    with pytest.raises(DownloadError, match=f"its SHA-256 is {right}, expected 00"):
        datasets.download("Good", base=server.base + "/good", sha256="00" * 32, retries=0)
    assert list(cache.iterdir()) == []
    assert datasets.download("Good", base=server.base + "/good", sha256=right.upper()).is_dir()


def test_checksum_of_the_first_download_is_kept(server, cache):
    datasets.download("Good", base=server.base + "/good")
    (cache / "Good" / "Good_TEST.tsv").unlink()
    with pytest.raises(DownloadError, match="its SHA-256 is .*, expected"):
        datasets.download("Good", base=server.base + "/changed", retries=0)
    datasets.download("Good", base=server.base + "/good")
    assert (cache / "Good" / "Good_TEST.tsv").is_file()
    assert [p.name for p in cache.iterdir()] == ["Good"]


def test_an_interrupted_download_leaves_nothing_behind(server, cache):
    def stop(came, total):
        if came:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        datasets.download("Good", base=server.base + "/good", progress=stop)
    assert list(cache.iterdir()) == []


KILLED = """
import sys, time, pathlib
from warplearn import datasets

def stop(came, total):
    if came:
        print("came", flush=True)
        time.sleep(60)

datasets.download("Good", base=sys.argv[1], cache=pathlib.Path(sys.argv[2]), progress=stop)
"""


def killed(server, cache, kill=True):
    """A process that stands still in the middle of a download."""
    command = [sys.executable, "-c", KILLED, server.base + "/in_parts", str(cache)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "came\n"
    if kill:
        process.kill()
        process.communicate()
    return process


def test_a_killed_download_is_gone_on_with_and_cleaned_up(server, cache):
    living = killed(server, cache, kill=False)
    (kept,) = cache.glob(".download-*")
    killed(server, cache)
    assert len(list(cache.glob(".download-*"))) == 2
    (cache / ".download-Good-new").mkdir()
    datasets.download("Good", base=server.base + "/in_parts", retries=5)
    left = {folder.name for folder in cache.glob(".download-*")}
    with living:
        living.kill()
    assert left == {kept.name, ".download-Good-new"}


@pytest.mark.parametrize("changes", [False, True])
def test_a_download_goes_on_where_it_was_cut_off(changes, server, cache):
    server.changes = changes
    base = server.base + "/in_parts"
    with pytest.raises(DownloadError, match="at the only attempt: .*(truncated|IncompleteRead)"):
        datasets.download("Good", base=base, retries=0)
    assert files_in(cache) == [".Good.part/content", ".Good.part/version"]
    assert "Good" not in datasets.available()
    datasets.download("Good", base=base, retries=0)
    assert server.ranges == [(None, None), ("bytes=100-", '"one"')]
    assert files_in(cache) == ["Good/Good.zip.sha256", "Good/Good_TEST.tsv", "Good/Good_TRAIN.tsv"]
    found = (cache / "Good" / "Good.zip.sha256").read_text().strip()
    assert found == hashlib.sha256(PLAIN if changes else GOOD).hexdigest()


def test_a_part_of_something_else_is_not_used(server, cache):
    (cache / ".Good.part").mkdir(parents=True)
    (cache / ".Good.part" / "content").write_bytes(b"x" * 10)
    (cache / ".Good.part" / "version").write_bytes(b"\xff\n")
    datasets.download("Good", base=server.base + "/good")
    assert server.ranges == []
    assert [p.name for p in cache.iterdir()] == ["Good"]


def test_what_is_too_large_is_refused(server, cache):
    with pytest.raises(DownloadError, match="has more than max_bytes=1000000 bytes"):
        datasets.download("Good", base=server.base + "/endless", max_bytes=1_000_000)
    with pytest.raises(DownloadError, match="has more than max_bytes=10 bytes"):
        datasets.download("Good", base=server.base + "/good", max_bytes=10)
    with pytest.raises(DownloadError, match="unpacks to more than max_unpacked=4999999 bytes"):
        datasets.download("Good", base=server.base + "/bomb", max_unpacked=4_999_999)
    assert len(server.asked) == 3  # none of them is asked again
    assert list(cache.iterdir()) == []


def test_the_limit_follows_the_size_of_the_zip_file(server, cache, monkeypatch):
    monkeypatch.setattr(archive, "_LEAST_UNPACKED", 1000)
    with pytest.raises(DownloadError, match="unpacks to more than max_unpacked="):
        datasets.download("Good", base=server.base + "/bomb")


def test_a_damaged_record_of_the_checksum_is_ignored(server, cache):
    datasets.download("Good", base=server.base + "/good")
    for damaged in (b"\xff\xfe", b"", b"12"):
        (cache / "Good" / "Good.zip.sha256").write_bytes(damaged)
        with pytest.warns(RuntimeWarning, match="sha256 is damaged and ignored"):
            datasets.download("Good", base=server.base + "/changed")


def test_a_redirection_away_from_https_is_refused(server, cache):
    with pytest.raises(DownloadError, match="must start with https://, got http://example.org"):
        datasets.download("Good", base=server.base + "/elsewhere")


def test_only_the_web_is_asked(cache, tmp_path):
    for base in (f"file://{tmp_path}", "http://example.org", "ftp://example.org", "https://"):
        with pytest.raises(DownloadError, match="must start with https"):
            datasets.download("Good", base=base)
    with pytest.raises(ValueError, match="sha256 must be 64 hexadecimal digits, got 'ab'"):
        datasets.download("Good", sha256="ab")
    with pytest.raises(ValueError, match="name must be of letters"):
        datasets.download("../Good")


def test_progress_is_for_terminals(monkeypatch, capsys):
    archive._to_terminal("Good")(1_000_000, 2_000_000)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    show = archive._to_terminal("Good")
    show(1_000_000, 2_000_000)
    show(2_000_000, 2_000_000)
    assert capsys.readouterr().err == "\rGood: 1.0 of 2.0 MB, 50%\rGood: 2.0 of 2.0 MB, 100%\n"


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "home/.cache"),
        ("linux", {"XDG_CACHE_HOME": "/elsewhere"}, "/elsewhere"),
        ("darwin", {}, "home/Library/Caches"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local"),
    ],
)
def test_the_cache_is_where_the_system_has_it(platform, variables, expected, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr("pathlib.Path.home", lambda: tmp_path / "home")
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert archive.cache_folder() == tmp_path / expected / "warplearn" / "datasets"
