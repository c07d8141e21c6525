"""Real file systems, mounted for the tests: `make test-filesystems`. Needs root; what cannot be mounted says why."""
