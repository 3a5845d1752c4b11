// A program with everything that a text can have, and the error from reading a text.
#pragma once

#include <string>

#include "dsl/ir/function.h"
#include "dsl/ir/text/text.h"
#include "runtime/base/error.h"

namespace tilewright::ir::testing_text {

inline std::string error_of(const std::string& text) {
  try {
    parse(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// One of every kind of immediate, type and structure.
inline const char* const everything = R"(func @every.thing(%x: ptr<f16>, %n: i64, %go: bool) {
  %3 = arange -4 to 12 : i32[16]
  %4 = program_id 2 : i64
  %5 = constant 16 : i64
  %6 = constant 1 : i64
  %7 = make_desc %x, %n, %5, %5, %6 : desc<f16, 2>
  %8 = load_desc %7, %4, %4, [16x8] no_allocate : f16[16x8]
  prefetch_desc %7, %4, %4, [16x8]
  %9 = permute %8, (1, 0) : f16[8x16]
  %10 = cast %9, f32 : f32[8x16]
  %11 = reduce %10, max 0 : f32[16]
  %12 = expand_dims %11, 1 : f32[16x1]
  %13 = broadcast %12, [16x8] : f32[16x8]
  %14 = reshape %13, [128] : f32[128]
  store_desc %7, %8, %4, %4, wt
  %15 = splat %x, [16] : ptr<f16>[16]
  %16 = offset %15, %3 : ptr<f16>[16]
  %17 = load %16, evict_last : f16[16]
  store %16, %17
  %30, %31 = loop %4 to %n step %6 index %18 with (%19 = %11, %20 = %4) {
    %21 = if %go {
      %22 = add %19, %19 : f32[16]
      yield %22
    } else {
      yield %19
    } : f32[16]
    yield %21, %18
  } : f32[16], i64
  if %go {
    yield
  } else {
    yield
  }
}
)";

}  // namespace tilewright::ir::testing_text
