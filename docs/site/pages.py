#!/usr/bin/env python3
"""Writes what Doxygen makes the site of: a page for each document, and for each file that a document leads to.

usage: pages.py OUT    writes OUT/pages/*.md, OUT/header.html and OUT/html with files that are copied as they are

A link between documents leads to a page of the site, one to a header to its page of the API, one to another text
file to a page that shows it, one to a results file or picture to its copy. Contents are those of docs/README.md.
"""
import itertools
import pathlib
import re
import shutil
import sys

import markdown_blocks
from comments import essay_of, first_sentence, group_of, page_of, root
from doxygen_text import attribute, code, inline, plain
from operations import operations_page

folders = ("docs", "runtime", "dsl", "autotune", "graph", "models", "tools", "examples", "tests")
rooms = {"graph": "Tensors, functions and compile()", "models": "Layers, models and programs",
         "dsl": "The kernel language", "autotune": "Tuning", "runtime": "What all stands on",
         "include": "Everything in one include"}
reference = [("API by header", "api.html"), ("Classes", "annotated.html"), ("Operations of kernels", "operations.html")]


def documents():
    found = list(root.glob("*.md"))
    for folder in folders:
        found += (root / folder).rglob("*.md")
    return sorted(path.relative_to(root).as_posix() for path in found)


def label_of(path):
    """The label of a file's page, which is the name of its .html file too."""
    if path in ("README.md", "docs/README.md"):
        return {"README.md": "index", "docs/README.md": "contents"}[path]
    if path.endswith(".md"):
        return re.sub(r"\W", "_", re.sub(r"^docs/|(/README)?\.md$", "", path)).lower()
    return page_of(path)


def public_headers():
    """The headers that the include of everything reaches, nearest first, as
    cmake/install_headers.cmake finds them."""
    found, to_visit = [], ["include/tilewright/tilewright.h", "include/tilewright/c_api.h"]
    while to_visit:
        header = to_visit.pop(0)
        if header not in found:
            found.append(header)
            to_visit += re.findall(r'#include "([^"]+)"', (root / header).read_text())
    return [header for header in found if header.endswith(".h")]


def contents():
    """[(section, [(title, file)])] of docs/README.md, files from the root."""
    sections = []
    for line in (root / "docs/README.md").read_text().split("\n"):
        if line.startswith("## "):
            sections.append((line[3:], []))
        link = re.match(r"\* \[([^\]]+)\]\(([^)]+)\)", line)
        if link:
            sections[-1][1].append((link[1], (root / "docs" / link[2]).resolve().relative_to(root).as_posix()))
    return sections


class Links:
    """Where links of documents lead in the site; notes the files that need a page because of that."""

    def __init__(self, out):
        self.out, self.documents, self.headers, self.shown = out, documents(), public_headers(), []

    def address(self, page, target):
        """The address; or None and the label of a public header's page."""
        if re.match(r"^[a-z]+:", target):
            return target, None
        path, _, anchor = target.partition("#")
        to = ((root / page).parent / path if path else root / page).resolve().relative_to(root).as_posix()
        if f"{to}/README.md" in self.documents:
            to += "/README.md"
        if to in self.documents:
            label = label_of(to)
            return f"{label}.html" + (f"#{label}-{anchor}" if anchor else ""), None
        if to in self.headers:
            return None, group_of(to)
        if to.endswith((".json", ".svg", ".png")):
            shutil.copy(root / to, self.out)
            return pathlib.Path(to).name, None
        if to not in self.shown:
            self.shown.append(to)
        return f"{label_of(to)}.html", None


class PageLinks:
    """Converts the links, pictures and code of one document (doxygen_text.inline)."""

    def __init__(self, links, page):
        self.links, self.page = links, page

    def link(self, words, target):
        address, header = self.links.address(self.page, target)
        if header:
            return f'@ref {header} "{re.sub("<[^>]+>", "", words)}"'
        return f'<a href="{attribute(address)}">{words}</a>'

    def picture(self, words, target):
        address, _ = self.links.address(self.page, target)
        return f'<div class="picture"><img src="{attribute(address)}" alt="{attribute(words)}"/></div>'

    def code(self, words):
        """The end of one public header's path leads to its page."""
        named = [header for header in self.links.headers if f"/{header}".endswith(f"/{words}")]
        return f'@ref {group_of(named[0])} "{words}"' if len(named) == 1 else code(words)


def turns():
    """The end of each page of the guide: links to the previous page and to the next one."""
    pages = dict(contents())["Guide"]
    for at, (_, path) in enumerate(pages):
        back = f'<a class="back" href="{label_of(pages[at - 1][1])}.html">{pages[at - 1][0]}</a>' if at else ""
        on = f'<a class="on" href="{label_of(pages[at + 1][1])}.html">{pages[at + 1][0]}</a>' \
            if at + 1 < len(pages) else ""
        yield path, f'\n<div class="turn">{back}{on}</div>\n'


def file_page(path):
    """A page that shows a file, or the files of a folder."""
    files = [path] if (root / path).is_file() else \
        sorted(p.relative_to(root).as_posix() for p in (root / path).iterdir() if p.is_file())
    text = f"# {plain(path)} {{#{label_of(path)}}}\n"
    for file in files:
        if len(files) > 1:
            text += f"\n<b>{plain(file)}</b>\n"
        language = "cpp" if file.endswith((".cpp", ".h", ".def")) else ""
        text += markdown_blocks.code(language, (root / file).read_text().rstrip("\n").split("\n"))
    return text


def api_page(headers):
    """All public headers by room, with what each says first of itself; those that a program names come first."""
    direct = re.findall(r'#include "([^"]+)"', (root / headers[0]).read_text())
    text = ("# API reference {#api}\n\n@tableofcontents\n\n"
            'Everything that @ref h_tilewright "tilewright/tilewright.h" includes, header by header. Each page begins '
            "with what the header is for, and lists what it declares. Many functions have one parameter more, which is "
            "not shown: the caller's line (<code>std::source_location</code>), for messages. It is given by itself.\n")
    for room, title in rooms.items():
        if room == "include":
            continue
        for is_direct in (True, False):
            rows = [h for h in headers if h.startswith(room + "/") and (h in direct) == is_direct]
            if not rows:
                continue
            behind = "" if is_direct else ": what these are made of"
            text += f"\n## {title}{behind} {{#api-{room}-{is_direct:d}}}\n\n"
            text += '<table class="plain headers">\n'
            for header in rows:
                essay, _ = essay_of((root / header).read_text().split("\n"))
                beginning = itertools.takewhile(lambda line: line and not line.startswith(" "), essay)
                words = first_sentence(" ".join(beginning))[0]
                name = header[len(room) + 1:]
                text += f'<tr><td>@ref {group_of(header)} "{name}"</td><td>{inline(words)}</td></tr>\n'
            text += "</table>\n"
    return text


def groups_page():
    """The groups of the rooms, in which those of headers are."""
    return "\n".join(f"/** @defgroup room_{room} {title}\n*/" for room, title in rooms.items()) + "\n" \
        "/** @namespace tilewright\n@brief Tensors, functions on them, and compile(). */\n" \
        "/** @namespace tilewright::dsl\n@brief The kernel language. */\n" \
        "/** @namespace tilewright::autotune\n@brief Tuning by the clock. */\n"


def navigation():
    sections = contents()
    at = [name for name, _ in sections].index("Guide") + 1
    shown = [(name, [(title, f"{label_of(path)}.html") for title, path in pages]) for name, pages in sections]
    shown.insert(at, ("Reference", reference))
    text = ""
    for name, pages in shown:
        text += f"<h2>{name}</h2>\n<ul>\n"
        text += "".join(f'<li><a href="{address}">{attribute(title)}</a></li>\n' for title, address in pages)
        text += "</ul>\n"
    return text


def main():
    out = pathlib.Path(sys.argv[1])
    pages, copied = out / "pages", out / "html"
    for folder in (pages, copied):
        folder.mkdir(parents=True, exist_ok=True)
    links, turn = Links(copied), dict(turns())
    for path in links.documents:
        (pages / f"{label_of(path)}.md").write_text(markdown_blocks.page(
            (root / path).read_text(), label_of(path), PageLinks(links, path), turn.get(path, "")))
    for path in links.shown + links.headers:
        (pages / f"{label_of(path)}.md").write_text(file_page(path))
    (pages / "api.md").write_text(api_page(links.headers))
    (pages / "operations.md").write_text(operations_page())
    (pages / "groups.dox").write_text(groups_page())
    here = root / "docs/site"
    for name in ("style.css", "site.js"):
        shutil.copy(here / name, copied)
    (out / "header.html").write_text((here / "header.html").read_text().replace("NAVIGATION", navigation()))
    inputs = [str(pages)] + [str(root / header) for header in links.headers]
    (out / "inputs").write_text("".join(f"INPUT += {path}\n" for path in inputs))


if __name__ == "__main__":
    main()
