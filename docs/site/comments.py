#!/usr/bin/env python3
"""A public header as Doxygen wants it: comments before and behind declarations become documentation.

usage: comments.py HEADER    (Doxygen's INPUT_FILTER)

In the headers a comment is an ordinary one. Here
  * the essay at the head of a file becomes the text of its page, a group with all that the file declares;
  * a comment before a declaration becomes its documentation, one before a run of functions that of a group of
    them, named by the comment's first sentence;
  * a comment behind a declaration or enumerator, with its further lines, becomes its documentation;
  * comments in bodies of functions stay comments;
  * parameters for the caller's line are left out;
  * tables (#include "x.def") are written out, since Doxygen expands macros of the text it reads alone.
"""
import pathlib
import re
import sys

from doxygen_text import inline, kept_as_it_is

root = pathlib.Path(__file__).resolve().parents[2]
own_line = re.compile(r"^(\s*)//( ?)(.*)$")
trailing = re.compile(r"^(\s*[^\s/].*?)(\s+)// ?(.*)$")
skipped = re.compile(r"^\s*(#|\}|public:|private:|protected:|namespace\b|using namespace\b|friend\b)")
# The caller's line, which functions take for messages, and nobody gives.
places = re.compile(r",?\s*std::source_location\s+\w+\s*=\s*std::source_location::current\(\)")
repeated = 6  # functions of a run whose own entries say what the run's comment says; of more, the group's alone


def group_of(path):
    """The label of a header's page."""
    return "h_" + re.sub(r"[^a-z0-9]+", "_", re.sub(r"^include/tilewright/|\.h$", "", path.lower()))


def page_of(path):
    """The label of the page that shows a file."""
    return "file_" + re.sub(r"\W", "_", path).lower()


def is_code(lines):
    """True if lines that stand further in are C++, as tests/house/snippets_test.cpp tells, which
    compiles them."""
    return (any(re.search(r";[ ]*(//.*)?$", line) for line in lines) and re.search(r"[({=;]", lines[0]) is not None
            and not re.match(r"[^({=;/]*[^ ({=;/]   ", lines[0]))


def paragraphs(lines):
    """The text of a comment for Doxygen: paragraphs in one line each, lists, and indented lines as they are."""
    blocks, words, kept = [], [], []

    def end():
        if words:
            blocks.append(" ".join(words))
            words.clear()
        while kept and not kept[-1].strip():
            kept.pop()
        if kept:
            least = min(len(line) - len(line.lstrip()) for line in kept if line.strip())
            body = [line[least:] for line in kept]
            blocks.append("\n".join(["@code{.cpp}", *body, "@endcode"]) if is_code(body) else
                          "<pre>" + "\n".join(kept_as_it_is(line) for line in body) + "</pre>")
            kept.clear()

    in_list = False
    for line in lines:
        indent = len(line) - len(line.lstrip())
        item = re.match(r"^\s*\* (.*)$", line)
        if not line.strip():
            if kept:
                kept.append("")
            else:
                end()
                in_list = False
        elif item:
            end()
            words.append("* " + item[1].strip())
            in_list = True
        elif indent >= 2 and not in_list:
            if words:
                end()
            kept.append(line)
        else:
            if kept:
                end()
            words.append(line.strip())
    end()
    # Not lines that begin with a star, which Doxygen takes for the frame of a comment.
    text, in_list = "", False
    for block in blocks:
        is_item = block.startswith("* ")
        if is_item != in_list:
            text += "\n<ul>" if is_item else "\n</ul>"
        in_list = is_item
        text += f"\n<li>{inline(block[2:])}</li>" if is_item else \
            ("\n\n" if text else "") + (block if block.startswith(("<pre>", "@code")) else inline(block))
    return text + ("\n</ul>" if in_list else "")


def first_sentence(text):
    """(the sentence, the rest) of a comment's text; a sentence ends before a space, not within names."""
    m = re.match(r"^(.*?\.)(?:\s+|$)(?=[A-Z`\[(0-9]|$)(.*)$", text, re.S)
    return (m[1], m[2]) if m else (text, "")


class Scopes:
    """Where a line stands: in namespaces and classes, where declarations are, or within code."""

    def __init__(self):
        self.kinds, self.parens, self.statement = [], 0, ""

    def is_declaring(self):
        return all(kind == "declarations" for kind in self.kinds) and self.parens == 0

    def between(self):
        """True if the former statement has ended."""
        return not self.statement.strip()

    def read(self, line):
        line = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'', '""', re.sub(r"//.*", "", line))
        if line.lstrip().startswith("#"):
            return
        for c in line + "\n":
            if c == "(":
                self.parens += 1
            elif c == ")":
                self.parens -= 1
            elif c == "{":
                is_type = re.search(r"\b(namespace|class|struct|union|enum)\b", self.statement)
                is_code = self.parens > 0 or not is_type or re.search(r"\)\s*(const|noexcept|->.*)?\s*$",
                                                                       self.statement)
                self.kinds.append("code" if is_code else "declarations")
                self.statement = "" if not is_code else self.statement
                continue
            elif c == "}":
                kind = self.kinds.pop() if self.kinds else "declarations"
                # Behind a function's body nothing needs to follow; behind a type's or a value's does `;`.
                if self.parens == 0 and self.is_declaring():
                    self.statement = "" if kind == "code" and ")" in self.statement else self.statement
                continue
            elif c == ";" and self.parens == 0 and self.is_declaring():
                self.statement = ""
                continue
            if self.is_declaring() or self.parens:
                self.statement += c
                if re.fullmatch(r"\s*(public|private|protected)\s*:", self.statement):
                    self.statement = ""


def statements(lines, start):
    """(first line, end, text) of the declarations that follow one another from a line on."""
    scopes, at, begin = Scopes(), start, start
    while at < len(lines):
        line = lines[at]
        if begin == at and (not line.strip() or own_line.match(line) or skipped.match(line)):
            return
        scopes.read(line)
        at += 1
        if scopes.is_declaring() and scopes.between():
            yield begin, at, " ".join(lines[begin:at])
            begin = at
        elif scopes.is_declaring() and not scopes.kinds and re.search(r",\s*(//.*)?$", line) and begin == at - 1 \
                and "(" not in line:
            return  # an enumerator


def is_function(text):
    text = re.sub(r"//.*?(?=\s{2}|$)", "", text)
    head = re.sub(r"=.*|requires\s*\(.*?\)", "", text)
    return "(" in head and not re.match(r"^\s*(template\s*<[^{(]*>\s*)?(class|struct|union|enum|using|typedef)\b", text)


def is_about_both(comment, first, other):
    """True if a comment before a function is about one that follows it as well. Not if it names a
    parameter that the other lacks, or the first is defined there, over several lines; `first` is
    (first line, end, text)."""
    begin, end, text = first
    named = [word for word in re.findall(r"`(\w+)`", comment) if re.search(rf"\b{word}\b", text)]
    return all(re.search(rf"\b{word}\b", other) for word in named) and not (end - begin > 3 and "{" in text)


def names_of(texts):
    found = []
    for text in texts:
        m = re.search(r"(operator\s*[^\s(]+(?:\(\))?|~?\w+)\s*\(", re.sub(r"\brequires\s*\([^)]*\)", "", text))
        if m and m[1] not in found and m[1] not in ("if", "static_assert"):
            found.append(m[1])
    return ", ".join(found[:4]) + (" ..." if len(found) > 4 else "")


def document(lines, group):
    """The lines after the essay, with documentation comments. Declarations in namespaces are put
    into the group, within their braces: outside it would hold the namespace."""
    done, scopes, at, inserted, column = [], Scopes(), 0, {}, None
    is_grouped = False
    while at < len(lines):
        line = lines[at]
        comment = own_line.match(line)
        done += inserted.pop(at, [])
        if comment and column is not None and line.index("//") == column:
            done.append(f"{comment[1]}///< {inline(comment[3].strip())}")  # goes on behind a declaration
            at += 1
            continue
        column = None
        if comment and scopes.is_declaring():
            end = at
            while end < len(lines) and own_line.match(lines[end]):
                end += 1
            text = [own_line.match(l)[2][1:] + own_line.match(l)[3] for l in lines[at:end]]
            following = end
            if following < len(lines) and lines[following].startswith("namespace detail {"):
                while not lines[following].startswith("}"):
                    following += 1
                following += 1
            done += documentation(lines, text, following, inserted, end)
            at = end
            continue
        behind = trailing.match(line)
        if behind and scopes.is_declaring() and not line.lstrip().startswith(("#", "}", "namespace")) and \
                not re.search(r"[{]\s*$", behind[1]):
            column = line.index("//", len(behind[1]))
            scopes.read(line)
            says_where = re.match(r"^\s*(class|struct) \w+;", behind[1])  # it is defined
            done.append(f"{behind[1]} ///< {inline(behind[3])}" if scopes.is_declaring() and not says_where else line)
        else:
            was_open = bool(scopes.kinds)
            scopes.read(line)
            is_namespace = re.match(r"^namespace [\w:]+ \{$", line) and "detail" not in line
            if was_open and not scopes.kinds and line.startswith("}") and is_grouped:
                done.append("/** @} */")
                is_grouped = False
            done.append(line)
            if is_namespace and not was_open:
                done.append(f"/** @addtogroup {group}\n@{{ */")
                is_grouped = True
        at += 1
    return done + [line for at in sorted(inserted) for line in inserted[at]]


def documentation(lines, text, following, inserted, end):
    """The replacement for a comment before the line `following`."""
    if following >= len(lines) or not lines[following].strip() or skipped.match(lines[following]):
        return []
    if following != end:
        return []  # a remark on what comes behind the details
    run = []
    for begin, after, statement in statements(lines, following):
        # Two with comments of their own are not what this one is about.
        if not is_function(statement) or (trailing.match(lines[begin]) and after < len(lines) and
                                          trailing.match(lines[after])):
            break
        if run and not is_about_both(" ".join(text), run[0], statement):
            break
        run.append((begin, after, statement))
    title, rest = first_sentence(" ".join(l.strip() for l in text if l.strip()))
    if len(run) < 2:
        is_plain = not any(l.startswith((" ", "* ")) or not l.strip() for l in text)
        brief = [f"/** @brief {inline(title)}", "", inline(rest)] if is_plain else ["/** " + paragraphs(text)]
        return brief + ["*/"]
    description = paragraphs(text)
    for begin, _, _ in run if len(run) <= repeated else []:
        inserted[begin] = ["/** " + description, "*/"]
    inserted[run[-1][1]] = ["/**@}*/"] + inserted.get(run[-1][1], [])
    if len(title) <= 60:
        description = inline(rest)
    else:
        title = names_of([statement for _, _, statement in run])
    return [f"/** @name {inline(title.rstrip('.:;'))}", description, "*/", "/**@{*/"]


def with_tables(lines):
    """Rows of included tables take the place of the lines that include them, without comments."""
    for line in lines:
        m = re.match(r'^\s*#include "(.*\.def)"', line)
        if m:
            rows = (root / m[1]).read_text().split("\n")
            yield from (row for row in rows if row.strip() and not row.lstrip().startswith("//"))
        else:
            yield line


def essay_of(lines):
    """(the lines of the essay without //, the rest)."""
    at = 0
    while at < len(lines) and own_line.match(lines[at]):
        at += 1
    return [own_line.match(l)[2][1:] + own_line.match(l)[3] for l in lines[:at]], lines[at:]


def filtered(path, text):
    """The whole of a header; `path` is its path from the root of the repository."""
    essay, rest = essay_of(places.sub("", text).split("\n"))
    room = path.split("/")[0]
    installed = re.sub(r"^include/tilewright/", "", path)
    head = ["/**", f"@defgroup {group_of(path)} {installed}", f"@ingroup room_{room}", "", paragraphs(essay), "",
            f'<div class="include"><code>\\#include &lt;tilewright/{installed}&gt;</code> '
            f'<a href="{page_of(path)}.html">the header itself</a></div>', "*/"]
    return "\n".join(head + document(list(with_tables(rest)), group_of(path)) + [""])


def main():
    path = pathlib.Path(sys.argv[1]).resolve()
    sys.stdout.write(filtered(path.relative_to(root).as_posix(), path.read_text()))


if __name__ == "__main__":
    main()
