"""Tests how the rows of an earlier result are found again, and the new rows."""

import unittest

from former import followed, found_again


def condition(file, line, was="a < b", becomes="a <= b"):
    return {"file": file, "line": line, "kind": "off by one", "was": was, "becomes": becomes}


class Former(unittest.TestCase):
    def test_the_nearest_of_several_alike_is_the_one(self):
        every = [condition("graph/x.cpp", line) for line in (10, 48, 90)]
        self.assertEqual(found_again([condition("graph/x.cpp", 50)], every), [every[1]])

    def test_a_file_may_have_moved(self):
        every = [condition("graph/plans/x.cpp", 50), condition("graph/y.cpp", 50)]
        self.assertEqual(found_again([condition("graph/x.cpp", 7)], every), [every[0]])
        nearer = every + [condition("graph/x.cpp", 500)]
        self.assertEqual(found_again([condition("graph/x.cpp", 7)], nearer), [nearer[2]])

    def test_what_is_gone_is_left_out(self):
        former = {"counts": {"noticed": 3, "has_a_test": 1}, "not_noticed": [condition("graph/x.cpp", 5)]}
        result = followed(former, [None], None)
        self.assertEqual(result["not_noticed"][0]["since"], "is left out")
        self.assertEqual(result["counts"], {"noticed": 3, "noticed_since": 0, "left_out": 1, "changing_nothing": 0,
                                            "unnoticed": 0})

    def test_each_row_says_what_became_of_it(self):
        rows = [dict(condition("graph/x.cpp", line), since="has a test", tests=9) for line in (5, 6, 7)]
        outcomes = {5: {"since": "noticed by graph: A.B"}, 6: {"tests": 2, "tests_run": 1},
                    7: {"tests": 0, "tests_run": 0, "changes_nothing": "It is equal."}}
        result = followed({"counts": {}, "not_noticed": rows}, rows, lambda c: outcomes[c["line"]])
        self.assertEqual([r.get("since") for r in result["not_noticed"]], ["noticed by graph: A.B", None, None])
        self.assertEqual(result["not_noticed"][1]["tests"], 2)
        self.assertEqual(result["counts"], {"noticed_since": 1, "left_out": 0, "changing_nothing": 1, "unnoticed": 1})


if __name__ == "__main__":
    unittest.main()
