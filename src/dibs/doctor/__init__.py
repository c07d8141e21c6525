"""Find out what a storage really does, before work depends on it: `dibs doctor URL`.

    report = examine("/mnt/share/queues/scrape")
    report.verdict        # "safe for many hosts", "safe on one host", "not safe"

It tries on the place itself what a queue there would rely on, with processes that contend, and removes what it made.
What it cannot see it does not promise: a fault that shows once in a million times is not found in seconds.
"""

from dibs.doctor.examining import examine
from dibs.doctor.finding import Finding, Level
from dibs.doctor.report import Report, Verdict

__all__ = ["Finding", "Level", "Report", "Verdict", "examine"]
