"""What PostgreSQL, Redis, LMDB, git remotes and SQS must prove: a file each, with the act of its race."""
