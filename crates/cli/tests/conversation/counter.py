"""An MCP server with one tool that never gives the same twice, sooner or later."""

import json
import sys
import threading
import time

lock = threading.Lock()
count = 0


def send(message):
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def call(request):
    global count
    with lock:
        count += 1
        number = count
    time.sleep(0.04 if number % 2 else 0.005)
    content = [{"type": "text", "text": f"number {number}"}]
    send({"id": request["id"], "result": {"content": content}})


for line in sys.stdin:
    request = json.loads(line)
    method = request.get("method")
    if method == "initialize":
        info = {"name": "counter", "version": "1"}
        version = request["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        send({"id": request["id"], "result": result})
    elif method == "tools/list":
        tool = {"name": "next", "description": "The next number.", "inputSchema": {"type": "object"}}
        send({"id": request["id"], "result": {"tools": [tool]}})
    elif method == "tools/call":
        threading.Thread(target=call, args=(request,)).start()
    elif "id" in request:
        send({"id": request["id"], "result": {}})
