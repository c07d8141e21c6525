"""Benchmarks: dibs beside its raw floor and its peers, in one run on one disk. Run `python -m benchmarks --help`."""
