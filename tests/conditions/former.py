"""Finds the conditions of an earlier result again in the present sources, with their outcome
since."""

import collections
import pathlib

STATES = {"noticed_since": "noticed", "left_out": "is left out"}


def place(row):
    """How the text of a condition stands: its file may have moved to another folder."""
    return pathlib.PurePath(row["file"]).name, row["was"], row["becomes"]


def found_again(rows, every):
    """For each row of a former result the condition that it names, or None: of several alike the nearest line."""
    alike = collections.defaultdict(list)
    for condition in every:
        alike[place(condition)].append(condition)

    def distance(condition, row):
        return condition["file"] != row["file"], abs(condition["line"] - row["line"])

    return [min(alike[place(row)], key=lambda c: distance(c, row), default=None) for row in rows]


def followed(former, found, outcome_of):
    """The former result with what became of each row. `outcome_of` gives for a condition the fields that are known
    of it now: `since`, or `changes_nothing`, or how many tests passed with it wrong."""
    rows = []
    for row, condition in zip(former["not_noticed"], found):
        kept = {k: row[k] for k in row if k not in ("since", "tests", "tests_run", "changes_nothing")}
        if condition is None:
            rows.append(dict(kept, since="is left out"))
        else:
            here = {"file": condition["file"], "line": condition["line"]}
            rows.append(dict(kept, **here, **outcome_of(condition)))
    counts = {k: n for k, n in former["counts"].items() if k not in (*STATES, "has_a_test", "changing_nothing")}
    for name, begins in STATES.items():
        counts[name] = sum(row.get("since", "").startswith(begins) for row in rows)
    counts["changing_nothing"] = sum("changes_nothing" in row for row in rows)
    counts["unnoticed"] = sum("since" not in row and "changes_nothing" not in row for row in rows)
    return dict(former, counts=counts, not_noticed=rows)
