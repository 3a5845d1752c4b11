#include "autotune/database/sql/libpq.h"

#include <dlfcn.h>

namespace tilewright::autotune {
namespace {

bool load(Libpq& library) {
  void* handle = ::dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return false;
#define TILEWRIGHT_LIBPQ(result, name, parameters)                               \
  library.name = reinterpret_cast<result(*) parameters>(::dlsym(handle, #name)); \
  if (library.name == nullptr) return false;
#include "autotune/database/sql/libpq.def"
#undef TILEWRIGHT_LIBPQ
  return true;
}

}  // namespace

const Libpq* libpq() {
  static Libpq library;
  static const bool is_there = load(library);
  return is_there ? &library : nullptr;
}

}  // namespace tilewright::autotune
