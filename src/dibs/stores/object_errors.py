"""What an object store answers, as one of four kinds, with one line for people.

refused   the condition does not hold (412), or others are writing (409)
absent    there is no such object
no        it will not work however often it is tried: no bucket, no permission, wrong credentials
unclear   anything else: time-outs, resets, 5xx. A write may have taken effect
"""

from typing import NamedTuple


class Trouble(NamedTuple):
    kind: str
    text: str


# what stands in the driver's message -> what is wrong, what to do
_REASONS = (
    ("NoSuchBucket", "there is no such bucket; create it first, or check the name"),
    ("InvalidAccessKeyId", "the access key is not known there; check AWS_ACCESS_KEY_ID and the endpoint"),
    ("SignatureDoesNotMatch", "the secret key does not fit the access key; check AWS_SECRET_ACCESS_KEY"),
    ("ExpiredToken", "the credentials have expired; get new ones (aws sso login, or new keys)"),
    ("TokenRefreshRequired", "the credentials have expired; get new ones (aws sso login, or new keys)"),
    ("AccessDenied", "no permission; the credentials need to get, put, list and delete below this prefix"),
    ("PermanentRedirect", "the bucket is in another region; set ?region= or AWS_REGION"),
    ("AuthorizationHeaderMalformed", "the bucket is in another region; set ?region= or AWS_REGION"),
    ("IllegalLocationConstraint", "the bucket is in another region; set ?region= or AWS_REGION"),
    ("missing region", "the bucket is in another region; set ?region= or AWS_REGION"),
)


def trouble(error: Exception, name: str) -> Trouble:
    from obstore import exceptions

    text = str(error)
    for sign, reason in _REASONS:
        if sign.lower() in text.lower():
            return Trouble("no", f"cannot use {name}: {reason}")
    if isinstance(error, exceptions.AlreadyExistsError | exceptions.PreconditionError | exceptions.NotModifiedError):
        return Trouble("refused", f"{name} refused a write again and again; try later")
    if isinstance(error, exceptions.NotFoundError | FileNotFoundError):
        return Trouble("absent", f"not found in {name}")
    if isinstance(error, exceptions.PermissionDeniedError | exceptions.UnauthenticatedError):
        reason = "no permission; check the credentials and what they may do below this prefix"
        return Trouble("no", f"cannot use {name}: {reason}")
    return Trouble("unclear", f"cannot reach {name}: {_gist(text)}; check the network and the endpoint")


def _gist(text: str) -> str:
    """The driver's message without its wrapping, in one line."""
    line = " ".join(text.split("\n\n")[0].split()).rpartition(" - ")[2]
    return line if len(line) <= 160 else f"{line[:157]}..."
