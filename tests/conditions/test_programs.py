"""Runs tests of a changed copy's programs: one process a list of tests, with a limit of time and of memory."""

import dataclasses
import fnmatch
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

MEMORY_KB = 12 << 20  # of what is written to: the fake driver reserves far more addresses
ENVIRONMENT = {"property": {"TILEWRIGHT_THREADS": "1"}}


@dataclasses.dataclass
class Run:
    passed: bool  # all of the tests
    is_too_long: bool
    seconds: float
    failed: str | None  # which of the tests, or suites, failed, where the program lived to say so


class Programs:
    def __init__(self, build):
        self.tests = pathlib.Path(build) / "tests"

    def names(self, room):
        """The tests of a room's fast list."""
        listing = subprocess.run([f"./{room}_tests", "--gtest_list_tests", "--gtest_filter=-Slow*"], cwd=self.tests,
                                 capture_output=True, text=True, check=True).stdout
        suite, names = "", []
        for line in listing.splitlines():
            name = re.sub(r"\s*#.*", "", line)
            if name.startswith("  "):
                names.append(suite + name.strip())
            elif re.fullmatch(r"\S+\.", name):
                suite = name
        return [n for n in names if "DISABLED_" not in n]

    def suites(self, room):
        """The suites of a room's fast list, each a pattern of its tests."""
        return list(dict.fromkeys(name.split(".")[0] + ".*" for name in self.names(room)))

    def run(self, room, names, limit_s, wrong=None, reached=None):
        """Runs tests in one process, which ends where one fails."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="conditions-"))
        flags, output = folder / "flags", folder / "output"
        flags.write_text(f"--gtest_filter={':'.join(names)}\n--gtest_fail_fast\n--gtest_brief=1\n")
        # Code compiled with a wrong condition must not enter the user's cache. The variables that
        # the copy reads are not named as the library's, which warns of those that it does not know.
        environment = dict(os.environ, TILEWRIGHT_CACHE_DIR=f"{folder}/cache", **ENVIRONMENT.get(room, {}))
        if wrong is not None:
            environment["WRONG_CONDITION"] = str(wrong)
        if reached is not None:
            environment["CONDITIONS_REACHED"] = str(reached)
        started = time.monotonic()
        with output.open("wb") as file:
            process = subprocess.Popen(
                ["sh", "-c", f'ulimit -d {MEMORY_KB}; ulimit -c 0; exec "$@"', "sh", f"./{room}_tests",
                 f"--gtest_flagfile={flags}"],
                cwd=self.tests, env=environment, stdout=file, stderr=subprocess.DEVNULL,
                stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            status = None
        seconds = time.monotonic() - started
        try:
            os.killpg(process.pid, signal.SIGKILL)  # and what it started
        except ProcessLookupError:
            pass
        process.wait()
        named = re.search(rb"^\[  FAILED  \] ([^\s,]+)", output.read_bytes(), re.M)
        failed = named[1].decode(errors="replace") if named else None
        failed = failed and next((n for n in names if fnmatch.fnmatchcase(failed, n)), None)  # of suites, its suite
        shutil.rmtree(folder, ignore_errors=True)
        return Run(status == 0, status is None, seconds, failed)
