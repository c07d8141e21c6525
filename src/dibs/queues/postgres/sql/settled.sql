-- What became of a transaction whose answer was lost: committed, aborted, or in progress.
SELECT txid_status(%(number)s::bigint)
