// All words that Triton reaches in NVIDIA's libdevice by name (tl.extern_elementwise and
// triton.language.extra.libdevice). They are formulas over the words of the language: they run on
// every device, in the interpreter too, and their accuracy is ours to state.
#pragma once

#include "dsl/language/words/libdevice/bits.h"
#include "dsl/language/words/libdevice/elementary.h"
#include "dsl/language/words/libdevice/floats.h"
#include "dsl/language/words/libdevice/special.h"
