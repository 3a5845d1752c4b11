"""The page of all operations of the kernel language: the rows of dsl/ir/ops.def, what the table says of them, the
rules of their types as dsl/ir/type_rules.cpp explains them, and the words of a kernel that append them."""
import re

from comments import essay_of, is_about_both, names_of, own_line, places, root, statements
from doxygen_text import code, inline

columns = ("name", "least", "most", "bodies", "types", "effect", "immediate", "class", "cost", "properties")
sources = ("tile_operators.cpp", "tile_memory.cpp", "words/inline_asm.cpp")
public_words = ("tile.h", "words/products.h", "words/arranging.h", "words/inline_asm.h")
# Loops and conditions are made when they end, by the tracer: no function of a word names them.
control = {"loop": ["range", "while_"], "if": ["if_"]}


def sections():
    """[(comment, [row])] of the table, in its order; a row has the table's columns."""
    found, comment = [], []
    head = True
    for line in (root / "dsl/ir/ops.def").read_text().split("\n"):
        row = re.match(r"TILEWRIGHT_TILE_OP\((.*)\)$", line)
        if line.startswith("//") and not head:
            comment.append(line[3:])
        elif row:
            if comment or not found:
                found.append((comment, []))
                comment = []
            found[-1][1].append(dict(zip(columns, re.split(r",\s*", row[1]))))
        elif not line.strip():
            head, comment = False, []
    return found


def type_rules():
    """{rule: what its comment in type_rules.cpp says}."""
    text = (root / "dsl/ir/type_rules.cpp").read_text()
    found = re.findall(r"((?:^// .*\n)*)^Types (\w+)\(const RuleContext", text, re.M)
    return {name.rstrip("_"): " ".join(line[3:] for line in comment.split("\n")) for comment, name in found}


def functions(text):
    """(name, body) of each function that begins at the left edge."""
    found = []
    for line in text.split("\n"):
        head = re.match(r"^[A-Za-z][\w:<>&* ]*?\s(?:detail::)?(operator[^\w\s(]+|\w+)\(", line)
        if head and not line.startswith(("using", "namespace", "struct", "class")):
            found.append([head[1], ""])
        if found:
            found[-1][1] += line[head.end():] if head else line
    return found


def words():
    """{operation: words of a kernel that append it}: those whose function names it or calls one that does, and
    those that bear its name."""
    folder, operations = root / "dsl/language", [row["name"] for _, rows in sections() for row in rows]
    public = "".join((folder / header).read_text() for header in public_words)
    public = re.sub(r"TILEWRIGHT_BINARY\((\S+)\);", r"operator\1(", public)
    appended = {}  # operations by the function that appends them
    for source in sources:
        bodies = functions((folder / source).read_text())
        for name, body in bodies:
            body = re.sub(r"name_of\(Op::\w+\)|op == Op::\w+", "", body)
            uses = [op for op in re.findall(r'OperationUse\b[^"]*"(\w+)"', body) if op in operations]
            named = re.findall(r"\bOp::(\w+?)_\b", body) or uses
            appended.setdefault(name, []).extend([name] if name in named else named)
        for name, body in bodies:
            if name != "elementwise":  # which is every operation's
                appended[name] += [op for callee in re.findall(r"\b(\w+)\(", body)
                                   for op in appended.get(callee, ()) if callee != name]
    found = {op: list(names) for op, names in control.items()}
    for name, ops in [*appended.items(), *((op, [op]) for op in operations if op not in appended)]:
        if re.search(rf"^(Tile|Desc|Var|void|auto)? ?{re.escape(name)}\(", public, re.M) and name != "elementwise":
            for op in dict.fromkeys(ops):
                if name not in found.setdefault(op, []):
                    found[op].append(name)
    return found


def comments_of_words():
    """{word: what stands before it, or behind it, in the headers}; one comment is that of all up to a blank line."""
    found = {}
    for header in public_words:
        _, lines = essay_of(places.sub("", (root / "dsl/language" / header).read_text()).split("\n"))
        comment, at = [], 0
        while at < len(lines):
            own = own_line.match(lines[at])
            if own and not own[1]:
                comment.append(own[3])
            elif not lines[at].strip():
                comment = []
            at += 1
            if own or not comment:
                continue
            first = None
            for begin, end, text in statements(lines, at - 1):
                first, at = first or (begin, end, text), end
                if not is_about_both(" ".join(comment), first, text):
                    comment = []
                behind = [line.partition("// ")[2] for line in lines[begin:end] if "// " in line]
                for name in names_of([text]).split(", ") if behind or comment else ():
                    found.setdefault(name, " ".join(behind or comment))
            if at < len(lines) and own_line.match(lines[at]):
                comment = []
    return found


def said_of(names, comments):
    """The headers' documentation of the words, a comment once, with all the words that it is
    about."""
    by_comment = {}
    for name in names:
        if name in comments and " " in comments[name] and not name.startswith("operator"):
            by_comment.setdefault(comments[name], []).append(name)
    rows = "".join(f"<li>{', '.join(word_text(name) for name in about)}: {inline(comment)}</li>\n"
                   for comment, about in by_comment.items())
    return f"<ul>\n{rows}</ul>\n" if rows else ""


def word_text(name):
    if name.startswith("operator"):
        return code(name[len("operator"):].strip())
    return f'@ref tilewright::dsl::{name} "{name}"'


def operands(row):
    least, most = row["least"], row["most"]
    return least if least == most else f"{least} or more" if most == "-1" else f"{least} to {most}"


def operations_page():
    appended, rules, comments = words(), type_rules(), comments_of_words()
    text = "# Operations of kernels {#operations}\n\n@tableofcontents\n\n" + inline(
        "Every operation that a kernel is made of: this page is written from the table of operations "
        "(`dsl/ir/ops.def`). What a kernel says is a *word*; most words append one operation, others are made of "
        "several. Costs are scalar operations an element, by which the compiler chooses between keeping a value and "
        "computing it again.") + '\n\nThe words beside Triton\'s are <a href="language.html">in the language</a>, ' \
        'their exact signatures in @ref h_dsl_language_tile "tile.h".\n'
    used = []
    for comment, rows in sections():
        body = " ".join(comment)
        # A comment begins with what the rows are, or is about one of them.
        m = re.match(r"^([A-Z][\w, ]*)(?:[.:;] ?(.*))?$", body, re.S)
        is_short = m is not None and len(m[1]) <= 40
        title, rest = (m[1], m[2] or "") if is_short else (", ".join(row["name"] for row in rows), body)
        label = re.sub(r"\W+", "-", title.lower()).strip("-")
        text += f"\n## {inline(title)} {{#operations-{label}}}\n\n{inline(rest)}\n\n"
        text += '<table class="plain">\n<tr><th>operation</th><th>words</th><th>operands</th><th>types</th>' \
                "<th>effect</th><th>cost</th><th>properties</th></tr>\n"
        for row in rows:
            name = row["name"]
            kinds = [] if row["properties"] == "none" else row["properties"].replace("_", "s ").split(" | ")
            said = ", ".join(word_text(word) for word in appended.get(name, [])) or "none: the compiler's"
            rule = row["types"].rstrip("_")
            used.append(rule)
            text += (f"<tr><td>{code(name)}</td><td>{said}</td><td>{operands(row)}</td>"
                     f'<td><a href="#operations-types">{rule}</a></td><td>{row["effect"]}</td>'
                     f'<td>{row["cost"]}</td><td>{", ".join(kinds)}</td></tr>\n')
        text += "</table>\n" + said_of(dict.fromkeys(word for row in rows for word in appended.get(row["name"], [])),
                                       comments)
    text += "\n## Types {#operations-types}\n\n" + inline(
        "Which operands an operation takes, and what it gives: a function of that name in `dsl/ir/type_rules.cpp`, "
        "which raises an `Error` where they do not fit. Integers count bools. *Floats only* and *integers only* stand "
        "with the properties.") + '\n\n<table class="plain">\n<tr><th>types</th><th>rule</th></tr>\n'
    for rule in dict.fromkeys(used):
        text += f"<tr><td>{code(rule)}</td><td>{inline(rules.get(rule, ''))}</td></tr>\n"
    return text + "</table>\n"
