"""TLS: a real handshake, before a real server."""

import datetime
import ipaddress
import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import dibs
from dibs.errors import BadInput, StorageError
from servers.server import Server


def certify(folder: Path) -> tuple[str, str]:
    """A certificate for loopback that vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime(2020, 1, 1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now.replace(year=2120))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "cert.pem", folder / "key.pem"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return str(files[0]), str(files[1])


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[str, str]:
    return certify(tmp_path)


@pytest.fixture
def tls_port(redis_server: Server, certificate: tuple[str, str]) -> Iterator[int]:
    """What comes in here goes to the server, decrypted; only who is certified by our own certificate may."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    context.load_verify_locations(certificate[0])
    context.verify_mode = ssl.CERT_OPTIONAL
    upstream = int(redis_server.endpoint.rpartition(":")[2])
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(client: socket.socket) -> None:
        with (
            suppress(OSError),
            context.wrap_socket(client, server_side=True) as inner,
            socket.create_connection(("127.0.0.1", upstream)) as server,
        ):
            Thread(target=pump, args=(server, inner), daemon=True).start()
            pump(inner, server)

    def accept() -> None:
        with suppress(OSError):
            while True:
                Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    Thread(target=accept, daemon=True).start()
    with listener:
        yield listener.getsockname()[1]


def pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def test_a_queue_over_tls(tls_port: int, certificate: tuple[str, str], url: str) -> None:
    settings = f"{url.partition('?')[2]}&ca={certificate[0]}&cert={certificate[0]}&key={certificate[1]}"
    with dibs.open(f"rediss://127.0.0.1:{tls_port}/0?{settings}") as queue, dibs.open(url) as plain:
        task = queue.push("secret")
        lease = queue.claim()
        assert lease is not None
        lease.complete()
        assert plain.get(task.id).state == "completed"


def test_a_server_that_nobody_vouches_for_is_refused(tls_port: int, url: str) -> None:
    with pytest.raises(StorageError, match=r"no TLS with Redis.*ca=FILE"):
        dibs.open(f"rediss://user:s3cret@127.0.0.1:{tls_port}/0?{url.partition('?')[2]}")


def test_a_server_that_speaks_no_tls_is_refused(redis_server: Server, url: str) -> None:
    with pytest.raises(StorageError, match="over TLS; does it speak that"):
        dibs.open(url.replace("redis://", "rediss://") + "&timeout=1")


def test_a_missing_file_is_said(tls_port: int, url: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"absent.pem in .* is no file"):
        dibs.open(f"rediss://127.0.0.1:{tls_port}/0?{url.partition('?')[2]}&ca={tmp_path}/absent.pem")
