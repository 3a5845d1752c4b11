#!/usr/bin/env python3
"""Writes tokenizer.json in the forms that language models use, and what `tokenizers` makes of texts.

  tools/tokenizer_forms.py OUT --text FILE [--strings 10000] [--vocabulary 2000] [--seed 1] [--charsmap FILE]

Each form is trained on FILE and a few other languages. OUT gets strings.json (random texts), a
FORM.json for each form, and FORM.expected.json: the ids of every text with the tokens that the
template adds, how many these are before and after it, the ids without them (null where that is the
middle of the others), the texts of these ids without and with special tokens (null where that is
the text itself, and the text without), and the texts of random ids. The tests TokenizerForms.*
read such a folder: tests/models/tokenizers, made with

  tools/tokenizer_forms.py tests/models/tokenizers --text FILE --strings 60 --vocabulary 380 \\
      --longest 100

or, for more texts, tokenizer_forms in the folder that TILEWRIGHT_TEST_MODELS names. Needs the package
`tokenizers`.
"""
import argparse
import json
import pathlib
import random

from tokenizers import Tokenizer

import tokenizer_charsmap
from tokenizer_families import byte_forms, other_forms, unigram_forms
from tokenizer_texts import Texts, changed_since

OTHER_LANGUAGES = """\
Быть или не быть, вот в чём вопрос. Der Rest ist Schweigen; größer, süß, Straße. Être ou ne pas être,
voilà la question. ¿Qué es la vida? Un frenesí. 生存还是毁灭,这是一个值得考虑的问题。生きるべきか死ぬべきか、
それが問題だ。カタカナ 죽느냐 사느냐, 그것이 문제로다. أكون أو لا أكون، هذا هو السؤال. होना या न होना, यही सवाल है।
Να ζει κανείς ή να μη ζει. เป็นหรือไม่เป็น 😀 👩‍👩‍👧 🇩🇪 1234567890 3.14 x = y + 42; return (a[i] != b);
"""


def breaks(tokenizer, text):
    """Whether `tokenizers` 0.23 panics: some positions of its precompiled maps lie behind the text's end."""
    try:
        tokenizer.encode(text)
        return False
    except BaseException as error:  # PanicException is no Exception
        if type(error).__name__ != "PanicException":
            raise
        return True


def expected(tokenizer, strings, seed):
    pick = random.Random(seed)
    result = {"before": 0, "after": 0, "ids": [], "plain": [], "texts": [], "all_texts": [], "random_ids": [], "random_texts": []}
    around = len(tokenizer.encode("").ids)  # tokens that the template adds
    before = around and tokenizer.encode("a").ids.index(tokenizer.encode("a", add_special_tokens=False).ids[0])
    for text in strings:
        ids = tokenizer.encode(text).ids
        result["ids"].append(ids)
        plain = tokenizer.encode(text, add_special_tokens=False).ids
        result["plain"].append(None if plain == ids[before : len(ids) - around + before] else plain)
        decoded = tokenizer.decode(ids)
        with_special = tokenizer.decode(ids, skip_special_tokens=False)
        result["texts"].append(None if decoded == text else decoded)
        result["all_texts"].append(None if with_special == decoded else with_special)
    result["before"], result["after"] = before, around - before
    known = sorted(tokenizer.get_vocab(with_added_tokens=True).values())
    for _ in range(len(strings) // 4):
        ids = [pick.choice(known) for _ in range(pick.randrange(1, 12))]
        result["random_ids"].append(ids)
        result["random_texts"].append(tokenizer.decode(ids))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--strings", type=int, default=10000)
    parser.add_argument("--vocabulary", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=int, default=1 << 20, help="characters of a text at most")
    parser.add_argument("--charsmap", help="a tokenizer.json whose precompiled map to take, instead of a small one")
    parser.add_argument("--only", help="forms to write, with commas, for the texts that are in OUT")
    a = parser.parse_args()
    text = a.text.read_text(encoding="utf-8")
    training = text[:200_000].splitlines(True) + OTHER_LANGUAGES.splitlines(True) * 5
    charsmap = tokenizer_charsmap.of_file(a.charsmap) if a.charsmap else tokenizer_charsmap.packed(tokenizer_charsmap.SMALL)
    forms = {**byte_forms(), **other_forms(), **unigram_forms(charsmap)}
    if a.only:
        forms = {name: forms[name] for name in a.only.split(",")}
    values = {name: form.train(training, a.vocabulary) for name, form in forms.items()}
    tokens = sorted({token["content"] for value in values.values() for token in value["added_tokens"]})
    texts = Texts(a.seed, text, tokens)
    newer = {ord(c): None for c in changed_since()}
    strings = ["", " "] + [texts.next()[: a.longest].translate(newer) for _ in range(a.strings - 2)]
    a.out.mkdir(parents=True, exist_ok=True)

    def write(name, value):
        line = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        (a.out / name).write_text(line + "\n", encoding="utf-8")

    tokenizers = {name: Tokenizer.from_str(json.dumps(value)) for name, value in values.items()}
    if a.only:
        strings = json.loads((a.out / "strings.json").read_text(encoding="utf-8"))
    else:
        drawn = strings
        strings = [text for text in drawn if not any(breaks(t, text) for t in tokenizers.values())]
        if len(strings) < len(drawn):
            print(f"left out: {len(drawn) - len(strings)} texts at which `tokenizers` panics")
        write("strings.json", strings)
    for name, value in values.items():
        write(f"{name}.json", value)
        tokenizer = tokenizers[name]
        write(f"{name}.expected.json", expected(tokenizer, strings, a.seed))
        print(f"{name}: {tokenizer.get_vocab_size()} tokens, {len(strings)} texts")


if __name__ == "__main__":
    main()
