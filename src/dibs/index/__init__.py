"""The index: an inbox that any number of machines compact into shards. `index.Index` is all that others need."""
