#!/usr/bin/env python3
"""The names in Doxygen's tag file, for the site: the names that the search field knows, and where
names in code lead. Doxygen knows no aliases of namespaces, and takes the first of several functions
of a name: `tw::compile` would lead to that of kernels.

usage: names.py TAGFILE FOLDER    writes FOLDER/names.js, which sets `names`: [[name, where it stands, address]],
                                  shortest names first, and mends the links of FOLDER/*.html
"""
import json
import pathlib
import re
import sys
import xml.etree.ElementTree


def names(tagfile):
    found = {}

    def take(name, where, address):
        # The first of several overloads stands for all.
        found.setdefault((name, where), address)

    for compound in xml.etree.ElementTree.parse(tagfile).getroot():
        kind, name = compound.get("kind"), compound.findtext("name", "")
        address = compound.findtext("filename", "")
        if not address.endswith(".html"):
            address += ".html"
        if kind in ("page", "group"):
            title = compound.findtext("title") or name
            if not name.startswith(("room_", "file_")):
                take(re.sub("<[^>]*>", "", title), "page" if kind == "page" else "header", address)
        elif kind in ("class", "struct", "concept"):
            take(name.split("::")[-1], name, address)
        if kind in ("class", "struct", "namespace"):
            for member in compound.iter("member"):
                short = member.findtext("name")
                if short and not short.startswith("operator"):
                    take(short, f"{name}::{short}", member.findtext("anchorfile") + "#" + member.findtext("anchor"))
    return sorted(([name, where, address] for (name, where), address in found.items()),
                  key=lambda row: (len(row[0]), row[0], len(row[1]), row[1]))


def mended(text, address_of, ambiguous):
    """A page whose links in code are those of the names as they are written, or none where that is not known. The
    boxes that Doxygen adds to show beside such links go: they would be most of a page."""
    def link(m):
        word = re.sub(r"&lt;.*", "", m[2])
        scope, _, name = word.rpartition("::")
        if scope in ("tw", "tilewright"):
            address = address_of.get(f"tilewright::{name}")
        elif scope in ("dsl", "tw::dsl", "autotune", "tw::autotune"):
            address = address_of.get(f"tilewright::{scope.removeprefix('tw::')}::{name}")
        else:
            address = None if name in ambiguous else m[1]
        return f'<a class="code" href="{address}">{m[2]}</a>' if address else m[2]

    text = re.sub(r'<div class="ttc".*\n', "", text)
    text = re.sub(r'  <a href="[^"]*">More\.\.\.</a>', "", text)  # the name before leads there too
    text = text.replace("<h3>Table of Contents</h3>", "<h3>On this page</h3>")
    text = re.sub(r'(<div class="title">.*?) (Class|Struct|Namespace|Concept)( Template)? Reference',
                  lambda m: f'{m[1]} <span class="kind">{m[2].lower()}</span>', text)
    return re.sub(r'<a class="code[^"]*" href="([^"]*)">(.*?)</a>', link, text)


def main():
    rows, folder = names(sys.argv[1]), pathlib.Path(sys.argv[2])
    (folder / "names.js").write_text("const names = " + json.dumps(rows, separators=(",", ":")) + ";\n")
    address_of, count = {}, {}
    for name, where, address in rows:
        if where.startswith("tilewright"):
            address_of.setdefault(where, address)
            count[name] = count.get(name, 0) + 1
    ambiguous = {name for name in count if count[name] > 1}
    for page in folder.glob("*.html"):
        page.write_text(mended(page.read_text(), address_of, ambiguous))


if __name__ == "__main__":
    main()
