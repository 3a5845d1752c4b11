#!/usr/bin/env python3
"""Writes tests/models/onnx/cases.zip: node tests of the onnx package as one file.

usage: onnx_cases.py FOLDER OUT.zip, FOLDER being onnx/backend/test/data/node of version 1.16.2, whose
tests are of operator sets up to 21. Those of later sets come from the package that Python imports,
1.23, which has no such folder any more. tests/models/onnx/README.md lists the cases that are left
out.
"""
import itertools
import os
import sys
import zipfile

MOST_BYTES = 100_000
# Texts, images, training and random numbers.
LEFT_OUT = set("""StringNormalizer TfIdfVectorizer StringConcat StringSplit RegexFullMatch ImageDecoder
RandomNormal Bernoulli Gradient Adam Adagrad Momentum LabelEncoder TreeEnsemble""".split())
# Strings, complex numbers, those of 4 and of 2 bits, powers of two.
OTHER_TYPES = {8, 14, 15, 21, 22, 23, 24, 25, 26}
LATER_SETS = range(22, 25)


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
    if any(first(each, 1, b"") not in (b"", b"ai.onnx", b"ai.onnx.ml") for each in sets):
        return False
    for field, value in fields(first(model, 7, b"")):
        if field == 1 and first(value, 4, b"").decode() in LEFT_OUT:
            return False
        if field not in (11, 12, 13):
            continue
        kind = first(value, 2, b"")
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


def number(field, value):
    return varint(field << 3) + varint(value)


def node(operator, inputs, outputs, attribute=b""):
    return message(1, b"".join(message(1, name) for name in inputs)
                   + b"".join(message(2, name) for name in outputs)
                   + message(4, operator.encode()) + attribute)


def integer(name, value):
    """A node that gives a constant."""
    return node("Constant", [], [name],
                message(5, message(1, b"value_int") + number(3, value) + number(20, 2)))


def tensor_value(name, dtype):
    """A graph's input or output of any sizes."""
    return message(1, name) + message(2, message(1, number(1, dtype)))


def opened(kind, data):
    """The type of a sequence or an optional: its tensors, their dtype, whether it is a sequence,
    and whether it is optional and absent."""
    element = first(kind, 9, None)
    if element is not None:
        inner = first(element, 1, b"")
        held = {field: value for field, value in fields(data) if field in (3, 5)}
        tensors, dtype, is_sequence, _, _ = opened(inner, next(iter(held.values()), b""))
        return tensors, dtype, is_sequence, True, not held
    sequence = first(kind, 4, None)
    if sequence is not None:
        dtype = first(first(first(sequence, 1, b""), 1, b""), 1, 0)
        return [value for field, value in fields(data) if field == 3], dtype, True, False, False
    return [data], first(first(kind, 1, b""), 1, 0), False, False, False


def made(name, kind, data):
    """Nodes that make a value of tensors, which are the model's inputs instead."""
    tensors, dtype, is_sequence, may_lack, lacks = opened(kind, data)
    if lacks:
        return node("Optional", [], [name]), [], []
    names = [name + b".%d" % i for i in range(len(tensors))]
    made_of = name + b".whole" if may_lack else name
    nodes = b""
    if is_sequence:
        type_of = message(5, message(1, b"dtype") + number(3, dtype) + number(20, 2))
        nodes = node("SequenceConstruct", names, [made_of]) if names else node(
            "SequenceEmpty", [], [made_of], type_of)
    elif may_lack:
        made_of = names[0]
    if may_lack:
        nodes += node("Optional", [made_of], [name])
    return nodes, [tensor_value(each, dtype) for each in names], tensors


def taken_apart(name, kind, data):
    """Nodes that give the tensors of a value, and its length or whether it is there."""
    tensors, dtype, is_sequence, may_lack, lacks = opened(kind, data)
    if lacks:
        there = name + b".there"
        return (node("OptionalHasElement", [name], [there]), [tensor_value(there, 9)],
                [number(2, 9) + message(9, b"\0")])
    nodes, whole = b"", name
    if may_lack:
        whole = name + b".whole"
        nodes += node("OptionalGetElement", [name], [whole])
    if not is_sequence:
        return nodes, [tensor_value(whole, dtype)], tensors
    length = name + b".length"
    nodes += node("SequenceLength", [whole], [length])
    values = [tensor_value(length, 7)]
    for i in range(len(tensors)):
        place, each = name + b".place%d" % i, name + b".%d" % i
        nodes += integer(place, i) + node("SequenceAt", [whole, place], [each])
        values.append(tensor_value(each, dtype))
    return nodes, values, [number(2, 7) + message(9, len(tensors).to_bytes(8, "little"))] + tensors


def plain(model, inputs, outputs):
    """The model and its data with tensors alone going in and coming out."""
    graph = first(model, 7, b"")
    kinds = {11: iter(inputs), 12: iter(outputs)}
    before, after, values, data = b"", b"", {11: [], 12: []}, {11: [], 12: []}
    for field, value in fields(graph):
        if field not in kinds:
            continue
        name, kind, given = first(value, 1, b""), first(value, 2, b""), next(kinds[field], b"")
        if not any(each in (4, 9) for each, _ in fields(kind)):
            values[field].append(value)
            data[field].append(given)
            continue
        nodes, new, tensors = (made if field == 11 else taken_apart)(name, kind, given)
        before, after = (before + nodes, after) if field == 11 else (before, after + nodes)
        values[field] += new
        data[field] += tensors
    if not before + after:
        return model, inputs, outputs
    kept = b"".join(message(field, value) for field, value in fields(graph)
                    if field not in (11, 12, 13))
    ends = b"".join(message(field, value) for field in (11, 12) for value in values[field])
    whole = b"".join(number(field, value) if isinstance(value, int) else message(field, value)
                     for field, value in fields(model) if field != 7)
    return whole + message(7, before + kept + after + ends), data[11], data[12]


def files(folder, kind):
    found, i = [], 0
    while os.path.exists(path := f"{folder}/test_data_set_0/{kind}_{i}.pb"):
        found.append(read(path))
        i += 1
    return found


def of_folder(folder):
    for name in sorted(os.listdir(folder)):
        yield (name, read(f"{folder}/{name}/model.onnx"), files(f"{folder}/{name}", "input"),
               files(f"{folder}/{name}", "output"))


def of_package():
    """The tests of later sets that the package makes when it is asked, of the numbers that this seed
    gives; names have the operator set in them, as those of the folder may be the same. Operators
    written out as others are left out: their numbers are again those of the operator."""
    import numpy
    import onnx
    numpy.random.seed(0)
    from onnx.backend.test.case.node import collect_testcases

    def written(value, info):
        kind = info.type.WhichOneof("value")
        if isinstance(value, onnx.TensorProto):
            return value.SerializeToString()
        to_message = {"sequence_type": onnx.numpy_helper.from_list,
                      "optional_type": onnx.numpy_helper.from_optional}
        make = to_message.get(kind, onnx.numpy_helper.from_array)
        return make(value, info.name).SerializeToString()

    for case in sorted(collect_testcases(None), key=lambda case: case.name):
        sets = {each.domain: each.version for each in case.model.opset_import}
        if sets.get("") not in LATER_SETS or "_expanded" in case.name:
            continue
        inputs, outputs = case.data_sets[0]
        graph = case.model.graph
        yield (f"{case.name}_set{sets['']}", case.model.SerializeToString(),
               [written(*each) for each in zip(inputs, graph.input)],
               [written(*each) for each in zip(outputs, graph.output)])


def main(folder, out):
    count = 0
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, model, inputs, outputs in itertools.chain(of_folder(folder), of_package()):
            if not is_taken(model):
                continue
            model, inputs, outputs = plain(model, inputs, outputs)
            case = message(1, model)
            for field, data in ((2, inputs), (3, outputs)):
                case += b"".join(message(field, each) for each in data)
            if len(case) > MOST_BYTES:
                continue
            entry = zipfile.ZipInfo(f"node/{name}", (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, case, compresslevel=9)
            count += 1
    print(f"{count} cases, {os.path.getsize(out)} bytes")


main(*sys.argv[1:])
