"""An MCP server with one tool that gives two megabytes, and that kills the engine which uses it at chosen calls.

Each call leaves a line in `witness` when it begins and one when it has had its effect. The file `kills` lists what to do:
`N before`, `N after` and `N late` kill the engine before the effect of call N, after it, or once the result is sent.
"""

import json
import os
import pathlib
import signal
import sys

LENGTH = 2_000_000


def note(line):
    with open("witness", "a") as witness:
        witness.write(line + "\n")


def engine():
    """The parent is the supervisor of this server, and its parent is the engine."""
    stat = pathlib.Path(f"/proc/{os.getppid()}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


def kill_due(number, moment):
    """Each entry counts once: what was carried out is taken off the list."""
    path = pathlib.Path("kills")
    entries = path.read_text().splitlines() if path.exists() else []
    entry = f"{number} {moment}"
    if entry not in entries:
        return
    entries.remove(entry)
    path.write_text("\n".join(entries))
    note(f"KILL {number}")
    os.kill(engine(), signal.SIGKILL)


def call(arguments):
    number = arguments["n"]
    note(f"START {number}")
    kill_due(number, "before")
    note(f"END {number}")
    kill_due(number, "after")
    line = f"page {number}: nothing of interest here, go on\n"
    text = f"page {number} begins\n" + line * (LENGTH // len(line)) + f"page {number} ends"
    return {"content": [{"type": "text", "text": text}]}


def answer(request):
    method, params = request["method"], request.get("params", {})
    if method == "initialize":
        info = {"name": "bulk", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        return {"tools": [{"name": "fetch", "description": "Fetches a page.", "inputSchema": schema}]}
    if method == "tools/call":
        return call(params["arguments"])
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    reply = {"jsonrpc": "2.0", "id": request["id"], "result": answer(request)}
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()
    if request["method"] == "tools/call":
        kill_due(request["params"]["arguments"]["n"], "late")
