#!/usr/bin/env python3
"""Tests the scripts that make the site (docs/site) and the figures, on small texts and on the tree;
the site itself needs Doxygen.

usage: site_test.py [CMAKE]    with the program `cmake`, the public headers are compared with those it installs
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
root = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(root / "docs/site"), str(root / "tools")]

import check_links
import comments
import doxygen_text
import figures
import markdown_blocks
import names
import operations
import pages

cmake = None


def header(text):
    return comments.filtered("graph/x.h", text)


class Comments(unittest.TestCase):
    def test_the_essay_becomes_the_text_of_the_header_s_page(self):
        text = header("// What this is.\n//\n//   f(x);\n#pragma once\n")
        self.assertIn("@defgroup h_graph_x graph/x.h", text)
        self.assertIn("What this is.\n\n@code{.cpp}\nf(x);\n@endcode", text)

    def test_indented_lines_that_are_no_code_are_kept_as_they_are(self):
        text = header("// A:\n//\n//   Tile   a value; <one>\n#pragma once\n")
        self.assertIn("A:\n\n<pre>Tile   a value; &lt;one&gt;</pre>", text)

    def test_a_comment_before_a_declaration_becomes_its_documentation(self):
        self.assertIn("/** @brief Adds.\n\nBoth are floating.\n*/\nint f(int a);",
                      header("// A.\n\n// Adds. Both are floating.\nint f(int a);\n\nint g();\n"))

    def test_a_comment_before_a_run_of_functions_becomes_that_of_a_group(self):
        text = header("// A.\n\n// Sums of rows. In f32.\nint f(int a,\n      int b);\nint g();\n\nint h();\n")
        self.assertIn("/** @name Sums of rows\nIn f32.\n*/\n/**@{*/\n", text)
        self.assertLess(text.index("int g();"), text.index("/**@}*/"))
        self.assertLess(text.index("/**@}*/"), text.index("int h();"))

    def test_a_comment_that_names_a_parameter_is_not_about_functions_without_it(self):
        text = header("// A.\n\n// By `place`.\nint f(int place);\nint g();\n")
        self.assertIn("/** @brief By <code>place</code>.\n\n\n*/\nint f(int place);\nint g();", text)

    def test_a_comment_behind_a_declaration_goes_on_in_further_lines(self):
        self.assertIn("  one, ///< the first\n        ///< of two\n  two ///< the other",
                      header("// A.\nenum class E {\n  one,  // the first\n        //   of two\n"
                             "  two   // the other\n};\n"))

    def test_items_begin_with_no_star_which_doxygen_takes_for_a_frame(self):
        text = header("// A:\n//\n//   * one\n//     of them\n//   * two\n#pragma once\n")
        self.assertIn("A:\n<ul>\n<li>one of them</li>\n<li>two</li>\n</ul>", text)

    def test_comments_in_bodies_stay(self):
        self.assertIn("  // Why.\n  return 1;  // Why not.\n",
                      header("// A.\n\ninline int f() {\n  // Why.\n  return 1;  // Why not.\n}\n"))

    def test_what_namespaces_declare_is_in_the_header_s_group(self):
        text = header("// A.\n\nnamespace a {\nclass X;\n}\nnamespace b {\nvoid f() {\n}\n}  // namespace b\n")
        self.assertEqual(text.count("@addtogroup h_graph_x"), 2)
        self.assertEqual(text.count("/** @} */\n}"), 2)

    def test_the_caller_s_line_is_no_parameter(self):
        self.assertIn("int f(int a);",
                      header("// A.\nint f(int a,\n      std::source_location w = std::source_location::current());\n"))

    def test_what_doxygen_would_read_as_commands_stands_for_itself(self):
        self.assertEqual(doxygen_text.inline("@x \\y <z> #w 100% `a < b`"),
                         "\\@x \\\\y &lt;z&gt; \\#w 100\\% <code>a &lt; b</code>")

    def test_every_public_header_becomes_one_group(self):
        for path in pages.public_headers():
            text = comments.filtered(path, (root / path).read_text())
            self.assertEqual(text.count("@defgroup"), 1, path)
            self.assertEqual(text.count("@addtogroup"), text.count("/** @} */"), path)
            self.assertEqual(text.count("/**@{*/"), text.count("/**@}*/"), path)


class Pages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.links = pages.Links(pathlib.Path(self.folder.name))

    def made(self, text, path="docs/recipes.md"):
        return markdown_blocks.page(text, pages.label_of(path), pages.PageLinks(self.links, path))

    def test_headings_are_named_as_git_hosts_name_them(self):
        self.assertIn("## What it can do {#recipes-what-it-can-do}", self.made("# R\n\n## What it can do\n"))

    def test_links_lead_to_pages_headers_and_files(self):
        text = self.made("[a](guide/modes.md) [b](what_it_does.md#what-it-cannot-do) [c](../graph/compile/compile.h)\n"
                         "[d](results/cpu_rows.json) [two\nlines](../LICENSE)\n")
        self.assertIn('<a href="guide_modes.html">a</a>', text)
        self.assertIn('<a href="what_it_does.html#what_it_does-what-it-cannot-do">b</a>', text)
        self.assertIn('@ref h_graph_compile_compile "c"', text)
        self.assertIn('<a href="cpu_rows.json">d</a> <a href="file_license.html">two lines</a>', text)
        self.assertEqual(self.links.shown, ["LICENSE"])

    def test_lists_keep_their_numbers_over_blocks_of_code(self):
        text = self.made("1. one\n2. two\n\n```\ncode\n```\n\n3. three\n   * in it\n")
        self.assertIn('<ol>\n<li value="3">three\n<ul>\n<li>in it\n</li></ul>\n</li></ol>', text)

    def test_bars_in_code_divide_no_cells(self):
        self.assertIn("<td><code>a || b</code></td><td>c</td>",
                      self.made("| x | y |\n|---|---|\n| `a \\|\\| b` | c |\n"))

    def test_the_contents_list_every_document(self):
        listed = [path for _, section in pages.contents() for _, path in section]
        self.assertEqual(sorted(listed + ["docs/README.md"]), pages.documents())

    def test_the_public_headers_are_those_that_are_installed(self):
        if cmake is None:
            self.skipTest("no cmake was named")
        subprocess.run([cmake, f"-DTILEWRIGHT_SOURCE_DIR={root}", f"-DTILEWRIGHT_INCLUDE_DIR={self.folder.name}", "-P",
                        str(root / "cmake/install_headers.cmake")], check=True, capture_output=True)
        installed = sorted(path.relative_to(pathlib.Path(self.folder.name) / "tilewright").as_posix()
                           for path in pathlib.Path(self.folder.name).rglob("*.h"))
        self.assertEqual(sorted(h.removeprefix("include/tilewright/") for h in pages.public_headers()), installed)


class Operations(unittest.TestCase):
    def test_all_rows_of_the_table_are_there(self):
        rows = [row["name"] for _, rows in operations.sections() for row in rows]
        self.assertEqual(len(rows), (root / "dsl/ir/ops.def").read_text().count("\nTILEWRIGHT_TILE_OP("))

    def test_words_are_found_for_all_but_the_compilers_own(self):
        words = operations.words()
        self.assertEqual([row["name"] for _, rows in operations.sections() for row in rows if row["name"] not in words],
                         ["convert_layout", "yield"])
        self.assertEqual(words["select"], ["where"])
        self.assertEqual(words["add"], ["operator+"])
        self.assertEqual(words["reduce"], ["reduce", "sum", "max", "min"])

    def test_words_have_the_comments_of_their_headers(self):
        said = operations.comments_of_words()
        self.assertTrue(said["umulhi"].startswith("The upper half of a * b"))
        self.assertTrue(said["exp"].startswith("Elementwise."))
        self.assertNotIn("fma", said)  # behind another's comment, which names a parameter of that one

    def test_each_rule_of_types_says_what_it_takes(self):
        rules = operations.type_rules()
        for _, rows in operations.sections():
            for row in rows:
                self.assertTrue(rules[row["types"].rstrip("_")].strip(), row["types"])


class Links(unittest.TestCase):
    def test_dead_ones_and_pages_without_any_are_seen(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "index.html").write_text('<a href="a.html#here">\n<a href="a.html#there"><img src="b.png">'
                                               '<a href="https://example.org">')
            (folder / "a.html").write_text('<p id="here">')
            (folder / "c.html").write_text("")
            dead, seen = check_links.dead_links(folder)
            self.assertEqual(dead, ["index.html:2: a.html#there", "index.html:2: b.png"])
            self.assertEqual(seen, 3)
            self.assertEqual(check_links.unreached(folder), ["c.html"])

    def test_names_in_code_lead_where_their_namespace_says(self):
        def mended(word):
            return names.mended(f'<a class="code hl_function" href="other.html">{word}</a>',
                                {"tilewright::compile": "right.html"}, {"load"})
        self.assertEqual(mended("tw::compile"), '<a class="code" href="right.html">tw::compile</a>')
        self.assertEqual(mended("load"), "load")
        self.assertEqual(mended("sort"), '<a class="code" href="other.html">sort</a>')


class Figures(unittest.TestCase):
    def test_what_pages_show_is_what_the_results_say(self):
        for path, text in figures.pages():
            self.assertTrue(path.read_text() == text, f"{path.relative_to(root)}: run tools/figures.py")

    def test_the_readme_fits_a_screen(self):
        self.assertLessEqual((root / "README.md").read_text().count("\n"), 90)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].endswith("cmake"):
        cmake = sys.argv.pop(1)
    unittest.main()
