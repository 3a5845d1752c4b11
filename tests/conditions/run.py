#!/usr/bin/env python3
"""Changes one condition at a time and lists what no test noticed (README.md)."""

import argparse
import collections
import concurrent.futures
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

from find_conditions import Changed, Source, description
from former import followed, found_again
from test_programs import Programs

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ROOMS = ["runtime", "golden", "layout", "dsl", "emulator", "graph", "cuda", "autotune", "models", "property"]
SAMPLED = re.compile(r"(graph|runtime|dsl(?!/emulator))/.*\.(cpp|h)$")
STAGES_S = [1, 4, 16, 64, 256, float("inf")]  # of tests, by the time they take, until one notices
RECORDS = re.compile(r"golden:|property:Of/CodeRecord\.")
FIELDS = ["file", "line", "kind", "was", "becomes"]


def log(text):
    print(f"{datetime.datetime.now():%H:%M:%S} {text}", flush=True)


def tracked():
    listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True,
                             text=True, check=True).stdout
    return [f for f in listing.splitlines() if (ROOT / f).is_file()]


def chosen(seed, conditions):
    """In a random order that each condition's own text decides: most of a sample stays where other lines change."""
    times = collections.Counter()

    def key(condition):
        text = (condition["file"], condition["was"], condition["becomes"])
        times[text] += 1
        return hashlib.sha256(json.dumps([seed, times[text], *text]).encode()).digest()

    return sorted(conditions, key=key)


def every_condition():
    """The sources by file, and each of their conditions as a record."""
    sources, every = {}, []
    for file in sorted(f for f in tracked() if SAMPLED.match(f)):
        sources[file] = Source((ROOT / file).read_text())
        for c in sources[file].conditions():
            was, becomes = description(sources[file], c)
            every.append({"file": file, "line": sources[file].line(c.start), "kind": c.kind, "was": was,
                          "becomes": becomes, "condition": c})
    return sources, every


def numbered(sites):
    return [dict(s, number=number) for number, s in enumerate(sites)]


def sample(seed, count, every, under=("",), again=()):
    """Conditions to change: sampled ones, and behind them those of always.json and `again`."""
    eligible = [s for s in every if s["file"].startswith(tuple(under))]
    sites = chosen(seed, eligible)[:count]
    always = [tuple(a[field] for field in ("file", "was", "becomes"))
              for a in json.loads((HERE / "always.json").read_text())]
    named = {(s["file"], s["was"], s["becomes"]): s for s in every}
    missing = [a for a in always if a not in named]
    if missing:
        sys.exit(f"always.json names conditions that are not in the sources any more: {missing}")
    sites += [named[a] for a in always if named[a] not in sites]
    sites += [dict(a, again=True) for a in found_again(again, every) if a and a not in sites]
    return numbered(sites), len(eligible)


def distinct(conditions):
    """Those that there are, each once."""
    return [c for i, c in enumerate(conditions) if c is not None and c not in conditions[:i]]


class Copy:
    """A copy of the sources in which each of the sampled conditions can be chosen to be wrong."""

    def __init__(self, folder, sites, sources):
        self.folder, self.build = folder / "source", folder / "source" / "build" / "release"
        self.sites, self.sources = sites, sources

    def write(self):
        by_file = collections.defaultdict(list)
        for site in self.sites:
            by_file[site["file"]].append((site["number"], site["condition"]))
        kept, files = set(), tracked()
        self.remove_others({*files, "runtime/reached.h", "runtime/reached.cpp"})
        for file in files:
            text = (ROOT / file).read_bytes()
            if file in by_file:
                changed = Changed(self.sources[file], by_file[file])
                kept |= {number for number, _ in changed.kept}
                text = b'#include "runtime/reached.h"\n' + changed.text().encode()
            self.put(file, text, (ROOT / file).stat().st_mode)
        for name in ("reached.h", "reached.cpp"):
            # In the copy it is a part of the runtime, which every program links.
            text = (HERE / name).read_bytes()
            self.put(f"runtime/{name}", text.replace(b"tests/conditions/", b"runtime/"))
        self.sites = [s for s in self.sites if s["number"] in kept]

    def remove_others(self, files):
        """Removes the files of an earlier copy, because CMake takes every source that it finds."""
        for folder, inner, names in os.walk(self.folder):
            if "build" in inner and pathlib.Path(folder) == self.folder:
                inner.remove("build")
            for path in (pathlib.Path(folder) / name for name in names):
                if str(path.relative_to(self.folder)) not in files:
                    path.unlink()

    def put(self, file, text, mode=0o644):
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != text:
            path.write_bytes(text)
            path.chmod(mode & 0o777)

    def make(self, rooms, jobs):
        """Builds the test programs; conditions that do not compile are left out, and the build
        restarts."""
        subprocess.run(["cmake", "--preset", "release", "-DTILEWRIGHT_BUILD_TESTS=ON"], cwd=self.folder, check=True,
                       stdout=subprocess.DEVNULL)
        command = ["cmake", "--build", self.build, "-j", str(jobs), "--target"] + [f"{r}_tests" for r in rooms]
        while True:
            made = subprocess.run(command + ["--", "-k", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, errors="replace")
            if made.returncode == 0:
                return
            refused = self.refused(made.stdout)
            if not refused:
                sys.exit(made.stdout[-8000:])
            log(f"left out {len(refused)} that do not compile")
            self.sites = [s for s in self.sites if s["number"] not in refused]
            self.write()

    def refused(self, output):
        result = set()
        for file, line in set(re.findall(r"^(\S+?):(\d+):\d+: error:", output, re.M)):
            name = next((f for f in self.sources if file.endswith("/" + f)), None)
            if name is None:
                continue
            lines = (self.folder / name).read_text().splitlines()
            for at in range(int(line), max(0, int(line) - 12), -1):
                numbers = re.findall(r"tilewright_condition\((\d+)\)", lines[at - 1])
                if numbers:
                    result |= set(map(int, numbers))
                    break
            else:
                result |= {s["number"] for s in self.sites if s["file"] == name}
        return result & {s["number"] for s in self.sites}


class Runs:
    """Which tests come by which conditions, and which of these tests notice that they are wrong."""

    def __init__(self, folder, programs, workers, sources):
        self.file, self.programs, self.workers = folder / "state.json", programs, workers
        self.lock = threading.Lock()
        self.state = json.loads(self.file.read_text()) if self.file.exists() else {}
        if self.state.get("sources") != sources:
            self.state = {"sources": sources, "tests": {}, "noticed": {}, "passed": {}}

    def save(self):
        with self.lock:
            self.file.write_text(json.dumps(self.state))

    def reach(self, rooms, numbers, limit_s, may_fail=(), by_suite=False):
        """Notes what each test comes by. Ends where one fails: such a test would notice nothing."""
        known = {name for name, test in self.state["tests"].items() if test["passed"] or test["is_too_long"]}
        names = {r: self.programs.suites(r) if by_suite else self.programs.names(r) for r in rooms}
        tests = [(r, n) for r in rooms for n in names[r] if f"{r}:{n}" not in known]
        log(f"{len(tests)} tests to run for what they reach")

        def run(test):
            room, name = test
            with tempfile.NamedTemporaryFile(prefix="reached-") as reached:
                ran = self.programs.run(room, [name], limit_s, reached=reached.name)
                found = pathlib.Path(reached.name).read_bytes()
            noted = [n for n in numbers if n < len(found) and found[n]] if ran.passed else []
            self.state["tests"][f"{room}:{name}"] = {"passed": ran.passed, "is_too_long": ran.is_too_long,
                                                     "seconds": ran.seconds, "reaches": noted}

        self.each(run, tests)
        unexpected = set(self.failing()) - set(may_fail)
        if unexpected:
            sys.exit("these tests fail with nothing wrong, so that they would notice nothing:\n" +
                     "\n".join(sorted(unexpected)))

    def failing(self):
        return sorted(name for name, t in self.state["tests"].items() if not (t["passed"] or t["is_too_long"]))

    def too_long(self):
        return sorted(name for name, test in self.state["tests"].items() if test["is_too_long"])

    def each(self, run, items):
        with concurrent.futures.ThreadPoolExecutor(self.workers) as pool:
            for done, _ in enumerate(pool.map(run, items), 1):
                if done % 50 == 0:
                    log(f"{done} of {len(items)}")
                    self.save()
        self.save()

    def tests_of(self, number):
        """The quickest first, and before them those that compare what is generated with a record."""
        found = [(t["seconds"], name) for name, t in self.state["tests"].items() if number in t["reaches"]]
        return sorted(found, key=lambda t: (not RECORDS.match(t[1]), t))

    def notice(self, numbers, patience_s):
        def run(number):
            if str(number) in self.state["noticed"]:
                return
            passed = self.state["passed"].setdefault(str(number), [])
            known = set(passed)
            tests = [t for t in self.tests_of(number) if t[1] not in known]
            spent, at = 0, 0
            for limit in STAGES_S:
                batch = []
                while at < len(tests) and spent + tests[at][0] <= min(limit, patience_s):
                    spent += tests[at][0]
                    batch.append(tests[at])
                    at += 1
                noticed_by = self.first_failure(number, batch)
                if noticed_by:
                    self.state["noticed"][str(number)] = noticed_by
                    return
                passed += [name for _, name in batch]
            log(f"{len(passed)} tests did not notice {number}")

        self.each(run, [n for n in numbers if self.tests_of(n)])

    def first_failure(self, number, batch):
        by_room = collections.defaultdict(list)
        for seconds, test in batch:
            room, name = test.split(":", 1)
            by_room[room].append((seconds, name))
        for room, tests in sorted(by_room.items(), key=lambda r: sum(t[0] for t in r[1])):
            noticed_by = self.failure(room, tests, number)
            if noticed_by:
                return f"{room}: {noticed_by}"
        return None

    def failure(self, room, tests, number):
        """The tests that fail because of the condition, if any; tests that fail without it do not
        count."""
        names = [name for _, name in tests]
        ran = self.programs.run(room, names, self.limit_s(tests), wrong=number)
        if ran.passed:
            return None
        suspects = [t for t in tests if t[1] == ran.failed] or tests
        if self.programs.run(room, [name for _, name in suspects], self.limit_s(suspects)).passed:
            return suspects[0][1] if len(suspects) == 1 else f"{len(suspects)} tests"
        found = (self.failure(room, [test], number) for test in tests) if len(tests) > 1 else ()
        return next((f for f in found if f), None)

    def limit_s(self, tests):
        return 10 + 4 * sum(seconds for seconds, _ in tests)


def changing_nothing():
    """The conditions that were shown to change nothing, by an identity that survives moved
    lines."""
    listed = json.loads((HERE / "changing_nothing.json").read_text())
    return {(e["file"], e["was"], e["becomes"]): e["why"] for e in listed}


def report(runs, copy, arguments, every, sampled):
    reasons, rows, former = changing_nothing(), [], collections.Counter()
    counts = collections.Counter(conditions=every, sampled=sampled)
    for site in copy.sites:
        row = {field: site[field] for field in FIELDS}
        row["number"] = site["number"]
        row["tests"] = len(runs.tests_of(site["number"]))
        tried = len(runs.state["passed"].get(str(site["number"]), []))
        if tried < row["tests"]:
            row["tests_run"] = tried
        if site.get("again"):
            row["again"] = True
        of = former if site.get("again") else counts
        of["compiled"] += 1
        of["reached"] += row["tests"] > 0
        why = reasons.get((site["file"], site["was"], site["becomes"]))
        if str(site["number"]) in runs.state["noticed"]:
            of["noticed"] += 1
            continue
        of["changing_nothing" if why else "unnoticed"] += 1
        rows.append(dict(row, changes_nothing=why) if why else row)
    counts.update(tests=len(runs.state["tests"]), tests_too_long=len(runs.too_long()),
                  tests_failing=len(runs.failing()))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    return {"what": "conditions changed one at a time, and what no test noticed",
            "command": " ".join(["tests/conditions/run.py"] + sys.argv[1:]),
            "commit": commit.strip(), "date": f"{datetime.date.today()}", "seed": arguments.seed,
            "counts": dict(counts), **({"again": dict(former)} if former else {}), "not_noticed": rows}


def identity(sites, sources):
    """A hash of the sample and of the conditions it was drawn from: results of an earlier run hold
    only for the same two."""
    text = json.dumps([[s["file"], s["was"], s["becomes"]] for s in sites])
    text += "".join(source.text for _, source in sorted(sources.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=330)
    parser.add_argument("--under", nargs="+", default=[""], metavar="FOLDER", help="sample these folders only")
    parser.add_argument("--again", type=pathlib.Path, help="a former result: what it lists is changed again, too")
    parser.add_argument("--follow", type=pathlib.Path, metavar="RESULT",
                        help="only what a former result lists; gives that result with what became of each")
    parser.add_argument("--by-suite", action="store_true", help="run suites, not tests: quicker for few conditions")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "conditions",
                        help="where the copy is kept; a run that was cut short goes on there")
    parser.add_argument("--rooms", nargs="+", default=ROOMS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--may-fail", nargs="+", default=[], metavar="ROOM:TEST",
                        help="tests that fail as it is, and notice nothing")
    parser.add_argument("--longest", type=float, default=60, help="seconds of a test that is still quick")
    parser.add_argument("--patience", type=float, default=float("inf"), help="seconds of tests for one condition")
    parser.add_argument("--out", type=pathlib.Path, help="file for the result; on the terminal otherwise")
    return parser.parse_args()


def outcomes(runs, sites):
    """The present result of a condition, for its row in an earlier result."""
    number_of = {(s["file"], s["line"], s["was"], s["becomes"]): s["number"] for s in sites}
    reasons = changing_nothing()

    def outcome(condition):
        number = number_of.get(tuple(condition[field] for field in ("file", "line", "was", "becomes")))
        noticed_by = runs.state["noticed"].get(str(number))
        why = reasons.get((condition["file"], condition["was"], condition["becomes"]))
        if noticed_by:
            return {"since": f"noticed by {noticed_by}"}
        tried = {"tests": len(runs.tests_of(number)), "tests_run": len(runs.state["passed"].get(str(number), []))}
        return dict(tried, changes_nothing=why) if why else tried

    return outcome


def main():
    arguments = parse_arguments()
    folder = arguments.folder / f"seed{arguments.seed}_{arguments.count}"
    sources, every = every_condition()
    result_before = arguments.follow or arguments.again
    former = json.loads(result_before.read_text()) if result_before else {"not_noticed": []}
    if arguments.follow:
        folder = arguments.folder / "follow"
        found = found_again(former["not_noticed"], every)
        sites, eligible = numbered(distinct(found)), len(every)
    else:
        sites, eligible = sample(arguments.seed, arguments.count, every, arguments.under, former["not_noticed"])
    copy = Copy(folder, sites, sources)
    copy.write()
    log(f"{len(copy.sites)} of {eligible} conditions in {len({s['file'] for s in copy.sites})} files")
    copy.make(arguments.rooms, arguments.jobs)
    numbers = [s["number"] for s in copy.sites]
    log(f"{len(numbers)} conditions compile")
    runs = Runs(folder, Programs(copy.build), arguments.jobs, identity(copy.sites, sources))
    runs.reach(arguments.rooms, numbers, arguments.longest, arguments.may_fail, arguments.by_suite)
    runs.notice(numbers, arguments.patience)
    if arguments.follow:
        result = followed(former, found, outcomes(runs, copy.sites))
    else:
        result = report(runs, copy, arguments, eligible, sum("again" not in s for s in sites))
    text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
    if arguments.out:
        arguments.out.write_text(text)
    else:
        print(text, end="")
    sys.exit(1 if result["counts"].get("unnoticed") else 0)


if __name__ == "__main__":
    main()
