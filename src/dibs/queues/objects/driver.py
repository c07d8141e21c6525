"""obstore's client for a bucket: no retries of its own, one time-out, the credentials of the cloud's own tools."""

import os
from configparser import ConfigParser, Error
from datetime import timedelta
from pathlib import Path
from typing import Any

from dibs.errors import BadInput, StorageError
from dibs.queues.objects.settings import Settings, driver_config


def open_driver(settings: Settings) -> Any:
    try:
        from obstore import store as stores
        from obstore.exceptions import BaseError
    except ImportError:
        raise StorageError(f"{settings.scheme}: queues need obstore; install it with: pip install 'dibs[s3]'") from None
    config = driver_config(settings)
    endpoint = (
        settings.cloud.get("endpoint") or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    )
    if settings.scheme == "s3":
        if endpoint:
            config["aws_endpoint"] = endpoint
        config |= {name: value for name, value in _profile(settings).items() if name not in config}
        config.setdefault(
            "aws_region", os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
        )
    timeout = timedelta(seconds=settings.numbers["timeout"] or 20.0)
    options: dict[str, Any] = {
        "client_options": {
            "timeout": timeout,
            "connect_timeout": min(timeout, timedelta(seconds=5)),
            "allow_http": str(endpoint or "").startswith("http:"),
        },
        "retry_config": {"max_retries": 0, "retry_timeout": timeout},
    }
    kinds = {"s3": "S3Store", "gs": "GCSStore", "az": "AzureStore"}
    try:
        return getattr(stores, kinds[settings.scheme])(settings.bucket, config=config, **options)
    except (BaseError, ValueError, TypeError) as error:
        raise BadInput(f"cannot use {settings.name}: {' '.join(str(error).split())[:200]}") from None


def _profile(settings: Settings) -> dict[str, str]:
    """Keys and region of a profile in ~/.aws, unless the URL or the environment has keys."""
    if "access_key" in settings.cloud or ("AWS_ACCESS_KEY_ID" in os.environ and "profile" not in settings.cloud):
        return {}
    name = settings.cloud.get("profile") or os.environ.get("AWS_PROFILE") or "default"
    asked = name != "default"
    found: dict[str, str] = {}
    for variable, file, section in (
        ("AWS_CONFIG_FILE", "config", name if name == "default" else f"profile {name}"),
        ("AWS_SHARED_CREDENTIALS_FILE", "credentials", name),
    ):
        path = Path(os.environ.get(variable) or Path.home() / ".aws" / file)
        reader = ConfigParser(interpolation=None)
        try:
            reader.read(path)
        except (Error, OSError, UnicodeDecodeError):
            raise BadInput(f"cannot read {path}; mend it, or give the keys in the environment") from None
        if reader.has_section(section):
            found |= dict(reader[section])
    if asked and not found:
        raise BadInput(f"there is no AWS profile {name!r} in ~/.aws; check the name, or set keys in the environment")
    if asked and "aws_access_key_id" not in found:
        raise BadInput(
            f"AWS profile {name!r} has no access key of its own; export the keys it stands for: "
            f"eval $(aws configure export-credentials --profile {name} --format env)"
        )
    names = {"aws_access_key_id", "aws_secret_access_key", "aws_session_token", "region"}
    return {"aws_region" if key == "region" else key: value for key, value in found.items() if key in names}
