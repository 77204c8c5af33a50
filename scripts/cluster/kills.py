#!/usr/bin/env python3
"""Kills workers, the server and stops workers at random while runs go on, and judges what happened.

    kills.py BINARY [KILLS]        20 kills unless told

A witness file, which every attempt writes to when it begins and when it ends, says what really happened. Judged: every run ends
well; no attempt begins twice; a step begins again only after the run was told that its attempt is lost; every attempt has one end in
the events; numbers of events have no gap; nothing is left over in the cluster. Exit 77 if there is no server here.
"""

import collections
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from server import Missing, Server, free_ports  # noqa: E402

WORKERS, RUNS = 3, 2
WORKFLOW = """workflow:
  name: witness
  entry_point: each
  limits: {{max_iterations: 10000}}
for_each:
  - name: each
    type: for_each
    source: workflow.input.items
    as: item
    max_concurrent: 12
    failure_mode: all_or_nothing
    agent:
      name: one
      type: script
      on_unknown: retry
      retry: {{max_attempts: 1}}
      command: sh
      args: ["-c", "echo begin {{{{ item }}}} $$ >> {witness}; sleep 0.3; echo end {{{{ item }}}} $$ >> {witness}; echo {{{{ item }}}}"]
    routes: [{{to: last}}]
agents:
  - name: last
    type: script
    command: echo
    args: ["{{{{ each.outputs | length }}}}"]
output:
  count: "{{{{ last.output.stdout }}}}"
"""


def main():
    binary, kills = os.path.abspath(sys.argv[1]), int(sys.argv[2] if len(sys.argv) > 2 else 20)
    seed = int(os.environ.get("CONVOKE_CLUSTER_SEED", time.time()))
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="convoke-cluster-") as folder:
        try:
            server = Server(os.path.join(folder, "server"), "2s").start()
        except Missing as why:
            print(why)
            return 77
        trial = Trial(binary, folder, server, chance, items=max(60, 12 * kills))
        try:
            trial.play(kills)
            wrong = trial.judge()
        finally:
            trial.end()
        for line in wrong:
            print("WRONG", line)
        print(f"{kills} kills and stops (seed {seed}): {trial.told}; {len(wrong)} wrong")
        return 1 if wrong else 0


class Trial:
    def __init__(self, binary, folder, server, chance, items):
        self.items = items
        self.binary, self.folder, self.server, self.chance = binary, folder, server, chance
        self.env = {**os.environ, "XDG_CACHE_HOME": folder + "/cache", "XDG_STATE_HOME": folder + "/state", "HOME": folder}
        self.listen = f"127.0.0.1:{free_ports(1)[0]}"
        self.workers, self.runs, self.told = [], [], ""
        self.lives = []

    def convoke(self, *words):
        return [self.binary, *words, "--state", self.server.address]

    def worker(self, register=False):
        log = open(self.folder + "/workers.log", "a")
        words = ["worker", "--listen", self.listen] + ([] if register else ["--no-register"])
        process = subprocess.Popen(self.convoke(*words), cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.workers.append(process)
        return process

    def play(self, kills):
        self.worker(register=True)
        for _ in range(WORKERS - 1):
            self.worker()
        time.sleep(3)
        for n in range(RUNS):
            witness = f"{self.folder}/witness.{n}"
            open(witness, "w").close()
            file = f"{self.folder}/w{n}.yaml"
            with open(file, "w") as out:
                out.write(WORKFLOW.format(witness=witness))
            items = json.dumps([f"r{n}i{i}" for i in range(self.items)])
            run = subprocess.Popen(
                self.convoke("run", file, "-i", f"items={items}", "--no-interactive"), cwd=self.folder, env=self.env,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=open(f"{self.folder}/run.{n}.err", "w"), text=True)
            self.runs.append(run)
        # A cluster that is away when a run is to begin refuses it; what is tried here is what comes after.
        for n in range(RUNS):
            while "started" not in open(f"{self.folder}/run.{n}.err").read() and self.runs[n].poll() is None:
                time.sleep(0.1)
        done = collections.Counter()
        for _ in range(kills):
            time.sleep(self.chance.uniform(0.2, 1.2))
            what = self.chance.choices(["worker", "server", "stop"], [6, 2, 2])[0]
            done[what] += 1
            if what == "server":
                self.server.kill()
                time.sleep(self.chance.uniform(0, 1))
                self.server.start()
                continue
            victim = self.chance.choice(self.workers)
            if what == "stop":
                victim.send_signal(signal.SIGSTOP)
                time.sleep(self.chance.uniform(0.5, 4))
                victim.send_signal(signal.SIGCONT)
            else:
                victim.kill()
                victim.wait()
                self.workers.remove(victim)
                self.worker()
        self.told = ", ".join(f"{count} {what}" for what, count in sorted(done.items()))

    def judge(self):
        wrong, lost, begun = [], 0, 0
        for n, run in enumerate(self.runs):
            try:
                output, _ = run.communicate(timeout=240)
            except subprocess.TimeoutExpired:
                run.kill()
                left = self.server.query(
                    "select target, status, last_failure from sys_invocation where status != 'completed' limit 10")
                wrong.append(f"run {n} does not end; in the cluster: {left}")
                continue
            if run.returncode or json.loads(output or "{}").get("count") != self.items:
                said = open(f"{self.folder}/run.{n}.err").read()[-600:]
                wrong.append(f"run {n} ended with {run.returncode}: {output} {said}")
        listed = subprocess.run(self.convoke("runs", "--format", "json"), env=self.env, capture_output=True, text=True, timeout=120)
        for row in json.loads(listed.stdout or "[]"):
            events = subprocess.run(self.convoke("events", row["id"], "--format", "json"), env=self.env, capture_output=True, text=True, timeout=120)
            one, two, three = self.judge_run(row["id"], [json.loads(line) for line in events.stdout.splitlines()])
            wrong, lost, begun = wrong + one, lost + two, begun + three
        self.told += f"; {begun} attempts began, {lost} told as lost"
        left = self.server.query("select target, status from sys_invocation where status not in ('completed', 'scheduled')")
        if left:
            time.sleep(20)
            left = self.server.query("select target, status from sys_invocation where status not in ('completed', 'scheduled')")
        wrong += [f"left over in the cluster: {row}" for row in left]
        return wrong

    def judge_run(self, name, events):
        wrong, started, ended, lost = [], collections.Counter(), collections.Counter(), collections.Counter()
        items = {}
        for number, stamped in enumerate(events, 1):
            if stamped["seq"] != number:
                wrong.append(f"{name}: event {number} has number {stamped['seq']}")
            kind, fields = next(iter(stamped["event"].items()))
            if kind == "attempt_started":
                started[fields["task"], fields["attempt"]] += 1
            if kind in ("attempt_finished", "attempt_failed", "attempt_lost"):
                ended[fields["task"], fields["attempt"]] += 1
            if kind == "attempt_lost":
                lost[fields["task"]] += 1
            if kind == "effect_claimed":
                items[fields["task"]] = fields["what"]
        wrong += [f"{name}: {attempt} started {count} times" for attempt, count in started.items() if count > 1]
        wrong += [f"{name}: {attempt} ended {count} times" for attempt, count in ended.items() if count > 1]
        begins = collections.Counter()
        for n in range(RUNS):
            for line in open(f"{self.folder}/witness.{n}"):
                words = line.split()
                if len(words) == 3 and words[0] == "begin":
                    begins[words[1]] += 1
        tasks = {task for task, _ in started if task.startswith("each[")}
        for task in tasks:
            what = items.get(task, "")
            item = next((word for word in what.replace(";", " ").split() if word.startswith("r") and "i" in word), None)
            count = begins[item]
            if count > 1 + lost[task]:
                wrong.append(f"{name}: {task} began {count} times, and was lost {lost[task]} times")
            if count < 1:
                wrong.append(f"{name}: {task} ({item}) never began")
        return wrong, sum(lost.values()), len(started)

    def end(self):
        for process in self.workers + self.runs:
            if process.poll() is None:
                process.kill()
                process.wait()
        self.server.stop()


sys.exit(main())
