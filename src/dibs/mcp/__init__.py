"""`dibs mcp`: queues for coding agents and other programs that speak the Model Context Protocol, over stdio.

`places` knows which queues are served, `holding` what the client has claimed, `tools` what it can ask for
(`asked`, `answers`), `server` how that is said in the protocol (`wire`), and `serving` when it begins and ends.
Needs the official Python SDK, and the pydantic that it brings; nothing outside this package does.
"""
