"""How the workers of a bucket learn what is ready: by listing (`stored.discovery`), from a snapshot that a host or all
share, or from another queue."""
