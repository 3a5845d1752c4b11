// Everything that a program which uses the library needs, in one include.
//
//   #include <tilewright/tilewright.h>
//
// The headers below and what they include are the public ones: the install step takes exactly those
// and puts them under <tilewright/...>. Separate from the rooms because it sees all of them.
#pragma once

#if __cplusplus < 202002L
#error "Tilewright needs C++20 or later: compile with -std=c++20"
#else

#include "autotune/kernel_tuner.h"
#include "dsl/compile.h"
#include "dsl/gpu_host.h"
#include "dsl/kernel.h"
#include "dsl/target.h"
#include "dsl/tile.h"
#include "graph/compile.h"
#include "graph/dlpack.h"
#include "graph/quantized.h"
#include "graph/tensor.h"
#include "models/attention.h"
#include "models/containers.h"
#include "models/generate.h"
#include "models/decoder.h"
#include "models/language_model.h"
#include "models/layers.h"
#include "models/module.h"
#include "models/safetensors.h"
#include "models/tokenizer.h"
#include "models/weights.h"
#include "runtime/artifact.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/buffer.h"
#include "runtime/parallel.h"

#endif
