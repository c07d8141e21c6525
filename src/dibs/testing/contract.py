"""All topics together: what a backend's test class inherits from."""

from dibs.testing.topics.attempts import Attempts
from dibs.testing.topics.basics import Basics
from dibs.testing.topics.batches import Batches
from dibs.testing.topics.chains import Chains
from dibs.testing.topics.dependencies import Dependencies
from dibs.testing.topics.due import Due
from dibs.testing.topics.fencing import Fencing
from dibs.testing.topics.filters import Filters
from dibs.testing.topics.guards import Guards
from dibs.testing.topics.hosts import Hosts
from dibs.testing.topics.keeping import Keeping
from dibs.testing.topics.keys import KeyRules
from dibs.testing.topics.leases import Leases
from dibs.testing.topics.limits import Limits
from dibs.testing.topics.moving import Moving
from dibs.testing.topics.order import Order
from dibs.testing.topics.priorities import Priorities
from dibs.testing.topics.priority_races import PriorityRaces
from dibs.testing.topics.races import Races
from dibs.testing.topics.scheduling import Scheduling
from dibs.testing.topics.steering import Steering
from dibs.testing.topics.views import Views
from dibs.testing.topics.waiting import Waiting


class QueueContract(
    Basics, Order, KeyRules, Filters, Scheduling, Due, Dependencies, Leases, Fencing, Guards, Keeping, Hosts,
    Attempts, Steering, Priorities, Views, Batches, Chains, Waiting, Limits, Races, PriorityRaces, Moving,
):  # fmt: skip
    """The whole contract. See `dibs.testing` for how to use it, `dibs.testing.harness` for the hooks."""
