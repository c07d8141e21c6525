"""What a folder must do to hold a queue: one check a file, run one after the other by `battery`."""
