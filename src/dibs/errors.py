"""Every error that dibs raises on purpose.

DibsError
├── BadInput          an argument, payload, key, URL or setting is not acceptable; nothing was changed
├── Unsupported       this backend cannot do that (see `Queue.capabilities`)
├── TaskNotFound      no task has that id or key
├── Refused           the task's state does not allow the step (retry of a completed task, …)
├── LeaseLost         the lease was taken over, cancelled or ran out; its work here is not recorded
├── StorageError      the medium said no: full, read-only, gone, no permission, unreachable
├── FormatError       the queue was written by another version of dibs, or is no queue
└── MissingExtra      an optional driver is not installed; the message names the install command

A message says what, which, the value, and what to do. A lost lease is not a failure of the
task: somebody else runs it, or already finished it.
"""


class DibsError(Exception):
    """Base of all errors raised on purpose."""


class BadInput(DibsError, ValueError):
    """An argument is not acceptable. Nothing was changed."""


class Unsupported(DibsError):
    """This backend does not offer that; `Queue.capabilities` says what it offers."""


class TaskNotFound(DibsError, LookupError):
    """No task has that id or key in this queue."""


class Refused(DibsError):
    """The task's present state does not allow the step."""


class LeaseLost(DibsError):
    """The lease no longer holds; the step was refused and changed nothing."""


class StorageError(DibsError):
    """The storage refused or failed; the queue is as it was before."""


class FormatError(DibsError):
    """The queue's format is not one this version can use."""


class MissingExtra(DibsError):
    """An optional dependency is missing."""
