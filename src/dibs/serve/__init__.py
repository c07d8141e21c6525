"""The daemon: queues that live elsewhere, over HTTP. Nobody needs it: what it serves stays the truth.

connection  HTTP/1.1 on one connection
gatehouse   who may come in: Host, Origin, token, size, time; `limits`: how often
routes      the one table of what can be asked; `openapi` describes it, `asked` checks by it
places      what is asked of the daemon as a whole
app         from a request to an answer
house       the queues that are served, and what runs beside them
desk        one served queue: its steps, and who holds what through it
pace        which of its steps are done in the event loop, and which in threads
waiting     claims that wait: one thread a queue, however many wait
sessions    connections that workers hold; what a dropped one had goes back
remembered  answers, for whom they did not reach; `settling` finds out the same after a restart
metrics     what is counted, and `exposition` of it; `readiness` says whether all is well, `logs` what happens
running     sockets, start and stop
"""
