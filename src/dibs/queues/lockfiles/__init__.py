"""Queues whose tasks are somebody's files: a lease file for each that is held, and what is kept of the others."""
