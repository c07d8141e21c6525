"""The deterministic simulation: one seed is one schedule, of the real code over simulated media.

world          simulated time, processes (greenlets), and who runs next
machines       hosts and clocks
disk, cloud    a file system, a store
system         system calls over the disk, for code that makes them itself
*_backend      a queue over its medium, which tells the truth of every change; `locks`: bare leases
truth          what really happened to each task, and which steps are violations
hands          who holds and believes what; whether answers are true
keyring        what keys promise
actors, cast   producers, workers, guards, one-shot commands, meddlers; who plays in a schedule
schedule       one schedule from a seed: chaos, then calm, then the aftermath; many: many of them
broken         broken variants of the protocol, which must be caught

python -m tests.simulation --schedules 200000 --jobs 2
python -m tests.simulation --seed 17 --backend files        replays one, with its trace
"""
