"""The dashboard: a page of plain files that the daemon serves, and what that page asks for.

assets      the files themselves; they hold no data, so they are given to anybody
places      what the page asks: lists, one task, who works, charts, the graph
dashboard   what runs beside the queues for it: a sampler for each, and who watches
sampler     looks at one queue now and then; `series` keeps what it saw, `seen` how long tasks took
events      what is new, as a stream
shown       tasks as the page shows them; `writing` cuts and masks payloads
listings    lists, a page at a time; `finding`: tasks by a text
graph       what waits for what
"""
