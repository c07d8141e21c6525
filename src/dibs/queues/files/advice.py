"""What the doctor has found out about the place of a new queue: `.dibs-doctor.json`, there or in a folder above."""

import os

from dibs.errors import BadInput
from dibs.queues.files.layout import FORMATS
from dibs.task import decode

NAME = ".dibs-doctor.json"


def advised_steps(folder: str) -> str:
    """By the nearest note on the same mount; without one a rename will do."""
    while True:
        try:
            with open(f"{folder}/{NAME}", "rb") as file:
                said = decode(file.read()).get("steps", "rename")
            return said if said in FORMATS else "rename"
        except (OSError, BadInput, AttributeError, TypeError):
            pass
        above = os.path.dirname(folder)
        if above == folder or os.path.ismount(folder):
            return "rename"
        folder = above
