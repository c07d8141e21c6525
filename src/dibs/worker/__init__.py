"""Workers: claim, run, finish; and the guard that keeps their leases and cleans up after their death."""
