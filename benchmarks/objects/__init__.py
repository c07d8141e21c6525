"""The contenders on object storage: each pushes numbered tasks into a bucket and drains them, so many at once."""

from benchmarks.objects.boto3_plain import Boto3Plain
from benchmarks.objects.contender import BucketContender, Ran
from benchmarks.objects.dibs_bucket import DibsBatches, DibsBucket
from benchmarks.objects.raw_obstore import RawObstore

__all__ = ["BucketContender", "Ran", "contenders"]


def contenders(concurrency: int) -> list[BucketContender]:
    """In the order in which a round runs them. Batches overlap requests on their own, so they are no match for one."""
    alone: list[BucketContender] = [RawObstore(), DibsBucket(), Boto3Plain()]
    return alone if concurrency == 1 else [RawObstore(), DibsBucket(), DibsBatches(), Boto3Plain()]
