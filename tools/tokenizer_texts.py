"""Random texts of many kinds, for tokenizer_forms.py.

Characters whose properties changed between the versions of Unicode that are compared are left out:
`tokenizers` 0.23 has tables from 8.0 (punctuation) to 16.0 (its regular expressions), PCRE2 10.42 has
14.0, utf8proc 2.8 has 15.0.
"""
import random
import unicodedata

from tokenizers import Regex, normalizers, pre_tokenizers

from tokenizer_parts import MARK


def steady_characters():
    """Characters of Unicode 14 of whose properties all tables say the same."""
    punctuation, accents = pre_tokenizers.Punctuation("removed"), normalizers.StripAccents()
    number, lower = pre_tokenizers.Digits(False), normalizers.Lowercase()
    letter = pre_tokenizers.Split(Regex(r"\p{L}"), "removed")
    forms = [(name, getattr(normalizers, name)()) for name in ("NFD", "NFKD", "NFC", "NFKC")]
    kept = []
    for point in range(0x110000):
        c, category = chr(point), unicodedata.category(chr(point))
        if category in ("Cn", "Cs"):
            continue
        if category in ("Co", "Lo") and point % 7:  # there are very many
            continue
        if point > 0x7F and (not punctuation.pre_tokenize_str(c)) != (category[0] == "P"):
            continue
        if (not accents.normalize_str(c)) != (category[0] == "M"):
            continue
        if (not letter.pre_tokenize_str(c)) != (category[0] == "L") or lower.normalize_str(c) != c.lower():
            continue
        if all(form.normalize_str(c) == unicodedata.normalize(name, c) for name, form in forms):
            kept.append(c)
    return kept + ["\ufffe", "\uffff", "\ufdd0", "\U0010ffff", "\u0378"]


def changed_since():
    """Characters that BERT's normalizer takes for marks or signs of control by an old table.

    They are taken out of the texts that were drawn, so that those without them stay as they were.
    """
    clean = normalizers.BertNormalizer(True, False, False, False)
    accents = normalizers.BertNormalizer(False, False, True, False)
    for point in set(range(0x110000)) - set(range(0xD800, 0xE000)) - {9, 10, 13, 0xFFFD}:
        c = chr(point)
        marks = [d for d in unicodedata.normalize("NFD", c) if unicodedata.category(d) != "Mn"]
        if (not clean.normalize_str(c)) != (unicodedata.category(c) in ("Cc", "Cf", "Co")):
            yield c
        elif accents.normalize_str(c) != "".join(marks):
            yield c


class Texts:
    """Random texts of many kinds."""

    def __init__(self, seed, text, tokens):
        self.random, self.text, self.tokens = random.Random(seed), text, tokens
        self.all = steady_characters()
        by_script = lambda *ranges: [c for c in self.all if any(a <= ord(c) <= b for a, b in ranges)]  # noqa: E731
        self.alphabets = [
            by_script((0x21, 0x7E)), by_script((0xA1, 0x17F)), by_script((0x370, 0x3FF)),
            by_script((0x400, 0x4FF)), by_script((0x590, 0x6FF)), by_script((0x900, 0x97F)),
            by_script((0xE00, 0xE7F)), by_script((0x3040, 0x30FF)), [chr(0x4E00 + i) for i in range(900)],
            [chr(0xAC00 + i * 37) for i in range(300)], by_script((0x1100, 0x11FF)),
            by_script((0x300, 0x36F)), by_script((0xFF00, 0xFFEF)), by_script((0xFB00, 0xFB4F)),
            by_script((0x2000, 0x206F)), by_script((0x2150, 0x218F), (0x2460, 0x24FF)),
            by_script((0x1F300, 0x1FAFF)), by_script((0x1D400, 0x1D7FF)), by_script((0, 0x1F), (0x7F, 0x9F))]
        self.pieces = [
            " ", "  ", "\n", "\r\n", "\t", "\r", "\u00a0", "\u3000", "\u2028", "\u180e", "\u200b", "\u0085",
            "\u200d", "'s", "'S", "'LL", "’re", "'ſ", "n't", " 've", MARK, MARK * 3, "Ġ", "<0x41>", "<0xE4>",
            "İ", "ΑΣ", "ǅ", "ﬁ", "½", "Ⅷ", "①", "ﷺ", "한글", "\u1112\u1161\u11ab", "e\u0301\u0323", "각",
            "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪🇫🇷", "👍🏽", "0", "12", "345", "6789012", "١٢٣", "１２", "²³", "...", "!!", "--",
            "[left]", " [LEFT] ", "[RIGHT]  ", "king", "kings", " King ", "lord and", "[BOTH]", " [BOTH]\n",
            "KingMaker", "camelCaseWord", "HTTPServer", "snake_case", "\\", "</w>", "##", "&&", "beef", "xx",
            "the", "theThe", "</s", "<|im_", "    ", "     ", "return x;\n\n\n", "{a: [1, 2]}"]

    def part(self):
        pick = self.random
        kind = pick.randrange(12)
        if kind < 3:
            begin = pick.randrange(len(self.text) - 50)
            return self.text[begin : begin + pick.randrange(1, 50)]
        if kind < 6:
            letters = pick.choice(self.alphabets)
            return "".join(pick.choice(letters) for _ in range(pick.randrange(1, 9)))
        if kind == 6:
            return "".join(pick.choice(self.all) for _ in range(pick.randrange(1, 7)))
        if kind == 7:
            return pick.choice(self.tokens)
        if kind == 8:
            return pick.choice([" ", "\n", "\t", "\r\n", "\u00a0", " \n"]) * pick.randrange(1, 9)
        return pick.choice(self.pieces)

    def next(self):
        pick = self.random
        if pick.random() < 0.01:
            return "".join(pick.choice(pick.choice(self.alphabets)) for _ in range(pick.randrange(50, 400)))
        if pick.random() < 0.005:
            return pick.choice(["a", "ab", "é", "的", "\n", " ", "9", "👍", "e\u0301"]) * pick.randrange(200, 2000)
        return "".join(self.part() for _ in range(pick.randrange(0, 12)))
