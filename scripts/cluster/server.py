"""A Restate server from npm, in a folder of its own, on free ports of loopback. For trials."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.request

PACKAGE = "@restatedev/restate-server@1.7"
CONFIGURATION = pathlib.Path(__file__).parents[2] / "crates/cli/src/cluster/server.toml"


class Missing(Exception):
    """The server cannot be started on this machine."""


def free_ports(count):
    taken = [socket.socket() for _ in range(count)]
    for one in taken:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports


def program():
    """The server's program: CONVOKE_RESTATE_SERVER, or that of npm, installed once into the cache folder."""
    named = os.environ.get("CONVOKE_RESTATE_SERVER")
    if named:
        return named
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(cache, "convoke", "restate-server")
    packages = os.path.join(folder, "node_modules", "@restatedev")

    def found():
        for name in sorted(os.listdir(packages)) if os.path.isdir(packages) else []:
            path = os.path.join(packages, name, "bin", "restate-server")
            if name != "restate-server" and os.path.isfile(path):
                return path
        return None

    if not found():
        os.makedirs(folder, exist_ok=True)
        install = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--silent", "--prefix", folder, PACKAGE]
        try:
            done = subprocess.run(install, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Missing(f"npm does not install {PACKAGE}: {error}") from error
        if done.returncode or not found():
            raise Missing(f"npm does not install {PACKAGE} here: {done.stderr.strip()[-200:]}")
    return found()


class Server:
    """One node."""

    def __init__(self, folder, keep_alive="5s"):
        self.folder = os.path.abspath(folder)
        os.makedirs(self.folder, exist_ok=True)
        self.ingress, self.admin, node = free_ports(3)
        self.address = f"restate://127.0.0.1:{self.ingress}?admin={self.admin}"
        self.config = os.path.join(self.folder, "server.toml")
        with open(self.config, "w") as file:
            file.write(CONFIGURATION.read_text().format(
                name="trial", folder=json.dumps(os.path.join(self.folder, "data")), node=node, ingress=self.ingress,
                admin=self.admin, keep_alive=keep_alive))
        self.process = None
        self.program = program()

    def start(self):
        log = open(os.path.join(self.folder, "log"), "a")
        self.process = subprocess.Popen(
            [self.program, "--config-file", self.config], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env={**os.environ, "RUST_LOG": "warn"})
        until = time.time() + 60
        while time.time() < until:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/health", timeout=2)
                return self
            except OSError:
                if self.process.poll() is not None:
                    raise Missing(f"the server ended at its start, see {self.folder}/log") from None
                time.sleep(0.1)
        raise Missing("the server did not start within 60 s")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()

    def query(self, sql):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.admin}/query", data=json.dumps({"query": sql}).encode(),
            headers={"content-type": "application/json", "accept": "application/json"})
        return json.load(urllib.request.urlopen(request, timeout=20))["rows"]
