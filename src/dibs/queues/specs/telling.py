"""What `why` has to add for a spec: what only its file, or the other specs, can say. Pure."""

from dibs.lease import Record
from dibs.queues.specs.pages import Page
from dibs.specs.badspec import BadSpec
from dibs.specs.frontmatter import edit
from dibs.specs.statuses import Status
from dibs.specs.view import View
from dibs.states import Cell, State


def reasons(page: Page, cell: Cell, lease: Record | None, view: View, foreign: str = "") -> list[str]:
    """`foreign`: the path of a lock that another tool has made."""
    spec = page.spec
    lines = []
    if foreign:
        lines.append(f"locked by another tool: {foreign} counts while its process runs, or until it is stale")
    if spec.status in (Status.BLOCKED, Status.PAUSED):
        lines.append(f"its status was set to {spec.status}; `status: pending` lets it run")
    if spec.status is Status.NEEDS_ATTENTION:
        lines.append(f"it needs attention: look at it, then `dibs specs retry {spec.id}`")
    if spec.status is Status.IN_PROGRESS and lease is None and not foreign:
        who = f" by {spec.started_by}" if spec.started_by else ""
        lines.append(
            f"in progress{who} on another machine or by hand; `dibs specs release {spec.id} --force` takes it away"
        )
    if cell.state is State.BLOCKED and not spec.approved:
        lines.append("waits for approval; set `approval: approved`")
    place = view.graph.places.get(spec.id)
    if place is not None and cell.state is State.BLOCKED:
        for circle in view.graph.cycles:
            if place in circle:
                lines.append(f"is in a circle: {view.graph.drawn(circle)}; take one of these dependencies out")
    if cell.state is State.READY:
        try:
            edit(page.data, {"status": str(Status.IN_PROGRESS), "started_by": "x", "started_at": "x"})
        except BadSpec as error:
            lines.append(f"but it cannot be claimed: {error}")
    return lines
