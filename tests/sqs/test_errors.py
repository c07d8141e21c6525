"""Everything that can be wrong with the way to SQS is one clear line, without a secret."""

import os
import re
import subprocess
import sys

import pytest

import dibs
from dibs.cli.place import find, open_place
from dibs.errors import BadInput, DibsError, FormatError, StorageError, Unsupported
from dibs.queues.sqs import SqsQueue
from dibs.queues.sqs.address import parse
from sqs.conftest import Open
from sqs.server import CREDENTIALS, REGION, Server
from waiting import PATIENCE


def refused(error: type[DibsError], url: str, **options: object) -> str:
    with pytest.raises(error) as raised:
        dibs.open(url, **options).claim()
    message = str(raised.value)
    assert "\n" not in message
    assert CREDENTIALS["AWS_SECRET_ACCESS_KEY"] not in message
    return message


@pytest.fixture
def no_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, f"{tmp_path}/none")


@pytest.mark.parametrize(
    ("url", "error", "words"),
    [
        ("sqs://", BadInput, "names no queue"),
        ("sqs:", BadInput, "names no queue"),
        ("sqs:https://host/", BadInput, "names no queue"),
        ("sqs://a/b", BadInput, "letters, digits"),
        ("sqs://" + "x" * 74, BadInput, "73"),
        ("sqs://q.fifo", Unsupported, "FIFO"),
        ("sqs://q?colour=red", BadInput, "colour.*known: region"),
        ("sqs://q?poll=21", BadInput, "poll=21"),
        ("sqs://q?poll=x", BadInput, "poll=x"),
        ("sqs:https://user:word@host/1/q", BadInput, "no user or password"),
        ("sqs://q?region=eu-west-1&endpoint=nonsense", BadInput, "endpoint 'nonsense'"),
        ("sqs://q?region=eu-west-1&profile=nobody", BadInput, "profile 'nobody'"),
    ],
)
@pytest.mark.usefixtures("sqs_server")
def test_a_wrong_url_is_refused(url: str, error: type[DibsError], words: str) -> None:
    assert re.search(words, refused(error, url))


def test_a_secret_in_a_url_is_refused_and_not_repeated() -> None:
    assert "hush" not in refused(BadInput, "sqs://q?secret_access_key=hush")


@pytest.mark.parametrize(
    ("path", "region", "endpoint"),
    [
        (
            "https://sqs.eu-north-1.amazonaws.com/123456789012/jobs",
            "eu-north-1",
            "https://sqs.eu-north-1.amazonaws.com",
        ),
        ("//https://sqs.cn-north-1.amazonaws.com.cn/1/jobs", "cn-north-1", "https://sqs.cn-north-1.amazonaws.com.cn"),
        ("http://127.0.0.1:9324/000000000000/jobs", None, "http://127.0.0.1:9324"),
    ],
)
@pytest.mark.usefixtures("no_aws")
def test_a_queue_url_says_where_it_is(path: str, region: str | None, endpoint: str) -> None:
    found = parse(f"sqs:{path}", path, {})
    assert (found.name, found.region, found.endpoint) == ("jobs", region, endpoint)
    assert found.queue_url == path.removeprefix("//")


def test_a_queue_is_opened_by_its_url(queue: SqsQueue, open_sqs: Open) -> None:
    task = queue.push("by name")
    other = open_sqs(f"sqs:{queue._place.url}?region={REGION}&poll=0&leases={queue._address.leases}")
    lease = other.claim()
    assert lease is not None
    assert lease.id == task.id
    gone = f"sqs:{queue._place.url}-gone?region={REGION}&poll=0&leases={queue._address.leases}"
    assert "no SQS queue" in refused(FormatError, gone)


def test_a_plain_name_is_a_queue_where_the_type_is_sqs(monkeypatch: pytest.MonkeyPatch, sqs_server: Server) -> None:
    monkeypatch.setenv("DIBS_QUEUE_TYPE", "sqs")
    place = find("scrape")
    assert place.url == "sqs://scrape"
    monkeypatch.setenv("AWS_REGION", REGION)
    monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", sqs_server.endpoint)
    with pytest.raises(FormatError, match="no SQS queue scrape at eu-west-1"):
        open_place(place)


def test_a_queue_that_is_not_there_is_created_only_if_wanted(sqs_server: Server) -> None:
    url = sqs_server.url("absent")
    message = refused(FormatError, url, create=False)
    assert message == f"no SQS queue absent at {sqs_server.endpoint}; `dibs push sqs://absent …` creates one"


@pytest.mark.usefixtures("no_aws")
def test_a_missing_region_or_missing_credentials_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "AWS_REGION" in refused(BadInput, "sqs://q")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert "AWS_ACCESS_KEY_ID" in refused(StorageError, "sqs://q?endpoint=http://127.0.0.1:9")


def test_a_server_that_cannot_be_reached(sqs_server: Server) -> None:
    message = refused(StorageError, sqs_server.url(endpoint="http://127.0.0.1:9"))
    assert message.startswith("SQS cannot be reached at http://127.0.0.1:9;")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("InvalidClientTokenId", "does not accept these credentials"),
        ("ExpiredToken", "have expired"),
        ("AccessDenied", "no permission for receive_message on SQS queue q"),
        ("Unheard.Of", "refused receive_message: Unheard.Of"),
    ],
)
def test_what_aws_says_becomes_a_line(code: str, words: str) -> None:
    from botocore.exceptions import ClientError

    from dibs.queues.sqs.refusals import refusal

    said = {"Error": {"Code": code, "Message": "key AKIAEXAMPLE\nis bad"}, "ResponseMetadata": {"HTTPStatusCode": 403}}
    error = refusal(ClientError(said, "ReceiveMessage"), "receive_message", parse("sqs://q", "//q", {}))
    assert isinstance(error, StorageError)
    assert words in str(error)
    assert "AKIA" not in str(error)


def test_what_sqs_cannot_do_is_said_with_what_to_use(queue: SqsQueue) -> None:
    for step in (
        lambda: queue.get("x"),
        lambda: queue.detail("x"),
        lambda: queue.why("x"),
        lambda: queue.cancel("x"),
        lambda: queue.retry("x"),
        lambda: queue.tasks(),
        lambda: queue.claimed(),
        lambda: queue.pause(),
        lambda: queue.resume(),
        lambda: queue.purge(),
        lambda: queue.claim(project="p"),
        lambda: queue.gate(),
        lambda: dibs.open("sqs://q", pid=1),
    ):
        with pytest.raises(Unsupported, match=r"sqs|gate|move"):
            step()
    assert queue.paused is None


def test_without_boto3_the_install_command_is_named() -> None:
    code = (
        "import sys; sys.modules['boto3'] = sys.modules['botocore'] = None\n"
        "import dibs\n"
        "try: dibs.open('sqs://q?region=eu-west-1').claim()\n"
        "except dibs.errors.MissingExtra as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout == "sqs: needs boto3, which is not installed; pip install 'dibs[sqs]'\n", done.stderr
