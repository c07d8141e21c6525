"""The table of what can be asked of the daemon: requests are checked by it, the OpenAPI description is made of it."""

from typing import NamedTuple

from dibs.serve.asked import Field

PREFIX = "/v1/queues"
EVERYWHERE = "/v1/search"  # over all queues
_EPOCH = Field("epoch", "whole", "of the lease: the fencing token", True)
_SESSION = Field("session", "text", "the worker session that it hangs on")
_FILTERS = (
    Field("project", "text", "only tasks of this project"),
    Field("labels", "texts", "only tasks with all of these labels"),
    Field("max_priority", "priority", "only up to this priority"),
)
_QUERY = (_FILTERS[0], Field("label", "texts", "only tasks with this label; given twice, with both"))
CLAIM = (Field("ttl", "number", "how many seconds the lease holds without renewal"), _SESSION, *_FILTERS)
ENDED = (Field("id", "text", "of the task", True), _EPOCH, Field("result", "any", "kept with the task"))
TASK = (
    Field("id", "text", "made by the client, 32 hex digits: sent again, it is the same task"),
    Field("payload", "any", "any JSON"),
    Field("key", "text", "your own name for it, unique among live tasks"),
    Field("unique", "text", "live, or completed: the key is unique among completed tasks too"),
    Field("priority", "priority", "higher first; 50 if not given"),
    Field("project", "text", "for filters"),
    Field("labels", "texts", "for filters"),
    Field("delay", "number", "seconds from now"),
    Field("at", "number", "seconds since 1970"),
    Field("not_before", "number", "the same as `at`"),
    Field("after", "texts", "ids or keys of tasks that must be completed first"),
    Field("max_attempts", "whole", "failed attempts until it is dead-lettered"),
    Field("max_deaths", "whole", "workers it may kill until it is dead-lettered"),
    Field("max_runtime", "number", "the longest a lease may be held"),
    Field("backoff", "number", "seconds before the first retry"),
    Field("max_backoff", "number", "the longest wait before a retry"),
    Field("pushed_at", "number", "when the client pushed it"),
)
SEARCH = (
    Field("q", "text", "words and field:value, all of which must be met", True),
    Field("sort", "text", "relevance, priority, newest or oldest"),
    Field("limit", "whole", "at most so many; 50 if not given, up to 1000"),
)


class Route(NamedTuple):
    method: str
    path: str  # below a queue; {ref} is a task's id or key
    name: str  # of the function in `handlers`
    what: str
    body: tuple[Field, ...] = ()
    query: tuple[Field, ...] = ()
    kept: bool = False  # its answer is remembered for whom it did not reach
    raw: bool = False  # it answers by itself, as a stream


ROUTES = (
    Route("GET", "", "about", "what the queue offers, and whether it is paused"),
    Route("GET", "/time", "time", "now, by the clock of the store"),
    Route("GET", "/stats", "stats", "counts by state, priority, project and label"),
    Route("GET", "/claimed", "claimed", "who holds what now"),
    Route("POST", "/tasks", "push", "add tasks", (Field("tasks", "objects", "each as in NewTask", True),), kept=True),
    Route(
        "GET", "/tasks", "tasks", "tasks, a page at a time, in about the order in which they would run",
        query=(
            Field("state", "text", "only tasks in this state"), *_QUERY,
            Field("order", "text", "run (if not given), or newest: of tasks that are over, what ended last first"),
            Field("limit", "whole", "at most so many in all"), Field("page", "whole", "so many at a time, up to 1000"),
            Field("next", "text", "what the page before gave as `next`"),
        ),
    ),
    Route("GET", "/search", "search", "tasks by their words and fields", query=SEARCH),
    Route("GET", "/tasks/{ref}", "get", "one task"),
    Route("GET", "/tasks/{ref}/detail", "detail", "everything known about one task"),
    Route("GET", "/tasks/{ref}/why", "why", "what keeps a task from running",
          query=(*_QUERY, Field("max_priority", "text", "as a claimer would say it"))),
    Route("GET", "/tasks/{ref}/lease", "lease", "the lease that is held on a task", query=(_EPOCH,)),
    Route("POST", "/claim", "claim", "take the right to work on ready tasks",
          (Field("limit", "whole", "at most so many; 1 if not given"),
           Field("wait", "number", "seconds to wait for one, up to 60"), *CLAIM), kept=True),
    Route("POST", "/tasks/{ref}/renew", "renew", "hold a lease for another TTL", (_EPOCH, _SESSION)),
    Route("POST", "/tasks/{ref}/complete", "complete", "done; with `claim`, and the next one please",
          (_EPOCH, Field("result", "any", "kept with the task"),
           Field("claim", "object", "as for claim, without limit and wait")), kept=True),
    Route("POST", "/tasks/{ref}/fail", "fail", "it did not work: one attempt more",
          (_EPOCH, Field("error", "text", "what went wrong"),
           Field("retry", "flag", "false: dead-letter it at once")), kept=True),
    Route("POST", "/tasks/{ref}/release", "release", "give it back untouched",
          (_EPOCH, Field("delay", "number", "seconds until it is ready again")), kept=True),
    Route("POST", "/tasks/{ref}/end", "end", "its holder is dead: others may have it at once", (_EPOCH,)),
    Route("POST", "/complete", "complete_many", "many are done",
          (Field("leases", "objects", "each with id, epoch and result", True),), kept=True),
    Route("POST", "/tasks/{ref}/cancel", "cancel", "take it out of the queue", kept=True),
    Route("POST", "/tasks/{ref}/retry", "retry", "put a failed or cancelled task back", kept=True),
    Route("POST", "/tasks/{ref}/priority", "prioritise", "change the priority of a task that waits",
          (Field("priority", "priority", "higher first", True),), kept=True),
    Route("POST", "/pause", "pause", "let nothing be claimed", (Field("reason", "text", "for whoever asks why"),)),
    Route("POST", "/resume", "resume", "let tasks be claimed again"),
    Route("POST", "/purge", "purge", "delete old finished tasks",
          (Field("state", "text", "completed, failed or cancelled"),
           Field("older_than", "number", "seconds since they ended"))),
    Route("GET", "/session", "session", "a worker session: a stream of empty lines, held open while the worker lives",
          query=(Field("worker", "text", "its name, unique for ever", True),), raw=True),
    Route("POST", "/sessions/{ref}/leave", "leave", "the session ends in good order: what it holds is left to expire"),
)  # fmt: skip


class Table:
    """Finds the route of a request by the parts of its path."""

    def __init__(self, routes: tuple[Route, ...] = ROUTES) -> None:
        self._known: dict[tuple[str, ...], dict[str, Route]] = {}
        for route in routes:
            self._known.setdefault(tuple(route.path.split("/")[1:]), {})[route.method] = route

    def find(self, parts: list[str]) -> tuple[dict[str, Route], str]:
        """(routes by method, the {ref} of the path); nothing when there is no such path."""
        found = self._known.get(tuple(parts))
        if found is not None:
            return found, ""
        if len(parts) < 2:
            return {}, ""
        return self._known.get((parts[0], "{ref}", *parts[2:]), {}), parts[1]
