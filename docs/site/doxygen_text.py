"""Plain text and Markdown as the text of Doxygen's comments and pages.

Doxygen reads commands in any text (@word, \\word), markup in what looks like it, and links in #words. Here all of
that is written so that it stands for itself, but for what people mean as markup: `code`, links and emphasis.
"""
import html
import re

# Before ``, ` and the rest of inline markup are looked at: code, a picture or link, bold, emphasis.
inline_forms = re.compile(r"(?P<code>``.+?``|`[^`]+`)|(?P<picture>!)?\[(?P<words>[^\]]+)\]\((?P<target>[^)\s]+)\)"
                          r"|\*\*(?P<bold>[^*]+)\*\*|(?<![\w*])\*(?P<emphasis>[^*\s][^*]*)\*(?![\w*])")
entities = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\\": "\\\\", "@": "\\@", "#": "\\#", "%": "\\%", '"': "&quot;"}
marks = {c: "\\" + c for c in "*[]`"}  # what Markdown alone would read, and gives back without the backslash


def kept_as_it_is(text):
    """A line of preformatted text, in which Doxygen looks for commands and tags alone."""
    return "".join(entities.get(c, c) for c in text)


def plain(text):
    """The text as it is, whatever is in it."""
    text = re.sub(r"\\([|*_<>#`\[\]])", r"\1", text)  # what Markdown wants escaped
    text = "".join({**entities, **marks}.get(c, c) for c in text)
    return text.replace("---", "\\---").replace("--", "\\--")


def code(text):
    return f"<code>{plain(text)}</code>"


def inline(text, to=None):
    """A line or paragraph. Where it stands on a page, `to` says what becomes of links, pictures and code:
    link(words, target), picture(words, target) and code(text)."""
    done, at = "", 0
    for m in inline_forms.finditer(text):
        done += plain(text[at:m.start()])
        at = m.end()
        if m["code"]:
            words = m["code"].strip("`").strip() if m["code"].startswith("``") else m["code"][1:-1]
            done += to.code(words) if to else code(words)
        elif m["bold"]:
            done += f"<b>{inline(m['bold'], to)}</b>"
        elif m["emphasis"]:
            done += f"<em>{inline(m['emphasis'], to)}</em>"
        elif m["picture"] and to:
            done += to.picture(m["words"], m["target"])
        elif to:
            done += to.link(inline(m["words"]), m["target"])
        else:  # in headers nothing is a link: [out, in](x)
            done += plain(m.group())
    return done + plain(text[at:])


def anchor_of(heading):
    """As git hosts name it: "What it cannot do" is what-it-cannot-do."""
    return re.sub(r"[^\w -]", "", heading).replace(" ", "-").lower()


def attribute(text):
    return html.escape(text, quote=True)
