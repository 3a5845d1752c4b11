#!/usr/bin/env python3
"""Tests the conditions found in small texts, and their changed forms."""

import unittest

from find_conditions import Changed, Source, description


def found(text):
    source = Source(text)
    return [(c.kind, *description(source, c)) for c in source.conditions()]


class FindsConditions(unittest.TestCase):
    def test_a_relation_is_turned_round_and_moved_by_one(self):
        self.assertEqual(found("bool f() { return a + 1 < g(b, c); }"),
                         [("comparison", "a + 1 < g(b, c)", "a + 1 >= g(b, c)"),
                          ("off by one", "a + 1 < g(b, c)", "a + 1 <= g(b, c)")])

    def test_arguments_of_templates_are_no_relations(self):
        self.assertEqual(found("auto f(std::vector<int> x) { return g<a, b>(x) == 1; }"),
                         [("comparison", "g<a, b>(x) == 1", "g<a, b>(x) != 1")])

    def test_each_operand_of_a_chain_is_left_out(self):
        self.assertCountEqual([f for f in found("x = a && !b(c) && d;") if f[0] == "conjunct"],
                              [("conjunct", "a && !b(c) && d", "!b(c) && d"),
                               ("conjunct", "a && !b(c) && d", "a && !b(c)"),
                               ("conjunct", "a && !b(c) && d", "a && d")])

    def test_alternatives_hold_conjunctions(self):
        self.assertIn(("alternative", "a && b || c", "a && b"), found("x = a && b || c;"))
        self.assertIn(("conjunct", "a && b", "b"), found("x = a && b || c;"))

    def test_a_branch_without_an_operator_is_turned_round(self):
        self.assertEqual(found("if (is_open(x)) y();"), [("negation", "is_open(x)", "!(is_open(x))")])
        self.assertEqual(found("if (!x->y(z)[1]) y();"), [("negation", "!x->y(z)[1]", "x->y(z)[1]")])
        self.assertEqual(found("if (auto x = f()) y();"), [])

    def test_a_guard_is_taken_away(self):
        self.assertIn(("guard", "a && b", "false"), found("if (a && b) return c;"))
        self.assertIn(("guard", "a(b)", "false"), found("if (a(b)) {\n  continue;\n}"))
        self.assertNotIn("guard", [kind for kind, _, _ in found("if (a) b();")])

    def test_what_the_compiler_evaluates_is_left_alone(self):
        for text in ("if constexpr (a < b) c();", "static_assert(a == b);", "constexpr bool x = a < b;",
                     "Array<(a < b)> c;", "requires(a && b)", "#if a == b\n", 'f("a < b"); // a < b'):
            self.assertEqual(found(text), [], text)

    def test_rvalue_references_are_no_conjunctions(self):
        self.assertEqual(found("for (auto&& x : y) f(x);"), [])

    def test_choices_within_choices_are_kept_in_both_texts(self):
        source = Source("x = a == b && c;")
        numbered = list(enumerate(c for c in source.conditions() if c.kind == "comparison" or c.changed[0][0] == 4))
        text = Changed(source, numbered).text()
        self.assertEqual(text.count("a != b"), text.count("(a == b)"))
        self.assertIn("static_cast<bool>", text)


if __name__ == "__main__":
    unittest.main()
