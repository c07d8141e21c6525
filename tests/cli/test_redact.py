import pytest

from dibs.redact import redact


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgres://app:hunter2@db/jobs?queue=a", "postgres://app:***@db/jobs?queue=a"),
        ("redis://:hunter2@host:6379/0", "redis://:***@host:6379/0"),
        ("postgres://app:p@ss/w?rd@db/jobs", "postgres://app:***@db/jobs"),
        ("https://hunter2@host/x", "https://***@host/x"),
        ("s3://bucket/q?secret_key=hunter2&region=eu", "s3://bucket/q?secret_key=***&region=eu"),
        ("s3://bucket/q?region=eu&AccessKeyId=hunter2", "s3://bucket/q?region=eu&AccessKeyId=***"),
        ("x://h?sslpassword=hunter2#f", "x://h?sslpassword=***#f"),
        ("x://h?sig=hunter2&token=hunter2", "x://h?sig=***&token=***"),
        ("cannot open 'amqp://u:hunter2@h' and 'x://v:hunter2@h'", "cannot open 'amqp://u:***@h' and 'x://v:***@h'"),
        ("file:queues/scrape?sync=off", "file:queues/scrape?sync=off"),
        ("postgres://app@db/jobs", "postgres://app@db/jobs"),
        ("http://host:8750/scrape", "http://host:8750/scrape"),
        ("dir:a?done=b", "dir:a?done=b"),
        ("mail a:b@c", "mail a:b@c"),
    ],
)
def test_secrets_are_hidden_and_nothing_else(text: str, shown: str) -> None:
    assert redact(text) == shown
    assert "hunter2" not in redact(text)
