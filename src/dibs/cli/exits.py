"""Exit codes, and how an error becomes one line and a code. The only place that knows them."""

from dibs.errors import BadInput, DibsError, LeaseLost

DONE = 0
FAILED = 1  # refused or failed
USAGE = 2  # bad usage: an argument, payload, URL or setting is not acceptable
NOTHING = 3  # nothing to claim
LOST = 4  # the lease is lost
INTERRUPTED = 130  # Ctrl-C
PIPE = 141  # nobody reads the output any more


class CommandError(DibsError):
    """What the command line itself has to say; `remedy` becomes the `Try:` line."""

    def __init__(self, message: str, remedy: str = "", code: int = FAILED) -> None:
        super().__init__(message)
        self.remedy = remedy
        self.code = code


def code_of(error: BaseException) -> int:
    if isinstance(error, CommandError):
        return error.code
    if isinstance(error, LeaseLost):
        return LOST
    return USAGE if isinstance(error, BadInput) else FAILED


def lines_of(error: BaseException) -> list[str]:
    """What to print on stderr: `dibs: …`, and `Try: …` where there is a remedy. Never a secret or a control code."""
    from dibs.cli.output import clean
    from dibs.redact import redact

    if isinstance(error, DibsError):
        message = str(error)
    elif isinstance(error, OSError):
        place = f": {error.filename}" if error.filename else ""
        message = f"{error.strerror or type(error).__name__}{place}"
    else:
        message = f"internal error: {type(error).__name__}: {error}"
    lines = ["dibs: " + clean(" ".join(redact(message).split("\n")))]
    remedy = getattr(error, "remedy", "")
    if not isinstance(error, DibsError | OSError):
        remedy = "DIBS_DEBUG=1 in the environment shows the traceback; please report it"
    if remedy:
        lines.append("Try: " + clean(redact(remedy)))
    return lines
