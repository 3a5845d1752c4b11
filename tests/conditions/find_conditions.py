"""Finds the conditions of C++ sources and what each could wrongly be.

There is no parser here: the sources are formatted by clang-format, so that an operator of two operands has a space on
both sides and a bracket of template arguments has not. A cut in the wrong place does not compile,
and is left out then.
"""

import bisect
import dataclasses
import re

TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.']*|<=>|<<=|>>=|\.\.\.|->|::|==|!=|<=|>=|&&|\|\||<<|[-+*/%&|^]=|\+\+|--|\S")
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\''
                   r'|^[ \t]*#(?:\\\n|[^\n])*', re.S | re.M)
OPENING = {"(": ")", "[": "]", "{": "}", "<": ">"}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
BOUNDARIES = ASSIGNMENTS | {",", ";", "?", ":", "return", "throw", "else", "case", "co_return"}
RELATIONS = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<")}
EQUALITIES = {"==": "!=", "!=": "=="}
# Conditions that a compiler evaluates are not part of the program at run time.
COMPILED_AWAY = {"constexpr", "consteval", "static_assert", "requires", "concept", "using", "typedef", "enum", "case",
                 "template", "noexcept", "decltype", "alignas", "explicit", "operator", "assert"}
# The tokens that end an operand of an operator, by how tightly the operator binds.
ENDS_OF_OR = {"||"}
ENDS_OF_AND = ENDS_OF_OR | {"&&"}
ENDS_OF_EQUALITY = ENDS_OF_AND | {"binary &", "|", "^"} | set(EQUALITIES)
ENDS_OF_RELATION = ENDS_OF_EQUALITY | set(RELATIONS)


@dataclasses.dataclass
class Condition:
    """A stretch of a source and what stands there instead: texts, and ranges of the source between them."""
    start: int
    end: int
    kind: str
    changed: list
    as_bool: bool = False


def blanked(text):
    """The text with comments, literals and directives made opaque, every character at its place."""
    def opaque(match):
        found = match.group(0)
        if found.startswith(('"', "'", "R")):
            return "0" + "_" * (len(found) - 1)
        return re.sub(r"[^\n]", " ", found)
    return NOISE.sub(opaque, text)


def without_comments(text):
    def removed(match):
        found = match.group(0)
        return found if found.startswith(('"', "'", "R")) else ""
    return NOISE.sub(removed, text)


class Source:
    def __init__(self, text):
        self.text = text
        plain = blanked(text)
        self.words, self.places = [], []
        for match in TOKEN.finditer(plain):
            word = match.group(0)
            spaced = plain[match.start() - 1:match.start()].isspace() and plain[match.end():match.end() + 1].isspace()
            if word == "&" and spaced:
                word = "binary &"
            if word in ("<", ">") and not spaced:
                word = "template " + word
            self.words.append(word)
            self.places.append((match.start(), match.end()))
        self.partner = self.matched()

    def matched(self):
        partner, open_ = {}, []
        for i, word in enumerate(self.words):
            if word in ("(", "[", "{", "template <"):
                if word != "template <" or (i and self.words[i - 1] != "operator"):
                    open_.append(i)
            elif word == "template >":
                if open_ and self.words[open_[-1]] == "template <":
                    partner[i] = open_.pop()
                    partner[partner[i]] = i
            elif word in (")", "]", "}"):
                while open_ and self.words[open_[-1]] == "template <":
                    open_.pop()
                if open_:
                    partner[i] = open_.pop()
                    partner[partner[i]] = i
        return partner

    def range_of(self, first, last):
        return (self.places[first][0], self.places[last][1])

    def leftmost(self, i, ends):
        """The first token of the operand that ends before token `i`."""
        at = i
        while at > 0:
            word = self.words[at - 1]
            if word in (")", "]", "}", "template >"):
                if at - 1 not in self.partner:
                    return at
                at = self.partner[at - 1]
                continue
            if word in BOUNDARIES or word in ends or word in ("(", "[", "{", "template <"):
                return at
            at -= 1
        return at

    def rightmost(self, i, ends):
        """The last token of the operand that begins behind token `i`."""
        at = i
        while at + 1 < len(self.words):
            word = self.words[at + 1]
            if word in ("(", "[", "{", "template <"):
                if at + 1 not in self.partner:
                    return at
                at = self.partner[at + 1]
                continue
            if word in BOUNDARIES or word in ends or word in (")", "]", "}", "template >"):
                return at
            at += 1
        return at

    def is_compiled_away(self, i):
        """True if token `i` is in a statement, or in an argument of a template, that the compiler
        evaluates."""
        at = i
        while at > 0:
            at -= 1
            word = self.words[at]
            if word in COMPILED_AWAY or word == "template <":
                return True
            if word in (";", "{", "}"):
                return False
            if word in (")", "]", "template >") and at in self.partner:
                at = self.partner[at]
        return False

    def comparisons(self):
        for i, word in enumerate(self.words):
            if word not in RELATIONS and word not in EQUALITIES:
                continue
            ends = ENDS_OF_RELATION if word in RELATIONS else ENDS_OF_EQUALITY
            first, last = self.leftmost(i, ends), self.rightmost(i, ends)
            if first == i or last == i:
                continue
            left, right = self.range_of(first, i - 1), self.range_of(i + 1, last)
            others = RELATIONS[word] if word in RELATIONS else ("", EQUALITIES[word])
            for kind, other in zip(("off by one", "comparison"), others):
                if other:
                    yield i, Condition(left[0], right[1], kind, [left, f" {other} ", right])

    def chains(self):
        """Each operand of a chain of conjunctions, or of alternatives, left out."""
        seen = set()
        for i, word in enumerate(self.words):
            if word not in ("&&", "||") or not self.text[self.places[i][0] - 1].isspace() or i in seen:
                continue
            ends = ENDS_OF_AND if word == "&&" else ENDS_OF_OR
            operands, at = [(self.leftmost(i, ends), i - 1)], i
            while at < len(self.words) and self.words[at] == word:
                seen.add(at)
                last = self.rightmost(at, ends)
                operands.append((at + 1, last))
                at = last + 1
            if any(first > last for first, last in operands):
                continue
            ranges = [self.range_of(*o) for o in operands]
            for left_out in range(len(ranges)):
                changed = []
                for r in ranges[:left_out] + ranges[left_out + 1:]:
                    changed += ([f" {word} "] if changed else []) + [r]
                yield i, Condition(ranges[0][0], ranges[-1][1], "conjunct" if word == "&&" else "alternative",
                                   changed, True)

    def negations(self):
        """A `!` left out."""
        for i, word in enumerate(self.words):
            if word != "!" or i + 1 >= len(self.words):
                continue
            at = i + 1
            while self.words[at] in ("!", "*", "-", "&"):
                at += 1
            if self.words[at] == "(":
                at = self.partner.get(at, at)
            while at + 1 < len(self.words):
                following = self.words[at + 1]
                if following in ("(", "[", "{", "template <") and at + 1 in self.partner:
                    if following == "{":
                        break
                    at = self.partner[at + 1]
                elif following in (".", "->", "::"):
                    at += 2
                else:
                    break
            operand = self.range_of(i + 1, at)
            yield i, Condition(self.places[i][0], operand[1], "negation", [operand], True)

    def is_atom(self, first, last):
        if self.words[first] == "!":
            return False
        at = first
        while at <= last:
            word = self.words[at]
            if word in ENDS_OF_RELATION or word in ASSIGNMENTS or word in ("?", ",", ";", "<=>"):
                return False
            at = self.partner[at] + 1 if word in ("(", "[", "{", "template <") and at in self.partner else at + 1
        return True

    def whole_conditions(self):
        """Conditions that decide a branch without an operator of their own, inverted."""
        for i, word in enumerate(self.words):
            if word in ("if", "while") and self.words[i + 1] == "(" and i + 1 in self.partner:
                first, last = i + 2, self.partner[i + 1] - 1
                first = max([first] + [k + 1 for k in range(first, last) if self.words[k] == ";"])
            elif word == "?":
                first, last = self.leftmost(i, set()), i - 1
            else:
                continue
            if first > last or not self.is_atom(first, last):
                continue
            whole = self.range_of(first, last)
            yield first, Condition(*whole, "negation", ["!(", whole, ")"], True)

    def guards(self):
        """Statements that end a function or an iteration early, removed."""
        for i, word in enumerate(self.words):
            if word != "if" or self.words[i + 1] != "(" or i + 1 not in self.partner:
                continue
            first, last = i + 2, self.partner[i + 1] - 1
            behind = self.words[last + 2:last + 4]
            ends = behind[:1] if behind[0] != "{" else behind[1:]
            declares = any(w in ASSIGNMENTS or w == ";" for w in self.words[first:last + 1])
            if ends[0] in ("return", "continue", "break") and not declares:
                yield first, Condition(*self.range_of(first, last), "guard", ["false"], True)

    def conditions(self):
        found = []
        for every in (self.comparisons, self.chains, self.negations, self.whole_conditions, self.guards):
            found += [c for i, c in every() if not self.is_compiled_away(i)]
        return sorted(found, key=lambda c: (c.start, -c.end, c.kind, str(c.changed)))

    def line(self, place):
        return self.text.count("\n", 0, place) + 1


class Changed:
    """A source in which each of `numbered` conditions, a list of (number, Condition), can be chosen to be wrong."""

    def __init__(self, source, numbered):
        self.source, self.kept = source, []
        for number, c in sorted(numbered, key=lambda pair: (pair[1].start, -pair[1].end)):
            if all(k.end <= c.start or (k.start <= c.start and c.end <= k.end) for _, k in self.kept):
                self.kept.append((number, c))
        self.starts = [c.start for _, c in self.kept]

    def text(self):
        return self.stretch(0, len(self.source.text), -1)

    def stretch(self, start, end, outside):
        """The source from `start` to `end`, with the choices behind the `outside`th that lie there."""
        result, at = [], start
        i = max(outside + 1, bisect.bisect_left(self.starts, start))
        while i < len(self.kept):
            number, c = self.kept[i]
            if c.start >= at and c.end <= end:
                result.append(self.source.text[at:c.start] + self.choice(i))
                at = c.end
            if c.start >= end:
                break
            i += 1
        return "".join(result) + self.source.text[at:end]

    def choice(self, i):
        number, c = self.kept[i]
        inside = self.stretch(c.start, c.end, i)
        other = "".join(part if isinstance(part, str) else self.stretch(*part, i) for part in c.changed)
        inside, other = without_comments(inside), without_comments(other)
        if c.as_bool:
            inside, other = f"static_cast<bool>({inside})", f"static_cast<bool>({other})"
        return f"(::tilewright_condition({number}) ? ({other}) : ({inside}))"


def description(source, condition):
    """The condition as it is and as it becomes, each on one line."""
    was = source.text[condition.start:condition.end]
    becomes = "".join(p if isinstance(p, str) else source.text[p[0]:p[1]] for p in condition.changed)
    return tuple(" ".join(without_comments(t).split()) for t in (was, becomes))
