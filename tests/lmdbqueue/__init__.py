"""The queue in LMDB, beyond the contract."""
