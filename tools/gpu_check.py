#!/usr/bin/env python3
"""Checks correctness and speed on this machine's GPU (see gpu_check.sh).

Sections run one after the other, in the order of their value, each as processes of their own with a
time limit, until the budget is spent. A process that faults costs one case: it is started again
behind it. Results go to DIR as they come:

    results.jsonl   a line a case: {section, case, system, ok, seconds, rate, unit, note, ...}
    primitives.jsonl, again.jsonl    the same at tiny sizes, and once more behind the peer
    tests.jsonl     a line a shard of the tests
    gpu.json        the machine
    log.txt         what all processes printed
    table.txt       the table, which is printed last

Sections: all of them if none is named.
"""
import argparse
import concurrent.futures
import ctypes
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
START = time.monotonic()
TABLE_S = 8  # kept for the table

# name: (most seconds of a process of ours, most seconds of a peer's; None: there is no peer)
BENCHES = {
    "limits": (15, 25),
    "gemm": (40, 30),
    "attention": (40, 40),
    "scores": (40, 60),
    "rows": (40, 60),
    "decode": (40, 30),
    "models": (60, 100),
    "launch": (15, 30),
    "graphs": (15, 20),
    "prefill": (40, 40),
    "optim": (20, 40),
    "profile": (30, None),
    "tune": (60, None),
}
SECTIONS = ["primitives", "limits", "gemm", "attention", "rows", "decode", "tests", "corpus", "models", "launch", "graphs",
            "prefill", "scores", "optim", "profile", "sanitizer", "tune"]

# Tests that run programs on the default device. Tests that name their devices, time out in
# emulators or launch with host memory are left out.
TESTS = [  # (name, filter, shards)
    ("language", "HostCode*:*/HostCode*:Interpret*", 1),
    ("random tiles", "*TileGpu*", 8),
    ("random graphs", "PlannedGraphs.FusedCompute*:PlannedGraphs.UnfusedCompute*:PlannedGraphs.RecordedCompute*", 3),
    ("graphs", "@graph", 12),
    ("ops", "OpTable*:*Elementary*:*Special*:RandomStream*:Fill*", 6),
    ("models", "Attention*:Embedding*:Generate*:Layer*:Linear*:Llama.*:LoadLlama*:Mlp*:RmsNorm*:Rotate*:Sequential*:"
     "*TrainedLlama*", 6),
]
NOT_HERE = ["*EmulatedDevice*", "Plan.*", "Recording.*", "PlannedGraphs.*Emulated*", "PlannedGraphs.*Interpreted*", "Slow*", "Fake*", "Cuda*",
            "*Benches*", "BenchFile*",
            # Tests of the host: reuse of its memory, its C++, its packed weights, its forks, writes
            # through its addresses between launches.
            "ChangingSizes.AreNoSignatures*", "Explain.SaysWhereTheTime*", "Forks.*", "HandleChanges.FrozenWeights*",
            "TensorArgument.KeepsWhatIs*", "TensorArgument.IsNotWritten*", "KernelSpecialisation.*", "ManyShapes.*"]
PRIMITIVES = ["limits", "rows", "gemm", "attention", "scores", "decode", "launch", "graphs", "optim", "models"]


def left(args):
    return args.budget - (time.monotonic() - START) - TABLE_S


class Run:
    """Processes with a time limit, whose output goes to the log."""

    def __init__(self, args, programs, env):
        self.args, self.programs, self.env = args, programs, env
        self.log = open(os.path.join(args.out, "log.txt"), "a", buffering=1)
        self.lock = threading.Lock()

    def process(self, command, limit, env=None):
        """(exit status or None where it ran past its limit, output)."""
        limit = min(limit, left(self.args))
        if limit < 3:
            return None, "no time was left"
        begin = time.monotonic()
        p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                             env={**self.env, **(env or {})}, start_new_session=True)
        try:
            text, status = p.communicate(timeout=limit)[0], p.returncode
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            try:
                text = p.communicate(timeout=5)[0]
            except subprocess.TimeoutExpired:  # the driver does not let go of it
                text = b""
            status = None
        text = text.decode(errors="replace")
        with self.lock:
            self.log.write("== %s\n%s\n== %s after %.1f s\n" % (
                " ".join(command), text[-200000:], "over its time" if status is None else "exit %d" % status,
                time.monotonic() - begin))
        return status, text

    def write(self, file, row):
        with self.lock, open(os.path.join(self.args.out, file), "a") as f:
            f.write(json.dumps(row) + "\n")


# ---------------------------------------------------------------- machine


def driver_library():
    """The path by which libcuda can be opened, or None."""
    folders = ["/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64",
               "/usr/lib/wsl/lib", "/usr/local/cuda/compat"]
    for name in ["libcuda.so.1"] + [p for d in folders for p in glob.glob(d + "/libcuda.so.1")]:
        try:
            return name, ctypes.CDLL(name)
        except OSError:
            pass
    return None, None


def gpu_or_why():
    """(name of the driver's library, None) or (None, why there is no GPU). In a child: a broken driver may hang."""
    code = ("import sys; sys.path.insert(0, %r); import gpu_check, ctypes\n"
            "name, lib = gpu_check.driver_library()\n"
            "if lib is None: print('no libcuda.so.1 was found'); sys.exit(1)\n"
            "r = lib.cuInit(0); n = ctypes.c_int()\n"
            "if r == 0: r = lib.cuDeviceGetCount(ctypes.byref(n))\n"
            "if r or n.value == 0: print('the driver says %%d and knows %%d GPUs' %% (r, n.value)); sys.exit(1)\n"
            "print(name)\n" % HERE)
    try:
        p = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return None, "the driver did not answer within a minute"
    text = (p.stdout.strip() or p.stderr.strip() or "no answer").splitlines()[-1]
    return (text, None) if p.returncode == 0 else (None, text)


def machine():
    facts = {"date": time.strftime("%Y-%m-%d", time.gmtime()), "cpus": os.cpu_count(), "python": sys.version.split()[0]}
    fields = "name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,power.limit,clocks.sm,temperature.gpu"
    try:
        p = subprocess.run(["nvidia-smi", "--query-gpu=" + fields, "--format=csv,noheader,nounits"],
                           capture_output=True, text=True, timeout=20)
        facts.update(zip(fields.split(","), [x.strip() for x in p.stdout.splitlines()[0].split(",")]))
    except (OSError, subprocess.TimeoutExpired, IndexError) as e:
        facts["nvidia-smi"] = repr(e)
    return facts


# ---------------------------------------------------------------- benches


def bench_of_ours(run, section, limit, file, *more, env=None):
    """Runs a section until it ends or its time is up; after a fault it goes on behind the case."""
    end = time.monotonic() + min(limit, left(run.args))
    path = os.path.join(run.args.out, file)
    for _ in range(6):
        rest = end - time.monotonic()
        if rest < 3:
            return
        status, text = run.process([run.programs["tilewright"], "bench", section, "--device", run.args.device,
                                    "--append", path, "--budget", "%.0f" % max(rest - 4, 1),
                                    "--case-limit", "60" if section == "models" else "20", *more], rest, env)
        if status == 0 or status == 1 and "is not as it should be" in text:
            return  # all that was wanted has its line


def peer(run, section, limit):
    script = os.path.join(HERE, "peers", "torch_gpu.py")
    if limit and not run.args.no_peers and os.path.exists(script):
        run.process([sys.executable, script, section, "--append", os.path.join(run.args.out, "results.jsonl"),
                     "--budget", "%.0f" % (min(limit, left(run.args)) - 2)], limit)


def bench(run, section):
    ours, peers = BENCHES[section]
    bench_of_ours(run, section, ours, "results.jsonl", *run.args.bench_flags)
    peer(run, section, peers)
    # Ours again behind the peer, the first cases at least: says how far clocks have moved.
    if peers and not run.args.once and left(run.args) > 0.4 * run.args.budget:
        bench_of_ours(run, section, ours / 3, "again.jsonl", *run.args.bench_flags)


def primitives(run):
    """Every section at tiny sizes: small programs of each kind against the host, each a process."""
    for section in PRIMITIVES:
        bench_of_ours(run, section, 30, "primitives.jsonl", "--tiny", "--rounds", "3",
                      env={"TILEWRIGHT_SYNC": "1"})  # a fault names its kernel
        if left(run.args) < 0.75 * run.args.budget:
            return


# ---------------------------------------------------------------- tests


def suites_of(room):
    """The filter for all tests of a room: of the suites that its sources name."""
    suites = set()
    for path in glob.glob(os.path.join(HERE, "..", "tests", room, "*_test.cpp")):
        with open(path) as f:
            suites.update(re.findall(r"^TEST(?:_F|_P)?\((\w+)", f.read(), re.M))
    return ":".join("%s.*:*/%s.*" % (s, s) for s in sorted(suites))


def names_of(run, wanted):
    """The tests that a filter gives."""
    _, text = run.process([run.programs["tests"], "--gtest_list_tests",
                           "--gtest_filter=%s-%s" % (wanted, ":".join(NOT_HERE))], 30)
    names, suite = [], ""
    for line in text.splitlines():
        word = line.split("#")[0].rstrip()
        if re.fullmatch(r"\S+\.", word):
            suite = word
        elif re.fullmatch(r"  \S+", word) and suite:
            names.append(suite + word.strip())
    return names


LOST = re.compile(r"CUDA_ERROR_(?:ILLEGAL|LAUNCH_|MISALIGNED|HARDWARE|ASSERT|INVALID_PC|ECC)")


def shard(run, name, index, count, names, end):
    """Runs tests in one process. One that ends it or loses the context is noted, and the others go on without it."""
    end = min(end, time.monotonic() + left(run.args))
    passed, failed, died, finished = 0, [], [] if names else ["(no test was listed)"], False
    for _ in range(5):
        if not names or end - time.monotonic() < 3:
            break
        status, text = run.process(
            [run.programs["tests"], "--gtest_filter=" + ":".join(names)] + run.args.test_flags, end - time.monotonic(),
            {"TILEWRIGHT_THREADS": "2", "TILEWRIGHT_TEST_GRAPHS": "200"})
        lost = LOST.search(text)
        valid = text[:lost.start()] if lost else text
        ok = re.findall(r"^\[       OK \] (\S+)", valid, re.M)
        bad = re.findall(r"^\[  FAILED  \] (\S+?),? .*\(\d+ ms\)$", valid, re.M)
        ran = re.findall(r"^\[ RUN      \] (\S+)", valid, re.M)
        skipped = re.findall(r"^\[  SKIPPED \] (\S+) \(", valid, re.M)
        passed += len(ok)
        failed += bad
        finished = status in (0, 1) and not lost
        if finished:
            break
        gone = set(ok) | set(bad) | set(skipped)
        if ran and ran[-1] not in gone:
            died.append(ran[-1] + (" (over its time)" if status is None else ""))
            gone.add(ran[-1])
        elif status is not None:
            died.append("(exit %s) %s" % (status, text.strip().splitlines()[-1][:160] if text.strip() else ""))
            break
        names = [n for n in names if n not in gone]
    run.write("tests.jsonl", {"name": name, "shard": index, "shards": count, "passed": passed, "failed": failed[:50],
                              "died": died, "finished": finished or not names})


def tests(run, limit):
    """All shards within the limit, the first of every group before the second of any."""
    end = time.monotonic() + limit
    shards = []
    for name, wanted, count in TESTS:
        names = names_of(run, suites_of(wanted[1:]) if wanted.startswith("@") else wanted)
        shards += [(i, name, count, names[i::count]) for i in range(count if names else 1)]
    with concurrent.futures.ThreadPoolExecutor(max_workers=run.args.jobs) as pool:
        for i, name, count, names in sorted(shards, key=lambda s: s[0]):
            pool.submit(shard, run, name, i, count, names, end)


def excused():
    """Cases of the corpus that docs/unsupported_operators.txt lists."""
    with open(os.path.join(HERE, "..", "docs", "unsupported_operators.txt")) as f:
        return [line.split()[1] for line in f if line.startswith("case ")]


def corpus(run, limit):
    """Single operators that PyTorch has exported, each at once and compiled; a few folders of cases a process."""
    end = time.monotonic() + limit
    folders = sorted(os.path.basename(os.path.dirname(d)) for d in glob.glob(os.path.join(run.corpus, "ops", "*", "")))
    listed = excused()

    def part(index, names):
        status, text = run.process(
            [run.programs["tests"], "--gtest_filter=ExportedCorpus.*Operators*"] + run.args.test_flags,
            min(end - time.monotonic(), left(run.args)),
            {"TILEWRIGHT_THREADS": "2", "TILEWRIGHT_TEST_CORPUS": run.corpus,
             "TILEWRIGHT_TEST_CASE": ",".join("ops/%s/" % n for n in names)})
        agree = re.findall(r"^(\d+) of \d+ ops agree", text, re.M)
        wrong = [w for w in re.findall(r"^(ops/[^:\n]+)(?=: | needs )", text, re.M)
                 if not any(w == name or w.startswith(name + "/") for name in listed)]
        lost = [] if status in (0, 1) else ["%s (exit %s)" % (",".join(names), status)]
        run.write("tests.jsonl", {"name": "corpus", "shard": index, "shards": parts, "passed": sum(map(int, agree)),
                                  "failed": wrong[:50], "died": lost, "finished": status in (0, 1)})
    parts = min(60, max(1, len(folders)))
    with concurrent.futures.ThreadPoolExecutor(max_workers=run.args.jobs) as pool:
        for i in range(parts):
            pool.submit(part, i, folders[i::parts])


# ---------------------------------------------------------------- others


def sanitizer(run):
    tool = shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")
    if tool is None:
        return run.write("results.jsonl", {"section": "sanitizer", "case": "compute-sanitizer", "system": "tilewright",
                                           "skipped": True, "note": "is not on this machine"})
    for check in ("memcheck", "racecheck", "synccheck"):
        for section in ("gemm", "attention", "rows"):
            status, text = run.process([tool, "--tool", check, "--error-exitcode", "99", run.programs["tilewright"],
                                        "bench", section, "--device", run.args.device, "--tiny", "--rounds", "1"], 40)
            summary = re.findall(r"ERROR SUMMARY: (.*)|RACECHECK SUMMARY: (.*)", text)
            note = " ".join(summary[-1]).strip() if summary else "no summary"
            row = {"section": "sanitizer", "case": "%s of %s" % (check, section), "system": "tilewright",
                   "ok": status == 0, "note": note}
            if status != 0 and ("not supported" in text or not summary):
                row = {**row, "skipped": True, "note": "over its time" if status is None else note}
            run.write("results.jsonl", row)


def one(run, section):
    most = max(20, (1 if len(run.args.sections) == 1 else 0.4) * run.args.budget)  # of the tests'
    if section == "primitives":
        primitives(run)
    elif section == "tests":
        tests(run, most)
    elif section == "corpus":
        corpus(run, most)
    elif section == "sanitizer":
        sanitizer(run)
    else:
        bench(run, section)


def unpack(pack, folder):
    try:
        with tarfile.open(pack) as t:
            t.extractall(folder, filter="data") if hasattr(tarfile, "data_filter") else t.extractall(folder)
    except (ImportError, tarfile.ReadError):  # a python without lzma
        subprocess.run(["tar", "-C", folder, "-xJf", pack], check=True, timeout=60)
    found = os.path.join(folder, "tilewright_gpu")
    return {"tilewright": os.path.join(found, "tilewright"), "tests": os.path.join(found, "device_tests")}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("sections", nargs="*", metavar="SECTION", help=" ".join(SECTIONS))
    p.add_argument("--out", default=os.environ.get("OUT", "gpu_check_out"))
    p.add_argument("--budget", type=float, default=480, help="seconds in all (default 480)")
    p.add_argument("--pack", default=os.path.join(HERE, "..", "build", "gpu_check", "tilewright_gpu.tar.xz"))
    p.add_argument("--device", default="cuda:0")
    p.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 2), help="test processes at once")
    p.add_argument("--no-peers", action="store_true")
    p.add_argument("--once", action="store_true", help="do not run ours once more behind the peer")
    p.add_argument("--without-gpu", action="store_true", help="shows that this works: the host, and the fake driver")
    args = p.parse_args()
    unknown = [s for s in args.sections if s not in SECTIONS]
    if unknown:
        p.error("unknown section %s; there are %s" % (unknown[0], " ".join(SECTIONS)))
    library = None
    args.test_flags, args.bench_flags = [], []
    if args.without_gpu:
        args.device, args.test_flags, args.no_peers = "cpu", ["--fake-gpu"], True
        args.bench_flags = ["--tiny", "--rounds", "2"]
    else:
        library, why = gpu_or_why()
        if library is None:
            print("gpu_check: there is no GPU to check: " + why)
            return 77
    if not os.path.exists(args.pack):
        print("gpu_check: there is no %s; tools/pack_gpu_check.sh makes it where the project is built"
              % os.path.normpath(args.pack))
        return 77
    os.makedirs(args.out, exist_ok=True)
    work = tempfile.mkdtemp(prefix="tilewright_gpu_")
    try:
        programs = unpack(args.pack, work)
        env = {**os.environ, "TILEWRIGHT_DEVICE": "cuda:0", "PYTHONUNBUFFERED": "1",
               "TILEWRIGHT_CACHE_DIR": os.path.join(work, "cache"), "TILEWRIGHT_TEST_MODELS": os.path.join(work, "tilewright_gpu", "models")}
        if library and os.path.isabs(library):
            env["TILEWRIGHT_CUDA_DRIVER"] = library
        run = Run(args, programs, env)
        run.corpus = os.path.join(work, "tilewright_gpu", "corpus")
        with open(os.path.join(os.path.dirname(programs["tests"]), "ABOUT")) as f:
            about = f.read().split("\n")
        with open(os.path.join(args.out, "gpu.json"), "w") as f:
            json.dump({**machine(), "about": about, "command": "tools/gpu_check.sh " + " ".join(sys.argv[1:])}, f)
        for section in args.sections or SECTIONS:
            if left(args) < 5:
                print("%s: no time was left" % section, flush=True)
                continue
            one(run, section)
            print("%s done after %.0f s" % (section, time.monotonic() - START), flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    table = subprocess.run([sys.executable, os.path.join(HERE, "results_table.py"), args.out], capture_output=True,
                           text=True, timeout=30)
    text = table.stdout + table.stderr + "%.0f s in all\n" % (time.monotonic() - START)
    with open(os.path.join(args.out, "table.txt"), "w") as f:
        f.write(text)
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
