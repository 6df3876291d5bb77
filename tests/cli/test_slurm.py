#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_slurm.py NVWAVE: sweeps, a crash test and torture as job arrays of a real Slurm, on this machine: munged, slurmctld and three slurmd, which this test starts
and ends. As root, and if CLUSTER is set, as ./test.sh --all does: it takes three minutes. Without the daemons it is skipped."""
import csv
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import common
from common import ok, read, run

common.nvwave = nvwave = os.path.abspath(sys.argv[1])
kv = ["workload=kv", "batch=8", "slots=64", "group-size=8"]
nodes = ("n1", "n2", "n3")
configuration = """ClusterName=test
SlurmctldHost=localhost
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={d}/munge/s,cred_expire=5
SlurmctldPort={port[0]}
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=INFINITE
PartitionName=short Nodes=ALL State=UP MaxTime=1
SlurmdSpoolDir={d}/spool.%n
SlurmdPidFile={d}/slurmd.%n.pid
SlurmdLogFile={d}/slurmd.%n.log
SlurmctldPidFile={d}/slurmctld.pid
SlurmctldLogFile={d}/slurmctld.log
StateSaveLocation={d}/state
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=10
KillWait=2
BatchStartTimeout=10
MaxArraySize=1001
SchedulerParameters=sched_interval=1
MpiDefault=none
"""


def wait_for(what, condition, seconds=60):
    end = time.time() + seconds
    while time.time() < end:
        got = condition()
        if got:
            return got
        time.sleep(0.1)
    raise TimeoutError(what)


def alive(pid):
    try:
        return read("/proc/%d/stat" % pid).split(")")[1].split()[0] != "Z"
    except OSError:
        return False


def children(pid):
    try:
        return read("/proc/%s/task/%s/children" % (pid, pid)).split()
    except OSError:
        return []


def tell(pid, what):
    """A process may end by itself before it is told to."""
    try:
        os.kill(pid, what)
    except ProcessLookupError:
        pass


def tool(*words):
    return subprocess.run(words, capture_output=True, text=True).stdout


class Cluster:
    """Three nodes of one CPU in a folder of their own, with a key and ports of their own."""

    def __init__(self, folder):
        self.d, self.pids = folder, []
        os.chmod(folder, 0o755)
        sockets = [socket.socket() for _ in range(4)]
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        ports = [s.getsockname()[1] for s in sockets]
        for s in sockets:
            s.close()
        lines = "\n".join("NodeName=%s NodeHostname=localhost NodeAddr=127.0.0.1 Port=%d CPUs=1 State=UNKNOWN" % p
                          for p in zip(nodes, ports[1:]))
        os.mkdir(folder + "/state")
        os.mkdir(folder + "/munge")
        with open(folder + "/slurm.conf", "w") as f:
            f.write(configuration.format(d=folder, port=ports, nodes=lines))
        os.environ["SLURM_CONF"] = folder + "/slurm.conf"
        self.munge()
        self.start("slurmctld", "slurmctld.pid", "-f", folder + "/slurm.conf")
        for node in nodes:
            self.start("slurmd", "slurmd.%s.pid" % node, "-N", node, "-f", folder + "/slurm.conf")
        wait_for("three idle nodes", lambda: tool("sinfo", "-h", "-p", "all", "-N", "-o", "%T").split() == ["idle"] * 3)

    def start(self, program, pid_file, *words):
        path = shutil.which(program) or "/usr/sbin/" + program
        subprocess.run([path] + list(words), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(pid_file, lambda: os.path.exists(self.d + "/" + pid_file) and read(self.d + "/" + pid_file).strip())
        self.pids.append(int(read(self.d + "/" + pid_file)))

    def munge(self):
        d, user = self.d + "/munge", pwd.getpwnam("munge")
        with open(d + "/key", "wb") as f:
            f.write(os.urandom(1024))
        os.chmod(d + "/key", 0o600)
        for name in (d, d + "/key"):
            os.chown(name, user.pw_uid, user.pw_gid)
        os.chmod(d, 0o700)
        subprocess.run(["runuser", "-u", "munge", "--", shutil.which("munged") or "/usr/sbin/munged", "--force",
                        "--key-file=" + d + "/key", "--socket=" + d + "/s", "--pid-file=" + d + "/pid",
                        "--log-file=" + d + "/log", "--seed-file=" + d + "/seed"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.pids.append(int(wait_for("munged", lambda: os.path.exists(d + "/pid") and read(d + "/pid").strip())))
        os.chmod(d, 0o755)

    def lose(self, node):
        """The node's tasks end with it, as in a power cut; the controller is told."""
        jobs = tool("squeue", "-h", "-r", "-w", node, "-t", "R", "-o", "%A").split()
        daemon = int(read(self.d + "/slurmd.%s.pid" % node))
        tell(daemon, signal.SIGKILL)
        self.pids.remove(daemon)
        for line in tool("ps", "-eo", "pid,args").splitlines():
            pid, args = line.split(None, 1)
            if any("slurmstepd: [%s." % job in args for job in jobs):
                for victim in [pid] + children(pid):
                    tell(int(victim), signal.SIGKILL)
        tool("scontrol", "update", "nodename=" + node, "state=down", "reason=test")
        return jobs

    def bring_back(self, node):
        os.unlink(self.d + "/slurmd.%s.pid" % node)
        self.start("slurmd", "slurmd.%s.pid" % node, "-N", node, "-f", self.d + "/slurm.conf")
        tool("scontrol", "update", "nodename=" + node, "state=resume")
        wait_for("an idle node", lambda: tool("sinfo", "-h", "-p", "all", "-N", "-n", node, "-o", "%T").split() == ["idle"])

    def end(self):
        for pid in reversed(self.pids):
            tell(pid, signal.SIGTERM)
        for pid in reversed(self.pids):
            try:
                wait_for("an end", lambda: not alive(pid), 20)
            except TimeoutError:
                tell(pid, signal.SIGKILL)


def rest(name):
    return sorted(n for n in os.listdir(".") if n.startswith(name))


def outcomes(folder):
    return len([n for n in os.listdir(folder) if re.fullmatch(r"([0-9a-f]{32}|part-\d+)\.json", n)]) if os.path.isdir(folder) else 0


def equal(one, other):
    return all(read(one + end) == read(other + end) for end in (".csv", ".summary.csv"))


def lost_node(cluster):
    """A node is lost in the middle, and the front end killed; the tables are those of a local sweep."""
    words = kv + ["count=64", "preload=3000", "scope=workitem,kernel", "seed=1..12"]
    local = run("sweep", *words, "--output=local")
    front = subprocess.Popen([nvwave, "sweep"] + words + ["--engine=slurm", "--array=8", "--output=cluster"],
                             stdout=subprocess.DEVNULL)
    wait_for("outcomes", lambda: outcomes("cluster.slurm") >= 2)
    front.kill()
    front.wait()
    cut = read("cluster.journal").count("\n") - 1
    lost = []
    for node in nodes:
        if not lost:
            lost = cluster.lose(node) and [node]
    before = tool("squeue", "-h", "-r", "-o", "%i")
    status, out, err = run("sweep", *words, "--engine=slurm", "--array=8", "--output=cluster")
    ok(local[0] == status == 0 and equal("local", "cluster") and 0 <= cut < 24,
       "a_sweep_on_a_cluster_that_loses_a_node_and_its_front_end_has_the_tables_of_a_local_one", cut, lost, before, local, out,
       err)
    ok(lost and "cluster.slurm" not in os.listdir("."), "what_was_submitted_is_taken_along_and_the_folder_goes",
       rest("cluster"))
    for node in lost:
        cluster.bring_back(node)


def essence(report):
    """Without times of this computer and the command line."""
    return re.sub(r'"(host_seconds|explore_seconds|cpu_seconds|repeat|command)": ("[^"\\]*(\\.[^"\\]*)*"|[\d.e-]+)', "", report)


def one_crash_test(cluster):
    """A crash test by six tasks that loses a node and its front end in the middle has the local report, with causes and cures."""
    words = ["crash", "btree", "--count=300", "--preload=300", "--mutate=update-before-log", "--model=epoch", "--states=60000", "--output-format=json"]
    local = run(*words, "--jobs=6")
    cluster_words = words + ["--engine=slurm", "--array=6"]
    front = subprocess.Popen([nvwave] + cluster_words, stdout=subprocess.DEVNULL)
    folder = wait_for("a folder", lambda: rest("crash-"))[0]
    wait_for("outcomes", lambda: outcomes(folder) >= 1)
    front.kill()
    front.wait()
    lost = []
    for node in nodes:
        if not lost:
            lost = cluster.lose(node) and [node]
    cut = outcomes(folder)
    status, out, err = run(*cluster_words)
    report = json.loads(out or "{}")
    ok(local[0] == status == 1 and essence(local[1]) == essence(out) and any(f["cure"]["verified"] for f in report["findings"]),
       "a_crash_test_on_a_cluster_that_loses_a_node_and_its_front_end_has_the_local_report", status, err, local, out)
    ok(lost and cut < 6 and not rest("crash-"), "the_crash_test_was_cut_and_its_folder_goes", lost, cut, rest("crash-"))
    for node in lost:
        cluster.bring_back(node)


def torture():
    """All protocols; a fault that a program in the middle finds, with its shrunk program; all faults of a protocol."""
    wrong = []
    for words in (["--programs=12", "--array=30"], ["--protocol=rsp", "--programs=9", "--fault=LD x at L2", "--array=9"],
                  ["--protocol=gh", "--faults", "--programs=8", "--array=3"]):
        words = ["torture", "--output-format=json"] + words
        local = run(*[w for w in words if "--array" not in w])
        got = run(*words, "--engine=slurm")
        if essence(local[1]) != essence(got[1]) or local[0] != got[0] or local[0] == 2 or rest("torture-"):
            wrong.append((words, local, got, rest("torture-")))
    ok(not wrong, "torture_on_a_cluster_has_the_local_report", *wrong)


def twice():
    """Two copies of each task, one task whose points are there already, and a list of another sweep."""
    words = kv + ["count=16", "seed=1..4"]
    run("sweep", *words, "--output=once")
    front = subprocess.Popen([nvwave, "sweep"] + words + ["--engine=slurm", "--array=2", "--sbatch=--begin=now+1hour",
                                                          "--output=twice"], stdout=subprocess.DEVNULL)
    wait_for("a job", lambda: os.path.exists("twice.slurm/job"))
    command = [nvwave, "sweep", "--task=twice.slurm/" + read("twice.slurm/job").split()[1]]
    copies = [subprocess.Popen(command, env=dict(os.environ, SLURM_ARRAY_TASK_ID=str(i))) for i in (1, 2, 1, 2)]
    ended = [c.wait() for c in copies]
    status = front.wait(timeout=60)
    wait_for("an end", lambda: not tool("squeue", "-h"))
    # A copy that ends after the front end has all results finds no folder. The job that waits is not needed any more.
    ok(set(ended) <= {0, 2} and status == 0 and equal("once", "twice"), "a_task_that_runs_twice_counts_once_and_its_job_is_cancelled", ended, status)


class Front:
    """A sweep that goes on while the test does something."""

    def __init__(self, output, *words):
        self.output = output
        self.process = subprocess.Popen([nvwave, "sweep"] + kv + ["--engine=slurm", "--output=" + output] + list(words), text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def job(self):
        """The number of its job, when there is one."""
        return wait_for("a job", lambda: os.path.exists(self.output + ".slurm/job") and read(self.output + ".slurm/job")).split()[0]

    def end(self):
        out, err = self.process.communicate(timeout=200)
        return self.process.returncode, out, err, [(r["status"], r["reason"]) for r in csv.DictReader(open(self.output + ".csv"))] \
            if os.path.exists(self.output + ".csv") else []


def state_of(job):
    return set(tool("squeue", "-h", "-r", "-t", "all", "-j", job, "-o", "%T").split())


long = ["count=300000"]  # a point that outlives the test


def cancelled():
    """A job that a person cancels, all of it and a task that has not started."""
    front = Front("lost", "count=16", "seed=1,2", "--sbatch=--begin=now+1hour")
    job = front.job()
    tool("scancel", job)
    status, out, err, got = front.end()
    ok(status == 1 and not tool("squeue", "-h") and [r[0] for r in got] == ["error"] * 2 and all("job %s, task " % job in r[1] and "CANCELLED" in r[1] for r in got),
       "a_job_that_a_person_cancels_is_not_submitted_again", job, status, out, err, got)
    front = Front("lost-task", "count=16", "seed=1,2", "--sbatch=--hold")
    job = front.job()
    tool("scancel", job + "_2")
    tool("scontrol", "release", job)
    status, out, err, got = front.end()
    ok(status == 1 and [r[0] for r in got] == ["ok", "error"] and "task 2: CANCELLED" in got[1][1] and err.count("submitted") == 1,
       "a_task_that_a_person_cancels_is_not_submitted_again", job, status, out, err, got)


def waiting():
    """Reasons why a job waits; the end of the user's patience; Ctrl-C."""
    wrong = []
    for sbatch, reason in (("--hold", "JobHeldUser: it is held; scontrol release lets it go"),
                           ("-p short --time=10", "PartitionTimeLimit: it asks for more time than its partition allows")):
        front = Front("wait", "count=16", "seed=1,2", "--sbatch=" + sbatch, "--queue-limit=3s")
        status, out, err, got = front.end()
        if ("cannot start: PENDING: " + reason not in err or status != 2 or "UNDECIDED: nothing of job " not in err or got):
            wrong.append((sbatch, status, out, err, got))
    ok(not wrong and not tool("squeue", "-h"), "why_a_job_cannot_start_is_said_and_the_queue_limit_ends_it", *wrong, tool("squeue"))
    front = Front("stop", *long, "seed=1..5")
    job = front.job()
    wait_for("tasks that run and wait", lambda: {"RUNNING", "PENDING"} <= state_of(job))
    front.process.send_signal(signal.SIGINT)
    status, out, err, got = front.end()
    wait_for("an end", lambda: not tool("squeue", "-h"))
    ok(status == 2 and "job %s: cancelled: Ctrl-C" % job in err and state_of(job) == {"CANCELLED"}, "ctrl_c_cancels_the_job", job, status, out, err, state_of(job))


def over_time():
    """A task that has all of its job's time. Slurm counts in minutes."""
    return Front("slow", *long, "seed=1", "--sbatch=--time=1")


def after_a_minute(front):
    status, out, err, got = front.end()
    log = os.path.abspath("slow.slurm/task-1.log")
    ok(status == 1 and err.count("submitted") == 1 and len(got) == 1 and got[0][0] == "timeout" and "TIMEOUT: over its time limit" in got[0][1]
       and got[0][1].endswith("see " + log) and "TIME LIMIT" in read(log), "a_task_over_its_time_limit_is_a_row_that_says_so", status, out, err, got)


def refusals():
    words = kv + ["count=16", "seed=1,2", "--engine=slurm", "--output=none"]
    status, out, err = run("sweep", *words, "--sbatch=--chdir=/ --wrap=x")
    ok(status == 2 and "--engine=slurm: " in err and err.count("\n") == 1, "what_sbatch_refuses_is_said", status, out, err)
    status, out, err = run("sweep", *kv, "count=16", "seed=1,2", "--engine=slurm", "--output=late", "--timeout=1ms")
    reasons = [r["status"] for r in csv.DictReader(open("late.csv"))] if os.path.exists("late.csv") else []
    ok(status == 1 and reasons == ["timeout"] * 2, "a_point_that_takes_too_long_is_a_row_there_too", status, out, err, reasons)


def shards():
    """A crash test in shards: the combined report is the local one's, but for times of this computer."""
    words = ["--command=crash", "workload=kv", "count=12", "batch=4", "slots=32", "states=4000", "mutate=publish-before-value",
             "shard=1/3,2/3,3/3"]
    merged = []
    for engine in ("local", "slurm"):
        run("sweep", *words, "--engine=" + engine, "--reports=reports-" + engine, "--output=shards-" + engine)
        paths = ["reports-%s/%06d.json" % (engine, i) for i in (1, 2, 3)]
        status, out, err = run("crash", "--merge", *paths, "--output-format=json")
        merged.append(re.sub(r'"(host_seconds|explore_seconds)": [\d.e-]+', "", out))
    one = json.loads(run("crash", "kv", "--count=12", "--batch=4", "--slots=32", "--states=4000",
                         "--mutate=publish-before-value", "--output-format=json")[1])
    ok(status == 1 and merged[0] == merged[1] and read("shards-local.csv") == read("shards-slurm.csv")
       and json.loads(out)["states_tested"] > 0 and one["states_distinct"] > 0,
       "the_shards_of_a_crash_test_give_the_report_that_they_give_here", status, err, *merged)


def main():
    missing = [p for p in ("munged", "slurmctld", "slurmd", "sbatch") if not shutil.which(p, path=os.environ["PATH"] + ":/usr/sbin")]
    users = [u.pw_name for u in pwd.getpwall()]
    if "CLUSTER" not in os.environ or missing or os.geteuid() != 0 or "munge" not in users:
        why = ("CLUSTER is not set" if "CLUSTER" not in os.environ else "not root" if os.geteuid() else
               "there is no " + (missing or ["user munge"])[0])
        print("1..0 # SKIP %s\n# skipped: cluster: %s" % (why, why))
        return
    folder = tempfile.mkdtemp(prefix="nvs-", dir="/tmp")
    os.chmod(folder, 0o755)
    os.chdir(folder)
    cluster = None
    try:
        cluster = Cluster(tempfile.mkdtemp(prefix="c", dir=folder))
        lost_node(cluster)
        one_crash_test(cluster)
        slow = over_time()
        torture()
        shards()
        after_a_minute(slow)
        twice()
        waiting()
        cancelled()
        refusals()
    finally:
        if cluster:
            cluster.end()
        if "KEEP" not in os.environ:
            shutil.rmtree(folder, ignore_errors=True)
    common.plan()


main()
