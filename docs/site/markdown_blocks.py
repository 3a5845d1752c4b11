"""The blocks of a Markdown page, for which Doxygen's own reading of Markdown differs from that of git hosts:
headings, paragraphs, lists, tables and code, as text in which nothing is left to be read otherwise."""
import re

from doxygen_text import anchor_of, inline

item_form = re.compile(r"^(\s*)([*-]|\d+\.)\s+(.*)$")


def blocks(text):
    """(kind, ...) of each: code (language, lines), heading (level, text), table (rows of cells),
    item (indent, number or None, text), text (indent, text)."""
    lines = re.sub(r"<!--.*?-->\n?", "", text, flags=re.S).split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        indent = len(line) - len(line.lstrip())
        fence = re.match(r"^\s*```(\w*)", line)
        at += 1
        if not line.strip():
            continue
        if fence:
            begin = at
            while not lines[at].strip().startswith("```"):
                at += 1
            yield "code", indent, fence[1], [l[min(indent, len(l) - len(l.lstrip())):] for l in lines[begin:at]]
            at += 1
        elif line.startswith("#"):
            level, words = re.match(r"^(#+) (.*)$", line).groups()
            yield "heading", len(level), words
        elif line.lstrip().startswith("|"):
            begin = at - 1
            while at < len(lines) and lines[at].lstrip().startswith("|"):
                at += 1
            rows = [re.split(r"(?<!\\)\|", l.strip()[1:-1]) for l in lines[begin:at]]
            yield "table", [[c.strip() for c in row] for row in rows if not re.fullmatch(r"[-: ]*", "".join(row))]
        else:
            item = item_form.match(line)
            words = [item[3] if item else line.strip()]
            while at < len(lines) and lines[at].strip() and not item_form.match(lines[at]) and \
                    not re.match(r"^\s*(```|#+ |\|)", lines[at]):
                words.append(lines[at].strip())
                at += 1
            if item:
                number = item[2][:-1] if item[2][0].isdigit() else None
                yield "item", indent, number, " ".join(words)
            else:
                yield "text", indent, " ".join(words)


def table(rows, to):
    def row(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{inline(c, to)}</{tag}>" for c in cells) + "</tr>\n"
    return '<table class="plain">\n' + row(rows[0], "th") + "".join(row(r, "td") for r in rows[1:]) + "</table>\n"


def code(language, lines):
    # Doxygen colours what it knows; text in which commands stand is kept from it either way.
    kind = {"cpp": "{.cpp}", "python": "{.py}"}.get(language, "{.unparsed}")
    return "\n".join(["", f"@code{kind}", *lines, "@endcode", ""])


def page(text, label, to, end=""):
    """The page as Doxygen's text, with links as `to` makes them (doxygen_text.inline); its headings are named as git
    hosts name them, behind the page's label."""
    done, open_lists = [], []

    def close(indent):
        while open_lists and open_lists[-1][0] >= indent:
            done.append(f"</li></{open_lists.pop()[1]}>")

    for kind, *block in blocks(text):
        if kind == "item":
            indent, number, words = block
            tag = "ol" if number else "ul"
            close(indent + 1)
            if open_lists and open_lists[-1][0] == indent and open_lists[-1][1] == tag:
                done.append("</li>")
            else:
                close(indent)
                open_lists.append((indent, tag))
                done.append(f"<{tag}>")
            value = f' value="{number}"' if number else ""
            done.append(f"<li{value}>{inline(words, to)}")
            continue
        if kind not in ("text", "code") or block[0] == 0:
            close(0)
        else:
            close(block[0])
        if kind == "code":
            done.append(code(*block[1:]))
        elif kind == "text":
            done.append(("" if open_lists else "\n") + inline(block[1], to) + "\n")
        elif kind == "table":
            done.append("\n" + table(block[0], to))
        else:
            level, words = block
            name = label if level == 1 else f"{label}-{anchor_of(words)}"
            name = "mainpage" if name == "index" else name
            done.append(f"\n{'#' * level} {inline(words)} {{#{name}}}\n")
            if level == 1 and len(re.findall(r"^## ", text, re.M)) > 2:
                done.append("@tableofcontents\n")
    close(0)
    return "\n".join(done) + end
