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
#include "dsl/language/kernel.h"
#include "dsl/language/tile.h"
#include "dsl/launch/compile.h"
#include "dsl/launch/gpu_host.h"
#include "dsl/target/target.h"
#include "graph/compile/compile.h"
#include "graph/compile/region.h"
#include "graph/compile/sizes/size_marks.h"
#include "graph/functions/convolving/convolution.h"
#include "graph/functions/convolving/padding.h"
#include "graph/functions/dlpack.h"
#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/indexing/embedding_bag.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/indexing/histograms.h"
#include "graph/functions/indexing/scattering.h"
#include "graph/functions/indexing/scatters.h"
#include "graph/functions/indexing/searching.h"
#include "graph/functions/indexing/strided_parts.h"
#include "graph/functions/log.h"
#include "graph/functions/ordering/sort.h"
#include "graph/functions/pointwise/activations.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/pointwise/special.h"
#include "graph/functions/quantized.h"
#include "graph/functions/reducing/class_losses.h"
#include "graph/functions/reducing/cumulative.h"
#include "graph/functions/reducing/differences.h"
#include "graph/functions/reducing/distances.h"
#include "graph/functions/reducing/element_losses.h"
#include "graph/functions/reducing/norms.h"
#include "graph/functions/reducing/products.h"
#include "graph/functions/reducing/reductions.h"
#include "graph/tensor/tensor.h"
#include "models/decoder/attention.h"
#include "models/decoder/decoder.h"
#include "models/decoder/language_model.h"
#include "models/exported/exported_module.h"
#include "models/generate/generate.h"
#include "models/layers/compile_regions.h"
#include "models/layers/containers.h"
#include "models/layers/layers.h"
#include "models/layers/module.h"
#include "models/tokenizer/tokenizer.h"
#include "models/weights/safetensors.h"
#include "models/weights/weights.h"
#include "runtime/artifact.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/buffer.h"
#include "runtime/cpu/parallel.h"

#endif
