#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_slurm_states.py NVWAVE: what the front end of a job array does when jobs wait, end and are cancelled. Its sbatch, squeue, scancel and sacct are a script that plays
a list of states, a step per question, so that nothing depends on time. test_slurm.py has a real Slurm."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import common
from common import ok, plan, read, rows

nvwave = os.path.abspath(sys.argv[1])
folder = tempfile.TemporaryDirectory(prefix="nvwave-slurm-")
points = ["workload=kv", "batch=8", "slots=64", "group-size=8", "count=16"]

# In the folder of the scenario: play.json {"jobs": [steps of a job, ...], "sacct": text}; a step is what squeue prints, or {"say", "run": tasks, "status"}.
# The last one stays. calls: a line per command.
stand_in = r"""#!%s
import json, os, subprocess, sys
command, words = os.path.basename(sys.argv[0]), sys.argv[1:]
with open("calls", "a") as f:
    print(command, *words, file=f)
play = json.load(open("play.json"))
status = 0
state = json.load(open("state.json")) if os.path.exists("state.json") else {"jobs": [], "steps": {}, "tasks": [], "cancelled": []}
if command == "sbatch":
    state["jobs"].append(words[-1])
    state["tasks"].append(int([w for w in words if w.startswith("--array=")][0].split("-")[-1]))
    print(len(state["jobs"]))
elif command == "squeue":
    job = words[words.index("-j") + 1]
    steps = play["jobs"][int(job) - 1]
    step = steps[min(state["steps"].get(job, 0), len(steps) - 1)]
    step = {"say": step} if isinstance(step, str) else step
    if job in state["cancelled"]:
        step = {"say": ", ".join("%%d|CANCELLED|None" %% (i + 1) for i in range(state["tasks"][int(job) - 1]))}
    state["steps"][job] = state["steps"].get(job, 0) + 1
    for task in step.get("run", []):
        with open(os.path.dirname(state["jobs"][int(job) - 1]) + "/task-%%d.log" %% task, "a") as log:
            subprocess.run([state["jobs"][int(job) - 1]], env=dict(os.environ, SLURM_ARRAY_TASK_ID=str(task)), stdout=log, stderr=log)
    print("\n".join(step["say"].split(", ")))
    status = step.get("status", 0)
elif command == "scancel":
    state["cancelled"].append(words[0])
elif command == "sacct":
    print(play.get("sacct", "Slurm accounting storage is disabled"))
    status = "sacct" not in play
with open("state.new", "w") as f:
    json.dump(state, f)
os.rename("state.new", "state.json")
sys.exit(status)
""" % sys.executable


def tasks(n, state):
    return ", ".join("%d|%s" % (i + 1, state) for i in range(n))


waits, runs, done = (lambda n, s=s: tasks(n, s) for s in ("PENDING|Resources", "RUNNING|None", "COMPLETED|None"))


def ends(n):
    """All tasks run to their ends."""
    return {"run": list(range(1, n + 1)), "say": done(n)}


class Scenario:
    def __init__(self, name):
        self.d, self.jobs = os.path.join(folder.name, name), []
        os.mkdir(self.d)
        os.mkdir(self.d + "/bin")
        with open(self.d + "/bin/sbatch", "w") as f:
            f.write(stand_in)
        os.chmod(self.d + "/bin/sbatch", 0o755)
        for command in ("squeue", "scancel", "sacct"):
            os.symlink("sbatch", self.d + "/bin/" + command)
        self.env = dict(os.environ, PATH=self.d + "/bin:" + os.environ["PATH"])

    def play(self, *jobs, **more):
        """Further jobs; the calls are those from now on."""
        self.jobs += jobs
        with open(self.path("play.json"), "w") as f:
            json.dump(dict(more, jobs=self.jobs), f)
        if os.path.exists(self.path("calls")):
            os.unlink(self.path("calls"))

    def path(self, name):
        return os.path.join(self.d, name)

    def start(self, *words):
        return subprocess.Popen([nvwave] + list(words), cwd=self.d, env=self.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *words):
        process = self.start(*words)
        try:
            out, err = process.communicate(timeout=100)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return process.returncode, out, err

    def sweep(self, *words):
        return self.run("sweep", *points, "--engine=slurm", "--output=x", *words)

    def calls(self, command):
        return [line for line in read(self.path("calls")).splitlines() if line.split()[0] == command] if os.path.exists(self.path("calls")) else []

    def rows(self):
        return [(row["status"], row["reason"]) for row in rows(self.path("x.csv"))]

    def as_local(self, *words):
        self.run("sweep", *points, "--output=local", *words)
        return all(read(self.path("x" + end)) == read(self.path("local" + end)) for end in (".csv", ".summary.csv"))

    def wait_for(self, command):
        end = time.time() + 120
        while not self.calls(command) and time.time() < end:
            time.sleep(0.05)


def said(err):
    return [line for line in err.splitlines() if line.startswith("nvwave: job")]


# ---- What it says ----------------------------------------------------------------------------------------------------

def states_are_said(s):
    s.play([tasks(3, "PENDING|None"), waits(3), waits(3), "1|RUNNING|None, 2|PENDING|Resources, 3|PENDING|Resources",
            {"status": 1, "say": "slurm_load_jobs error: Unable to contact slurm controller"}, ends(3)])
    status, out, err = s.sweep("seed=1..3")
    return (status == 0 and s.as_local("seed=1..3") and not s.calls("scancel")
            and said(err) == ["nvwave: job 1: submitted: 3 tasks", "nvwave: job 1: PENDING: Resources", "nvwave: job 1: 1 RUNNING, 2 PENDING: Resources"]), status, out, err


def a_job_that_cannot_start_is_said_and_ends_with_the_queue_limit(s):
    s.play([tasks(2, "PENDING|PartitionTimeLimit")])
    status, out, err = s.sweep("seed=1,2", "--queue-limit=1500ms")
    good = (status == 2 and not out and s.calls("scancel") == ["scancel 1"] and "x.csv" not in os.listdir(s.d)
            and "job 1 cannot start: PENDING: PartitionTimeLimit: it asks for more time than its partition allows" in err
            and "UNDECIDED: nothing of job 1 ran within --queue-limit: PENDING: PartitionTimeLimit" in err)
    s.play([runs(2), runs(2), runs(2), runs(2), ends(2)])
    again = s.sweep("seed=1,2", "--queue-limit=1500ms")
    return good and again[0] == 0 and s.as_local("seed=1,2"), status, out, err, again


# ---- How tasks end ---------------------------------------------------------------------------------------------------

def what_a_person_cancels_is_not_submitted_again(s):
    s.play([runs(3), {"run": [1, 3], "say": "1|COMPLETED|None, 2|CANCELLED|None, 3|COMPLETED|None"}])
    status, out, err = s.sweep("seed=1..3")
    first = s.rows()
    good = (status == 1 and len(s.calls("sbatch")) == 1 and [r[0] for r in first] == ["ok", "error", "ok"]
            and first[1][1] == "job 1, task 2: CANCELLED: cancelled, and not by nvwave; the same command submits what is missing")
    s.play([ends(1)])
    again = s.sweep("seed=1..3")
    return good and again[0] == 0 and "--array=1-1 " in s.calls("sbatch")[0] and s.as_local("seed=1..3"), status, out, err, first, again


def a_task_that_was_cancelled_before_it_started_is_not_listed(s):
    s.play(["1|RUNNING|None, 2|PENDING|Resources, 3|RUNNING|None", {"run": [1, 3], "say": "1|COMPLETED|None, 3|COMPLETED|None"}])
    status, out, err = s.sweep("seed=1..3")
    return status == 1 and len(s.calls("sbatch")) == 1 and [r[0] for r in s.rows()] == ["ok", "error", "ok"], status, out, err, s.rows()


def a_job_that_squeue_has_forgotten_is_asked_of_sacct(s):
    s.play([waits(4), {"status": 1, "say": "slurm_load_jobs error: Invalid job id specified"}], sacct="1_2|CANCELLED by 1000|None\n1_[1,3-4%2]|CANCELLED by 1000|None")
    status, out, err = s.sweep("seed=1..4")
    return status == 1 and len(s.calls("sbatch")) == 1 and all(r[0] == "error" and "CANCELLED" in r[1] for r in s.rows()), status, out, err, s.rows()


def a_point_that_had_all_of_the_time_is_not_tried_again(s):
    """Of two tasks of two points each, the first is over its time at its first point: the other point is tried again."""
    s.play([runs(2), {"run": [2], "say": "1|RUNNING|None, 2|COMPLETED|None"}, "1|TIMEOUT|None, 2|COMPLETED|None"], [ends(1)])
    with open(s.path("log"), "w"):
        os.makedirs(s.path("x.slurm"))
        os.rename(s.path("log"), s.path("x.slurm/task-1.log"))
    status, out, err = s.sweep("seed=1..4", "--array=2")
    got = s.rows()
    return (status == 1 and len(s.calls("sbatch")) == 2 and [r[0] for r in got] == ["timeout", "ok", "ok", "ok"]
            and got[0][1] == "job 1, task 1: TIMEOUT: over its time limit (--time of sbatch); see %s/task-1.log" % s.path("x.slurm")
            and os.path.exists(s.path("x.slurm"))), status, out, err, got


def a_task_that_fails_is_tried_in_three_jobs(s):
    s.play(*[[runs(1), "1|FAILED|NonZeroExitCode"]] * 3)
    status, out, err = s.sweep("seed=1")
    return (status == 1 and len(s.calls("sbatch")) == 3
            and s.rows() == [("error", "no result in 3 jobs, the last of them job 3, task 1: FAILED: it failed")]), status, out, err, s.rows()


def torture_says_which_part_a_person_has_cancelled(s):
    s.play([runs(2), {"run": [1], "say": "1|COMPLETED|None, 2|CANCELLED|None"}])
    status, out, err = s.run("torture", "--protocol=vi", "--programs=4", "--engine=slurm", "--array=2")
    return status == 2 and "part 2 of 2: job 1, task 2: CANCELLED: " in err and len(s.calls("sbatch")) == 1, status, out, err


# ---- What is not needed any more -------------------------------------------------------------------------------------

def ctrl_c_cancels_the_job(s):
    s.play([waits(2)])
    front = s.start("sweep", *points, "--engine=slurm", "--output=x", "seed=1,2")
    s.wait_for("squeue")
    front.send_signal(signal.SIGINT)
    out, err = front.communicate(timeout=60)
    return front.returncode == 2 and s.calls("scancel") == ["scancel 1"] and "job 1: cancelled: Ctrl-C" in err and "stopped by SIGINT" in err, out, err


def a_lost_connection_does_not_cancel_it(s):
    s.play([waits(2)])
    front = s.start("sweep", *points, "--engine=slurm", "--output=x", "seed=1,2")
    s.wait_for("squeue")
    front.send_signal(signal.SIGTERM)
    out, err = front.communicate(timeout=60)
    good = front.returncode == 2 and not s.calls("scancel") and "job 1 goes on (scancel 1 ends it)" in err
    s.jobs = []
    s.play([ends(2)])
    again = s.sweep("seed=1,2")
    return good and again[0] == 0 and not s.calls("sbatch") and s.as_local("seed=1,2"), out, err, again


def a_job_whose_points_are_all_known_is_cancelled(s):
    """As where another machine has written them."""
    s.play([waits(2), {"run": [1, 2], "say": waits(2)}])
    status, out, err = s.sweep("seed=1,2")
    return status == 0 and s.calls("scancel") == ["scancel 1"] and "job 1: cancelled: nothing of it is needed any more" in err, status, out, err


def an_earlier_job_of_other_points_is_cancelled(s):
    s.play([waits(2)], [ends(2)])
    front = s.start("sweep", *points, "--engine=slurm", "--output=x", "seed=1,2")
    s.wait_for("squeue")
    front.kill()
    front.communicate()
    status, out, err = s.sweep("seed=3,4")
    return status == 0 and s.calls("scancel") == ["scancel 1"] and len(s.calls("sbatch")) == 2, status, out, err


def fresh_takes_nothing_of_an_earlier_job(s):
    s.play([{"run": [1], "say": waits(2)}], [ends(2)])
    front = s.start("sweep", *points, "--engine=slurm", "--output=x", "seed=1,2")
    s.wait_for("squeue")
    front.kill()
    front.communicate()
    status, out, err = s.sweep("seed=1,2", "--fresh")
    return status == 0 and s.calls("scancel") == ["scancel 1"] and "--array=1-2 " in s.calls("sbatch")[1], status, out, err, s.calls("sbatch")


def main():
    scenarios = [states_are_said, a_job_that_cannot_start_is_said_and_ends_with_the_queue_limit, what_a_person_cancels_is_not_submitted_again,
                 a_task_that_was_cancelled_before_it_started_is_not_listed, a_job_that_squeue_has_forgotten_is_asked_of_sacct,
                 a_point_that_had_all_of_the_time_is_not_tried_again, a_task_that_fails_is_tried_in_three_jobs, torture_says_which_part_a_person_has_cancelled,
                 ctrl_c_cancels_the_job, a_lost_connection_does_not_cancel_it, a_job_whose_points_are_all_known_is_cancelled,
                 an_earlier_job_of_other_points_is_cancelled, fresh_takes_nothing_of_an_earlier_job]
    results = {}

    def one(scenario):
        try:
            results[scenario] = scenario(Scenario(scenario.__name__))
        except Exception:
            results[scenario] = (False, traceback.format_exc())
    threads = [threading.Thread(target=one, args=(scenario,)) for scenario in scenarios]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for scenario in scenarios:
        good, *more = results[scenario]
        ok(good, scenario.__name__, *more)
    plan()


main()
