"""The queue on object storage: `s3://`, `gs://`, `az://`."""

from dibs.queues.objects.queue import ObjectsQueue

__all__ = ["ObjectsQueue"]
