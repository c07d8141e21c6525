"""The queue on Redis, beyond the contract."""
