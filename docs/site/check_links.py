#!/usr/bin/env python3
"""Looks where every link, picture, style and script of a folder of HTML leads: to a file of it, and to an anchor
there. Addresses of other hosts are not followed.

usage: check_links.py FOLDER PAGES    prints the dead ones, and pages that nothing leads to; 1 if there are any.
                                      PAGES has the .md files of our own pages. Others of the folder that nothing
                                      leads to, lists and pictures of Doxygen's, are removed.
"""
import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """The anchors of a page and where it leads."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.targets = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)
            elif name in ("href", "src", "data-names") and value is not None:
                self.targets.append((value, self.getpos()[0]))


def target_of(page, target):
    """(file, anchor) of the same folder, or None of another host's."""
    address = urllib.parse.urlsplit(target)
    if address.scheme or address.netloc:
        return None
    return urllib.parse.unquote(address.path) or page, urllib.parse.unquote(address.fragment)


def pages_of(folder):
    return {path.name: Page(path.read_text()) for path in sorted(folder.glob("*.html"))}


def dead_links(folder):
    """"page.html:12: target" of each link that leads nowhere, and the number of all that were looked at."""
    pages, dead, seen = pages_of(folder), [], 0
    for name, page in pages.items():
        for target, line in page.targets:
            to = target_of(name, target)
            if to is None:
                continue
            seen += 1
            file, anchor = to
            if not (folder / file).is_file() or (anchor and anchor not in pages[file].anchors):
                dead.append(f"{name}:{line}: {target}")
    return dead, seen


def unreached(folder):
    """The files to which no chain of links leads from index.html."""
    pages, reached, to_visit = pages_of(folder), set(), ["index.html"]
    while to_visit:
        name = to_visit.pop()
        if name not in reached:
            reached.add(name)
            to_visit += [to[0] for to in (target_of(name, t) for t, _ in pages[name].targets) if to] \
                if name in pages else []
    return sorted(path.name for path in folder.iterdir() if path.is_file() and path.name not in reached)


def main():
    folder, own = pathlib.Path(sys.argv[1]), {f"{path.stem}.html" for path in pathlib.Path(sys.argv[2]).glob("*.md")}
    wrong, seen = dead_links(folder)
    for name in unreached(folder):
        if name in own:
            wrong.append(f"{name}: nothing leads here")
        else:
            (folder / name).unlink()
    print("\n".join([*wrong, f"{seen} links, {len(wrong)} wrong"]))
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
