"""What SQS, or the way to it, refused: one line each, and never a secret.

boto3's own words are passed on only where they explain a parameter; they may quote keys otherwise.
"""

from typing import Any

from botocore import exceptions as boto  # type: ignore[import-untyped]

from dibs.errors import BadInput, DibsError, LeaseLost, StorageError
from dibs.queues.sqs.address import Address
from dibs.queues.sqs.service import Exists, NoQueue, Unanswered

#: Nothing was sent: trying again cannot do anything twice.
UNSENT = (boto.EndpointConnectionError, boto.ConnectTimeoutError, boto.ProxyConnectionError)
#: Sent perhaps, and perhaps it took effect.
UNANSWERED = (boto.HTTPClientError, boto.ConnectionError)

_NO_QUEUE = ("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist")
_GONE = ("ReceiptHandleIsInvalid", "AWS.SimpleQueueService.MessageNotInflight", "MessageNotInflight")
_UNKNOWN_KEYS = (
    "InvalidClientTokenId", "UnrecognizedClientException", "SignatureDoesNotMatch", "InvalidAccessKeyId",
    "InvalidSignatureException", "IncompleteSignature", "AuthFailure",
)  # fmt: skip
_EXPIRED = ("ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired")
_DENIED = ("AccessDenied", "AccessDeniedException", "AuthorizationError", "KMS.AccessDeniedException")
_THROTTLED = ("RequestThrottled", "ThrottlingException", "Throttling", "RequestLimitExceeded", "TooManyRequests")
_TOO_LONG = ("AWS.SimpleQueueService.BatchRequestTooLong", "BatchRequestTooLong", "InvalidMessageContents")


def throttled(error: boto.ClientError) -> bool:
    return _code(error) in _THROTTLED


def unsure(error: boto.ClientError) -> bool:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)) >= 500


def refusal(error: Exception, operation: str, address: Address) -> DibsError:
    """The error of dibs that says it."""
    if isinstance(error, boto.ClientError):
        return _refused(error, operation, address)
    if isinstance(error, boto.NoRegionError):
        return BadInput("sqs needs a region; set AWS_REGION, or ?region= in the URL")
    if isinstance(error, boto.ProfileNotFound):
        return BadInput(f"AWS profile {address.profile!r} is not known; see ~/.aws/config, or leave ?profile= out")
    if isinstance(error, boto.NoCredentialsError | boto.PartialCredentialsError):
        return StorageError(
            "no AWS credentials, or only a part; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        )
    if isinstance(error, boto.CredentialRetrievalError | boto.TokenRetrievalError | boto.SSOError):
        return StorageError("AWS credentials cannot be had; log in again (aws sso login), or look at the profile")
    if isinstance(error, ValueError) and "endpoint" in str(error).lower():
        if not address.endpoint:  # made of an empty region
            return BadInput("sqs needs a region; set AWS_REGION, or ?region= in the URL")
        return BadInput(f"endpoint {address.endpoint!r} is not acceptable; write https://HOST[:PORT]")
    if isinstance(error, UNANSWERED):
        kind, what = (
            (StorageError, "cannot be reached") if isinstance(error, UNSENT) else (Unanswered, "does not answer")
        )
        return kind(f"SQS {what} at {address.where}; is the network there, and the endpoint and region right?")
    return StorageError(f"SQS queue {address.name}: {operation} failed: {type(error).__name__}")


def _refused(error: boto.ClientError, operation: str, address: Address) -> DibsError:
    code, message = _code(error), _message(error)
    name, where = address.name, address.where
    if code in _NO_QUEUE:
        create = "" if address.queue_url else f"; `dibs push sqs://{name} …` creates one"
        return NoQueue(f"no SQS queue {name} at {where}{create}")
    if code in _GONE or "ReceiptHandle" in message or "Total VisibilityTimeout" in message:
        return LeaseLost("SQS gave the task to another, or its 12 hours are over")
    if code in ("QueueNameExists", "QueueAlreadyExists"):
        return Exists(f"SQS queue {name} exists with other attributes")
    if code in _UNKNOWN_KEYS:
        return StorageError(f"AWS does not accept these credentials at {where}; check the key and the region")
    if code in _EXPIRED:
        return StorageError("the AWS credentials have expired; log in again")
    if code in _DENIED:
        return StorageError(f"no permission for {operation} on SQS queue {name} at {where}; ask for it in IAM")
    if code in _TOO_LONG or code.startswith("InvalidParameter"):
        return BadInput(f"SQS queue {name} refused {operation}: {' '.join(message.split())}")
    if unsure(error):
        return Unanswered(f"SQS failed at {where} ({code}); try again later")
    return StorageError(f"SQS queue {name} refused {operation}: {code}")


def _code(error: boto.ClientError) -> str:
    return str(_said(error).get("Code", ""))


def _message(error: boto.ClientError) -> str:
    return str(_said(error).get("Message", ""))


def _said(error: boto.ClientError) -> dict[str, Any]:
    return dict(error.response.get("Error", {}))
