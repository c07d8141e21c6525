"""What is kept of the last hours: right rates, fixed size, gaps where nobody looked."""

import random

from dibs.serve.dashboard.series import SPANS, Series
from dibs.serve.dashboard.spread import Spread

LEVELS = {"ready": 7, "claimed": 2}


def flows(completed: int) -> dict[str, int]:
    return {"pushed": 0, "completed": completed, "failed": 0}


def test_rates_are_counts_by_the_time_that_was_looked_at() -> None:
    series = Series()
    for number in range(1, 61):
        series.add(1000.0 + number * 5, 5.0, flows(10), LEVELS)
    columns = series.columns(1300.0, "15m")
    assert set(columns["completed"]) == {2.0}
    assert columns["ready"][-1] == 7
    assert series.rate(1300.0, "completed") == 2.0


def test_memory_is_bounded_and_old_points_are_coarser() -> None:
    series = Series()
    for number in range(20_000):
        series.add(float(number * 5), 5.0, flows(1), LEVELS)
    now = 20_000 * 5.0
    assert sum(len(ring) for ring in series._rings.values()) == 720
    for span, (size, group, many) in SPANS.items():
        columns = series.columns(now, span)
        assert many - 1 <= len(columns["ago"]) <= many
        assert columns["step"] == size * group
        assert all(len(values) == len(columns["ago"]) for values in columns.values() if isinstance(values, list))
        assert max(columns["ago"]) <= columns["span"]


def test_where_nobody_looked_there_is_no_point() -> None:
    series = Series()
    series.add(1000.0, 5.0, flows(1), LEVELS)
    series.add(1300.0, 5.0, flows(1), LEVELS)
    assert len(series.columns(1300.0, "15m")["ago"]) == 2


def test_the_small_line_has_its_points_where_they_belong() -> None:
    series = Series()
    series.add(1795.0, 5.0, flows(10), LEVELS)
    line = series.line(1795.0, "completed")
    assert line[-1] == 2.0
    assert sum(line) == 2.0


def test_parts_of_a_spread_are_right_to_a_tenth() -> None:
    rng = random.Random(7)
    values = sorted(rng.lognormvariate(0, 1.5) for _ in range(5000))
    spread = Spread()
    for value in values:
        spread.add(value)
    for share in (0.1, 0.5, 0.95):
        part = spread.part(share)
        assert part is not None
        assert abs(part / values[int(share * 5000)] - 1) < 0.12
    assert Spread().part(0.5) is None


def test_joined_spreads_are_one() -> None:
    one, two = Spread(), Spread()
    one.add(1.0)
    two.add(100.0, 3.0)
    one.join(two)
    assert 90 < (one.part(0.5) or 0) < 110
    assert 0.9 < (one.part(0.2) or 0) < 1.2
