"""Whole tasks from one queue into another, whatever backends they are on: `dibs move` and `dibs copy`.

    report = move(dibs.open("queues/scrape"), dibs.open("queues/new"), follow=True)

The protocol is in `mover`, what each backend does for it in `dibs.queues.gate`.
"""

from dibs.moving.mover import copy, move
from dibs.moving.report import Refusal, Report

__all__ = ["Refusal", "Report", "copy", "move"]
