"""Places for the doctor, as the tests of their backends have them."""

from git.conftest import plain_git, team
from sqs.server import sqs_server

__all__ = ["plain_git", "sqs_server", "team"]
