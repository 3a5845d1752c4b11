#!/usr/bin/env python3
"""Writes tests/models/onnx/cases.zip: node tests of the onnx package as one file.

usage: onnx_cases.py FOLDER OUT.zip, FOLDER being onnx/backend/test/data/node of version 1.16.2. Nothing
but Python is needed. What is left out is said in tests/models/onnx/README.md.
"""
import os
import sys
import zipfile

MOST_BYTES = 100_000
OLDEST_SET = 7
# Branches, loops, sequences, texts, training and random numbers.
LEFT_OUT = set("""Loop Scan If SequenceConstruct SequenceAt SequenceInsert SequenceErase SequenceLength
SequenceEmpty SequenceMap ConcatFromSequence SplitToSequence Optional OptionalHasElement
OptionalGetElement StringNormalizer TfIdfVectorizer StringConcat StringSplit RegexFullMatch ImageDecoder
RandomNormal Bernoulli Gradient Adam Adagrad Momentum LabelEncoder ArrayFeatureExtractor
Binarizer""".split())
OTHER_TYPES = {8, 14, 15, 21, 22}  # strings, complex numbers, those of 4 bits


def take_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Each field of a message: its number, and its integer or bytes."""
    at = 0
    while at < len(data):
        key, at = take_varint(data, at)
        if key & 7 == 0:
            value, at = take_varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                size, at = take_varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def first(data, number, missing):
    return next((value for field, value in fields(data) if field == number), missing)


def is_taken(model):
    sets = [value for field, value in fields(model) if field == 8]
    if any(first(each, 1, b"") not in (b"", b"ai.onnx") for each in sets):
        return False
    if max(first(each, 2, 0) for each in sets) < OLDEST_SET:
        return False
    for field, value in fields(first(model, 7, b"")):
        if field == 1 and first(value, 4, b"").decode() in LEFT_OUT:
            return False
        if field not in (11, 12, 13):
            continue
        kind = first(value, 2, b"")
        if any(number in (4, 9) for number, _ in fields(kind)):
            return False  # a sequence, or what may be absent
        if first(first(kind, 1, b""), 1, 0) in OTHER_TYPES:
            return False
    return True


def varint(value):
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def message(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def main(folder, out):
    count = 0
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(os.listdir(folder)):
            model = read(f"{folder}/{name}/model.onnx")
            if not is_taken(model):
                continue
            case = message(1, model)
            for number, kind in ((2, "input"), (3, "output")):
                i = 0
                while os.path.exists(path := f"{folder}/{name}/test_data_set_0/{kind}_{i}.pb"):
                    case += message(number, read(path))
                    i += 1
            if len(case) > MOST_BYTES:
                continue
            entry = zipfile.ZipInfo(f"node/{name}", (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, case, compresslevel=9)
            count += 1
    print(f"{count} cases, {os.path.getsize(out)} bytes")


main(*sys.argv[1:])
