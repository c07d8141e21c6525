"""Other ways to a daemon than 127.0.0.1 in the clear, and where its token may be seen."""

import datetime
import ipaddress
import json
import os
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import dibs
from dibs.errors import BadInput, StorageError, TaskNotFound
from dibs.queues.remote.address import parse
from dibs.serve.running import listen_tcp
from serve.daemon import TOKEN, Daemon
from serve.process import PROGRAM
from waiting import LONG_PATIENCE, PATIENCE


def certificate(folder: Path) -> tuple[str, str]:
    """One for 127.0.0.1, signed by itself: the files of certificate and key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "dibs")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return str(folder / "cert.pem"), str(folder / "key.pem")


class Wrapped:
    """A proxy with TLS before a daemon, as the documentation asks for."""

    def __init__(self, port: int, cert: str, key: str) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(cert, key)
        self._behind = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                plain, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(plain,), daemon=True).start()

    def _carry(self, plain: socket.socket) -> None:
        try:
            near = self._context.wrap_socket(plain, server_side=True)
        except OSError:
            plain.close()
            return
        far = socket.create_connection(("127.0.0.1", self._behind))
        threading.Thread(target=_copy, args=(far, near), daemon=True).start()
        _copy(near, far)

    def close(self) -> None:
        self._listening.close()


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def test_https_with_a_certificate_of_ones_own(daemon: Daemon, tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    proxy = Wrapped(daemon.port, cert, key)
    place = f"https://127.0.0.1:{proxy.port}/q?token={TOKEN}&patience=0"
    with pytest.raises(StorageError, match="certificate"):
        dibs.open(place)
    with dibs.open(f"{place}&ca={cert}") as queue:
        queue.push_many(range(3))
        lease = queue.claim(ttl=60)
        assert lease is not None
        lease.complete("through TLS")
        assert queue.detail(lease.id).result == "through TLS"
    with pytest.raises(BadInput, match="PEM"):
        dibs.open(f"{place}&ca={tmp_path}/none.pem")
    proxy.close()


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("http://[::1]:9000/q", "[::1]:9000"),
        ("http://host/q", "host:8750"),
        ("https://host/q", "host:443"),
        ("unix:/run/dibs.sock/q", "localhost"),
    ],
)
def test_the_host_that_a_client_names(url: str, named: str) -> None:
    assert parse(url, {}).named == named


def test_a_socket_without_the_name_of_a_queue_is_said_at_once(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        with pytest.raises(BadInput, match="names no queue; write unix:"):
            parse(f"unix:{tmp_path}/s", {})
        assert parse(f"unix:{tmp_path}/s/q", {}).name == "q"


def test_a_wrong_token_is_said_with_the_file_that_it_came_from(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "of-another").write_text("a-token-of-another-daemon\n")
    monkeypatch.setenv("DIBS_TOKEN_FILE", str(tmp_path / "of-another"))
    monkeypatch.delenv("DIBS_TOKEN", raising=False)
    url = f"http://127.0.0.1:{daemon.port}/q"
    with pytest.raises(StorageError, match=f"the token is wrong.*; the one that was sent is in {tmp_path}/of-another"):
        dibs.open(url)
    with pytest.raises(StorageError, match=r"in the daemon's token file$"):
        dibs.open(f"{url}?token=wrong")


def test_https_where_only_http_is_spoken(daemon: Daemon) -> None:
    with pytest.raises(StorageError, match=f"does not speak https; write http://127.0.0.1:{daemon.port}/"):
        dibs.open(f"https://127.0.0.1:{daemon.port}/q?token={TOKEN}&patience=0")


def test_what_is_not_there_is_not_in_the_queue_of_that_name(daemon: Daemon, quick_folder: Path) -> None:
    with dibs.open(daemon.url) as queue, pytest.raises(TaskNotFound, match="'nope' in q;") as refused:
        queue.get("nope")
    assert str(quick_folder) not in str(refused.value)


def test_over_ipv6(quick_folder: Path) -> None:
    from serve.process import Process

    if not _has_ipv6():
        with pytest.raises(StorageError, match="cannot listen on ::1"):
            listen_tcp("::1", 0)
        return
    serving = Process(quick_folder, f"file:{quick_folder}/q?sync=off", host="[::1]")
    try:
        assert serving.told["url"].startswith("http://[::1]:")
        with dibs.open(serving.url("q")) as queue:
            queue.push(1)
            lease = queue.claim()
            assert lease is not None
            lease.complete()
            assert queue.address.startswith("http://[::1]:")
    finally:
        serving.kill()


def _has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


def test_no_command_line_shows_the_token(daemon: Daemon, tmp_path: Path) -> None:
    """Of `dibs work`, only the words that its user gave; of the processes that it starts, none; nor of a heart."""
    seen = tmp_path / "seen"
    look = f"for each in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $each; echo; done > {seen} 2> /dev/null"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DIBS_")}
    with dibs.open(daemon.url) as queue:
        queue.push_many([1, 2])
        place = f"http://127.0.0.1:{daemon.port}/q"
        words = [PROGRAM, "work", place, "--until-empty", "--", "sh", "-c", look]
        done = subprocess.run(
            words, env={**clean, "DIBS_QUEUE": "", "DIBS_TOKEN": TOKEN}, timeout=LONG_PATIENCE, check=False
        )
        assert done.returncode == 0
        assert "dibs.worker.process" in seen.read_text()
        queue.push(3)
        lease = queue.claim(ttl=60)
        assert lease is not None
        with lease:
            subprocess.run(["sh", "-c", look], check=True)
        lines = [line for line in seen.read_text().splitlines() if "dibs.worker.heart" in line]
        assert any("token=***" in line for line in lines)
        assert not [line for line in seen.read_text().splitlines() if TOKEN in line]


def test_top_shows_all_queues_of_a_daemon(daemon: Daemon) -> None:
    with dibs.open(daemon.url) as queue:
        queue.push_many([1, 2])
    words = [PROGRAM, "top", f"http://127.0.0.1:{daemon.port}/?token={TOKEN}", "--json", "--interval", "0.1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=True)
    (seen,) = json.loads(done.stdout)["queues"]
    assert (seen["name"], seen["states"]["ready"], seen["error"]) == ("q", 2, None)
    assert TOKEN not in done.stdout
