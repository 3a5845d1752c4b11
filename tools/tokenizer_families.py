"""Tokenizers in the forms that families of language models use, untrained, for tokenizer_forms.py."""
import json

from tokenizers import (
    AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers)

from tokenizer_parts import (
    MARK, Form, bpe, byte_level, byte_tokens, insert_bytes, old_gpt2, old_metaspace, roberta, sentence_decoder,
    sequence_of, special, split)

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


def unigram_forms(charsmap):
    """Forms of Unigram models, by name; `charsmap` is a precompiled map in base64."""
    def trainer(size, names):
        return trainers.UnigramTrainer(vocab_size=size, special_tokens=names, unk_token="<unk>",
                                       show_progress=False)

    def with_map(*others):
        """Puts the map, which the library makes of bytes alone, before other normalizers."""
        def edit(value):
            steps = [{"type": "Precompiled", "precompiled_charsmap": charsmap}]
            steps += [json.loads(step.__getstate__()) for step in others]
            value["normalizer"] = steps[0] if len(steps) == 1 else {"type": "Sequence", "normalizers": steps}
        return edit

    def with_bytes(value):
        with_map(normalizers.Replace(Regex(" {2,}"), " "))(value)
        names = {name for name, _ in value["model"]["vocab"]}
        value["model"]["vocab"] += [[name, -20 - i / 8] for i, name in enumerate(byte_tokens()) if name not in names]
        value["model"]["byte_fallback"] = True

    marks = special("<pad>", "</s>", "<unk>")
    pieces = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(MARK, "always")])
    return {
        "t5": Form(models.Unigram(), pieces, None, decoders.Metaspace(MARK, "always"), marks,
                   post=sequence_of(None, "</s>"), trainer=trainer),
        "xlm_r": Form(models.Unigram(), pieces, None, decoders.Metaspace(MARK, "always"),
                      special("<s>", "<pad>", "</s>", "<unk>") + special("<mask>", lstrip=True),
                      post=roberta("<s>", "</s>"), trainer=trainer, edit=with_map()),
        "unigram_bytes": Form(models.Unigram(), pre_tokenizers.Metaspace(MARK, "first", False), None,
                              sentence_decoder(True), marks, trainer=trainer, edit=with_bytes),
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
