#!/usr/bin/env python3
"""Writes tokenizer.json in the forms that language models use, and what `tokenizers` makes of texts.

  tools/tokenizer_forms.py OUT --text FILE [--strings 10000] [--vocabulary 2000] [--seed 1]

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

Characters whose properties changed between the versions of Unicode that are compared are left out:
`tokenizers` 0.23 has tables from 8.0 (punctuation) to 16.0 (its regular expressions), PCRE2 10.42 has
14.0, utf8proc 2.8 has 15.0.
"""
import argparse
import json
import pathlib
import random
import unicodedata

from tokenizers import (
    AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers)

OTHER_LANGUAGES = """\
Быть или не быть, вот в чём вопрос. Der Rest ist Schweigen; größer, süß, Straße. Être ou ne pas être,
voilà la question. ¿Qué es la vida? Un frenesí. 生存还是毁灭,这是一个值得考虑的问题。生きるべきか死ぬべきか、
それが問題だ。カタカナ 죽느냐 사느냐, 그것이 문제로다. أكون أو لا أكون، هذا هو السؤال. होना या न होना, यही सवाल है।
Να ζει κανείς ή να μη ζει. เป็นหรือไม่เป็น 😀 👩‍👩‍👧 🇩🇪 1234567890 3.14 x = y + 42; return (a[i] != b);
"""

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
          r"|\s*[\r\n]|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
            r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")

MARK = "▁"


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(pattern, behavior, invert)


def byte_level(prefix=False, regex=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=regex)


def special(*names, **flags):
    return [AddedToken(name, special=True, normalized=False, **flags) for name in names]


class Form:
    """A tokenizer in the making. `train` fills its model; `added` come after the vocabulary."""

    def __init__(self, model, pre_tokenizer=None, normalizer=None, decoder=None, specials=(), added=(),
                 alphabet=(), post=None, trainer=None, edit=None):
        self.tokenizer = Tokenizer(model)
        if pre_tokenizer:
            self.tokenizer.pre_tokenizer = pre_tokenizer
        if normalizer:
            self.tokenizer.normalizer = normalizer
        if decoder:
            self.tokenizer.decoder = decoder
        self.specials, self.added, self.alphabet = list(specials), list(added), list(alphabet)
        self.post, self.trainer, self.edit = post, trainer, edit

    def train(self, texts, vocabulary):
        if self.trainer is None:
            trainer = trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=self.specials,
                                          initial_alphabet=self.alphabet, show_progress=False)
        else:
            trainer = self.trainer(vocabulary, self.specials)
        self.tokenizer.train_from_iterator(texts, trainer)
        if self.added:
            self.tokenizer.add_tokens(self.added)
        if self.post:
            self.tokenizer.post_processor = self.post(self.tokenizer)
        value = json.loads(self.tokenizer.to_str())
        if self.edit:
            self.edit(value)
        return value


def sequence_of(bos=None, eos=None):
    """TemplateProcessing in a Sequence behind ByteLevel, as Llama 3 has it."""
    def make(tokenizer):
        names = [name for name in (bos, eos) if name]
        single = " ".join(([bos] if bos else []) + ["$A"] + ([eos] if eos else []))
        template = processors.TemplateProcessing(
            single=single, special_tokens=[(name, tokenizer.token_to_id(name)) for name in names])
        return processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    return make


def roberta(begin, end, kind=processors.RobertaProcessing):
    return lambda tokenizer: kind((end, tokenizer.token_to_id(end)),
                                  (begin, tokenizer.token_to_id(begin)))


def byte_tokens():
    return [f"<0x{byte:02X}>" for byte in range(256)]


def insert_bytes(value):
    """Byte tokens after the special ones, which no trainer makes."""
    model = value["model"]
    names = sorted(model["vocab"], key=model["vocab"].get)
    count = sum(token["special"] for token in value["added_tokens"])
    names = names[:count] + byte_tokens() + names[count:]
    model["vocab"] = {name: i for i, name in enumerate(names)}
    for token in value["added_tokens"]:
        if token["content"] in model["vocab"]:
            token["id"] = model["vocab"][token["content"]]
        else:
            token["id"] += 256
    model["byte_fallback"] = True


def old_metaspace(value):
    """As files before `prepend_scheme` had it, with merges as strings."""
    for name in ("pre_tokenizer", "decoder"):
        value[name] = {"type": "Metaspace", "replacement": MARK, "add_prefix_space": True}
    value["model"]["merges"] = [" ".join(pair) for pair in value["model"]["merges"]]


def old_gpt2(value):
    """As files of that time: a model without type, affixes that are empty, merges as strings."""
    model = value["model"]
    del model["type"], model["byte_fallback"], model["ignore_merges"]
    model["continuing_subword_prefix"] = model["end_of_word_suffix"] = ""
    model["merges"] = [" ".join(pair) for pair in model["merges"]]
    value["pre_tokenizer"].pop("use_regex")


def bpe(**options):
    return models.BPE(**options)


def sentence_decoder(strip):
    steps = [decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse()]
    return decoders.Sequence(steps + ([decoders.Strip(" ", 1, 0)] if strip else []))


def byte_forms():
    """Byte-level forms, by name."""
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    level = {"decoder": decoders.ByteLevel(), "alphabet": alphabet}
    llama = special("<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>")
    chat = special("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    think = [AddedToken("<think>", normalized=False), AddedToken("</think>", normalized=False),
             AddedToken("<tool_call>", normalized=True)]
    byte_post = lambda tokenizer: processors.ByteLevel(trim_offsets=False)  # noqa: E731
    in_turn = pre_tokenizers.Sequence
    return {
        "gpt2": Form(bpe(), byte_level(regex=True), specials=special("<|endoftext|>"), post=byte_post,
                     edit=old_gpt2, **level),
        "llama3": Form(bpe(ignore_merges=True), in_turn([split(Regex(LLAMA3)), byte_level()]),
                       specials=llama, post=sequence_of("<|begin_of_text|>"), **level),
        "qwen": Form(bpe(), in_turn([split(Regex(QWEN)), byte_level()]), normalizers.NFC(),
                     specials=chat, added=think, post=byte_post, **level),
        "cl100k": Form(bpe(), in_turn([split(Regex(CL100K), "removed", True), byte_level()]),
                       specials=chat, **level),
        "o200k": Form(bpe(ignore_merges=True), in_turn([split(Regex(O200K)), byte_level()]),
                      specials=chat, post=sequence_of("<|im_start|>", "<|im_end|>"), **level),
        "smollm": Form(bpe(), in_turn([pre_tokenizers.Digits(True), byte_level(regex=True)]),
                       specials=chat, **level),
        "deepseek": Form(bpe(), in_turn([split(Regex(r"\p{N}{1,3}")), split(Regex("[一-龥぀-ゟ゠-ヿ]+")),
                                         split(Regex(DEEPSEEK)), byte_level()]),
                         specials=special("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"),
                         post=sequence_of("<｜begin▁of▁sentence｜>"), **level),
        "falcon": Form(bpe(), in_turn([pre_tokenizers.Punctuation("contiguous"), byte_level(regex=True),
                                       pre_tokenizers.Digits(False), split(Regex("[0-9][0-9][0-9]"))]),
                       specials=special("<|endoftext|>", ">>TITLE<<"), **level),
        "starcoder": Form(bpe(), in_turn([pre_tokenizers.Digits(True), byte_level(regex=True)]),
                          specials=special("<|endoftext|>", "<fim_prefix>"),
                          added=[AddedToken(" " * n, normalized=True) for n in range(2, 6)], **level),
        "roberta": Form(bpe(), byte_level(prefix=True, regex=True), post=roberta("<s>", "</s>"),
                        specials=special("<s>", "</s>") + special("<mask>", lstrip=True), **level),
    }


def other_forms():
    """Forms over characters, by name."""
    marks = special("<unk>", "<s>", "</s>")
    in_turn, letters = pre_tokenizers.Sequence, [MARK]
    prepended = normalizers.Sequence([normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)])
    words = in_turn([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(True)])
    clip = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "),
                                 normalizers.Lowercase()])
    clip_words = Regex(r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+")
    clip_ends = special("<|startoftext|>", "<|endoftext|>")
    strips = [AddedToken("[left]", lstrip=True, normalized=True), AddedToken("[RIGHT]", rstrip=True),
              AddedToken("king", single_word=True), AddedToken("lord and", normalized=False),
              AddedToken("[BOTH]", lstrip=True, rstrip=True, single_word=True, normalized=False)]
    behaviours = in_turn([
        split(" ", "merged_with_next"), split(Regex("[,;]"), "merged_with_previous"),
        split(Regex(r"\p{Lu}"), "merged_with_next"), split(Regex(r"\d"), "contiguous"),
        split("and", "removed"), split(Regex(r"[a-z]+|\W(?=\w)"), "merged_with_previous", True),
        split(Regex(r"(?i)the|(?<=t)h?\b|^x*|[\h&-]{2,}"), "isolated")])
    bert = normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()])
    word_piece = lambda size, names: trainers.WordPieceTrainer(  # noqa: E731
        vocab_size=size, special_tokens=names, show_progress=False)
    bert_ends = special("[UNK]", "[CLS]", "[SEP]")

    def bert_template(tokenizer):
        return processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")])

    def published_bert(cleanup=True, **options):
        return Form(models.WordPiece(unk_token="[UNK]"), pre_tokenizers.BertPreTokenizer(),
                    normalizers.BertNormalizer(**options), decoders.WordPiece("##", cleanup), bert_ends,
                    post=bert_template, trainer=word_piece)

    return {
        "bert_uncased": published_bert(),
        "bert_cased": published_bert(lowercase=False),
        # Every character of the normalised text in its bytes, which words of BERT's would not show.
        "bert_bytes": Form(bpe(), byte_level(), normalizers.Sequence([
                               normalizers.BertNormalizer(strip_accents=True, lowercase=False),
                               normalizers.BertNormalizer(clean_text=False, strip_accents=False,
                                                          handle_chinese_chars=False)]),
                           specials=bert_ends, decoder=decoders.ByteLevel(),
                           alphabet=pre_tokenizers.ByteLevel.alphabet()),
        "llama2": Form(bpe(unk_token="<unk>", fuse_unk=True), None, prepended, sentence_decoder(True),
                       marks, post=sequence_of("<s>"), alphabet=letters, edit=insert_bytes,
                       trainer=lambda size, names: trainers.BpeTrainer(
                           vocab_size=size, special_tokens=names, max_token_length=8,
                           initial_alphabet=[MARK], show_progress=False)),
        "mistral": Form(bpe(unk_token="<unk>", fuse_unk=True),
                        pre_tokenizers.Metaspace(MARK, "first", False), None, sentence_decoder(True),
                        marks + special("[INST]"), post=sequence_of("<s>", "</s>"), edit=insert_bytes),
        "gemma": Form(bpe(unk_token="<unk>", fuse_unk=True), split(" ", "merged_with_previous"),
                      normalizers.Replace(" ", MARK), sentence_decoder(False), marks,
                      alphabet=letters, edit=insert_bytes),
        "metaspace": Form(bpe(unk_token="<unk>"),
                          in_turn([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(MARK, "first")]),
                          None, decoders.Metaspace(MARK, "first"), marks),
        "metaspace_old": Form(bpe(unk_token="<unk>"), pre_tokenizers.Metaspace(MARK, "always"), None,
                              decoders.Metaspace(MARK, "always"), marks, edit=old_metaspace),
        "nfkc": Form(bpe(unk_token="<unk>", fuse_unk=True, continuing_subword_prefix="##"), words,
                     normalizers.Sequence([normalizers.NFKC(), normalizers.Strip(),
                                           normalizers.Replace(Regex(r" {2,}|\t"), " ")]),
                     decoders.WordPiece("##", True), marks,
                     trainer=lambda size, names: trainers.BpeTrainer(
                         vocab_size=size, special_tokens=names, continuing_subword_prefix="##",
                         show_progress=False)),
        "clip": Form(bpe(unk_token="<|endoftext|>", end_of_word_suffix="</w>"),
                     in_turn([split(clip_words, "removed", True), byte_level()]), clip,
                     decoders.BPEDecoder("</w>"), clip_ends,
                     post=roberta("<|startoftext|>", "<|endoftext|>"),
                     trainer=lambda size, names: trainers.BpeTrainer(
                         vocab_size=size, special_tokens=names, end_of_word_suffix="</w>",
                         initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)),
        "added": Form(bpe(unk_token="<unk>"), pre_tokenizers.Metaspace(MARK, "first"),
                      normalizers.Lowercase(), decoders.Metaspace(MARK, "first"), marks, added=strips),
        "behaviours": Form(bpe(unk_token="<unk>", fuse_unk=True), behaviours, None,
                           decoders.Sequence([decoders.Replace(Regex("[aeiou]{2}"), "_"),
                                              decoders.Strip("e", 0, 1), decoders.Fuse(),
                                              decoders.Strip("e", 2, 0)]), marks),
        "bert": Form(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20),
                     pre_tokenizers.BertPreTokenizer(), bert, decoders.WordPiece("##", False),
                     bert_ends,
                     post=roberta("[CLS]", "[SEP]", processors.BertProcessing),
                     trainer=word_piece),
        "words": Form(models.WordLevel(unk_token="<unk>"),
                      in_turn([pre_tokenizers.CharDelimiterSplit(","), pre_tokenizers.Whitespace(),
                               pre_tokenizers.Punctuation("merged_with_previous")]),
                      normalizers.NFKD(), None, marks,
                      trainer=lambda size, names: trainers.WordLevelTrainer(
                          vocab_size=size, special_tokens=names, show_progress=False)),
    }


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
    a = parser.parse_args()
    text = a.text.read_text(encoding="utf-8")
    training = text[:200_000].splitlines(True) + OTHER_LANGUAGES.splitlines(True) * 5
    forms = {**byte_forms(), **other_forms()}
    values = {name: form.train(training, a.vocabulary) for name, form in forms.items()}
    tokens = sorted({token["content"] for value in values.values() for token in value["added_tokens"]})
    texts = Texts(a.seed, text, tokens)
    newer = {ord(c): None for c in changed_since()}
    strings = ["", " "] + [texts.next()[: a.longest].translate(newer) for _ in range(a.strings - 2)]
    a.out.mkdir(parents=True, exist_ok=True)

    def write(name, value):
        line = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        (a.out / name).write_text(line + "\n", encoding="utf-8")

    write("strings.json", strings)
    for name, value in values.items():
        write(f"{name}.json", value)
        tokenizer = Tokenizer.from_file(str(a.out / f"{name}.json"))
        write(f"{name}.expected.json", expected(tokenizer, strings, a.seed))
        print(f"{name}: {tokenizer.get_vocab_size()} tokens, {len(strings)} texts")


if __name__ == "__main__":
    main()
