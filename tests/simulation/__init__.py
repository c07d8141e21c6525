"""The deterministic simulation: one seed is one schedule, of the real code over simulated media.

world      simulated time, processes (greenlets), and who runs next
machines   hosts and clocks
disk       a file system          cloud    a store
truth      what really happened to each task, and which steps are violations
hands      who holds and believes what; the answers that steps gave
actors     producers, workers, guards, cancellers, purgers
schedule   one schedule from a seed: chaos, then calm
broken     broken variants of the protocol, which must be caught

python -m tests.simulation --schedules 200000 --jobs 2
python -m tests.simulation --seed 17 --backend files        replays one, with its trace
"""
