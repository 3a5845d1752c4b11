// The types of values in ONNX files: those of a graph's inputs, and declarations of others.
#pragma once

#include <string_view>

#include "models/onnx/file/wire.h"
#include "models/onnx/program/declared.h"
#include "models/programs/signature.h"

namespace tilewright::onnx {

std::string_view value_name(Fields value);

// An input of a graph. Raises `Error` if it is no tensor, or of a dtype that this library lacks.
programs::SignatureInput read_input(Fields value, const Place& place);

// The declaration of a value. Types that are no tensors, and dtypes that this library lacks, are
// left out.
Declared read_declared(Fields value, const Place& place);

}  // namespace tilewright::onnx
