"""Cases of ONNX models as entries of a zip: the model, its inputs, and what ONNX Runtime gives for them,
as the README.md of tests/models/onnx says."""
import os
import zipfile

import numpy as np
import onnxruntime
from onnx import numpy_helper


def whole(value):
    return np.array(value, dtype=np.int64)


def flag(value):
    return np.array(value, dtype=bool)


def message(number, content):
    size, length = len(content), b""
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def as_bytes(array):
    return numpy_helper.from_array(np.asarray(array)).SerializeToString()


def array_of(output):
    is_map = isinstance(output, list)
    return np.array([list(row.values()) for row in output], np.float32) if is_map else output


def write(out, models, optimises=True):
    count = 0
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, model, rows in models:
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 3
            if not optimises:
                options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            session = onnxruntime.InferenceSession(model.SerializeToString(), options)
            names = [each.name for each in session.get_inputs()]
            for i, row in enumerate(rows):
                outputs = session.run(None, dict(zip(names, row)))
                case = message(1, model.SerializeToString())
                case += b"".join(message(2, as_bytes(each)) for each in row)
                case += b"".join(message(3, as_bytes(array_of(each))) for each in outputs)
                entry = zipfile.ZipInfo(f"{name}_{i}" if len(rows) > 1 else name,
                                        (1980, 1, 1, 0, 0, 0))
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, case, compresslevel=9)
                count += 1
    print(f"{count} cases, {os.path.getsize(out)} bytes")
