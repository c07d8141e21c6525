"""Disks that tests need: one that follows a manual clock, one that fails or kills on purpose, one that loses power."""
