"""A coding agent that speaks the Agent Client Protocol: it asks before it writes, and does as it is told."""

import json
import os
import sys


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def note(line):
    with open("witness", "a") as witness:
        witness.write(f"{os.getpid()} {line}\n")


def say(session, text):
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    send({"method": "session/update", "params": {"sessionId": session, "update": update}})


def ask(session):
    options = [
        {"optionId": "yes", "name": "Write it", "kind": "allow_once"},
        {"optionId": "no", "name": "Leave it", "kind": "reject_once"},
    ]
    call = {"toolCallId": "c1", "title": "Write report.txt", "kind": "edit"}
    params = {"sessionId": session, "toolCall": call, "options": options}
    send({"id": 900, "method": "session/request_permission", "params": params})


prompt = None
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        capabilities = {"loadSession": False, "promptCapabilities": {}}
        send({"id": message["id"], "result": {"protocolVersion": 1, "agentCapabilities": capabilities}})
    elif method == "session/new":
        note("session")
        send({"id": message["id"], "result": {"sessionId": "s1"}})
    elif method == "session/prompt":
        prompt = message["id"]
        note("prompt")
        if os.path.exists("reads"):
            path = os.path.abspath(open("reads").read())
            send({"id": 901, "method": "fs/read_text_file", "params": {"sessionId": "s1", "path": path}})
        else:
            ask("s1")
    elif message.get("id") == 901:
        content = message["result"]["content"]
        note("read " + content)
        params = {"sessionId": "s1", "path": path, "content": content + "more\n"}
        send({"id": 902, "method": "fs/write_text_file", "params": params})
    elif message.get("id") == 902:
        say("s1", "refused" if "error" in message else "written")
        send({"id": prompt, "result": {"stopReason": "end_turn"}})
    elif message.get("id") == 900:
        outcome = message["result"]["outcome"]
        if outcome.get("optionId") == "yes":
            with open("report.txt", "w") as report:
                report.write("written\n")
            say("s1", "I wrote report.txt.")
        elif os.path.exists("stubborn"):
            send({"id": prompt, "result": {"stopReason": "cancelled"}})
            continue
        else:
            say("s1", "I left it alone.")
        send({"id": prompt, "result": {"stopReason": "end_turn"}})
