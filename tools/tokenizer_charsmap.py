"""Precompiled maps of characters as sentencepiece writes them, for tokenizer_families.py: a double
array in the layout of darts-clone, and the texts that take the place of others."""
import base64
import json
import struct

# The kinds of entries that real maps have: compatibility forms, sequences of characters, a mark that
# joins a letter, white space, characters that vanish.
SMALL = {
    "\t": " ", "\n": " ", "\r": " ", "\u00a0": " ", "\u3000": " ", "\ufffd": " ", "\u200b": "", "\u00ad": "",
    "ﬁ": "fi", "①": "1", "…": "...", "½": "1/2", "Å": "Å", "e\u0301": "é", "u\u0308": "ü", "α\u0301": "ά",
    "ｶ": "カ", "ｶﾞ": "ガ", "ﾊﾟ": "パ", "Ａ": "A", "ａ": "a", "！": "!", "２": "2", "㍿": "株式会社",
}


def packed(entries):
    """The map in base64."""
    texts, trie = b"", {}
    for key, text in sorted(entries.items()):
        node = trie
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[None] = len(texts)
        texts += text.encode() + b"\0"
    units, taken = [0], {0}

    def place(node, at):
        labels = [0 if label is None else label for label in node]
        base = 1
        while any(base ^ label in taken for label in labels):
            base += 1
        taken.update(base ^ label for label in labels)
        units.extend([0] * (max(base ^ label for label in labels) + 1 - len(units)))
        units[at] |= (at ^ base) << 10 | (1 << 8 if None in node else 0)
        for label, child in node.items():
            if label is None:
                units[base] = child | 1 << 31
            else:
                units[base ^ label] = label
                place(child, base ^ label)

    place(trie, 0)
    data = struct.pack(f"<{len(units)}I", *units)
    return base64.b64encode(struct.pack("<I", len(data)) + data + texts).decode()


def of_file(path):
    """The map of a tokenizer.json."""
    with open(path, encoding="utf-8") as file:
        normalizer = json.load(file)["normalizer"]
    parts = normalizer.get("normalizers", [normalizer])
    return next(part["precompiled_charsmap"] for part in parts if part["type"] == "Precompiled")
