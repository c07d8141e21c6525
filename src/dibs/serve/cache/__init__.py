"""What a queue shows, from what is remembered of its files. It decides nothing: every step goes to the queue.

The code that puts an answer together is the queue's own; only what it reads is remembered, and only for as long as
nothing says that it may have changed. In doubt the files are looked at.

folders   listings of folders, good while the folder has the same times
files     what a `file:` queue shows
specs     what a `specs:` queue shows: its files (`listing`, `again`), locks (`ledger`) and what follows (`order`)
watching  file events, for what the times of a folder do not tell
looking   which of these a queue has
"""
