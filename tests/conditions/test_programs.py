"""Runs tests of a changed copy's programs: one process a list of tests, with a limit of time and of memory."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

MEMORY_KB = 12 << 20
ENVIRONMENT = {"property": {"TILEWRIGHT_THREADS": "1"}}


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

    def passed(self, room, names, limit_s, wrong=None, reached=None):
        """Whether all of the tests pass, and the seconds they took. Ends the process where one fails."""
        folder = tempfile.mkdtemp(prefix="conditions-")
        flags = pathlib.Path(folder) / "flags"
        flags.write_text(f"--gtest_filter={':'.join(names)}\n--gtest_fail_fast\n--gtest_brief=1\n")
        # What was compiled with a wrong condition is kept for nobody else.
        environment = dict(os.environ, TILEWRIGHT_CACHE_DIR=f"{folder}/cache", **ENVIRONMENT.get(room, {}))
        if wrong is not None:
            environment["TILEWRIGHT_WRONG_CONDITION"] = str(wrong)
        if reached is not None:
            environment["TILEWRIGHT_CONDITIONS_REACHED"] = str(reached)
        started = time.monotonic()
        process = subprocess.Popen(
            ["sh", "-c", f'ulimit -v {MEMORY_KB}; ulimit -c 0; exec "$@"', "sh", f"./{room}_tests",
             f"--gtest_flagfile={flags}"],
            cwd=self.tests, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            status = None
        try:
            os.killpg(process.pid, signal.SIGKILL)  # and what it started
        except ProcessLookupError:
            pass
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)
        return status == 0, time.monotonic() - started
