"""Search over the tasks and specs of a queue, by an index that is derived from them and can be thrown away at any time.

words     what is found by: the texts and fields of a task
asking    what somebody asks for, and how it is written for the index
index     the index itself (tantivy)
shelf     where an index is kept, who may write it, and whether it is whole
sources   what has changed in a queue since: `from_files`, `from_specs`, `from_scan`
keeping   one queue's index, brought in step before it answers
searching beside the daemon: keeps the indexes in step while nobody asks; `load` says how fast
"""
