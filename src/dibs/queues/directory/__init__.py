"""Any existing folder of files as a queue: `dir:FOLDER?done=FOLDER2`."""

from dibs.queues.directory.queue import DirectoryQueue

__all__ = ["DirectoryQueue"]
