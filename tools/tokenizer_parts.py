"""Parts of tokenizers: a form that is trained and written, templates, decoders, and edits that write
a file as older versions did. For tokenizer_families.py."""
import json

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

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
