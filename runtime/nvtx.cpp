#include "runtime/nvtx.h"

#ifdef TILEWRIGHT_NVTX
#include <nvtx3/nvToolsExt.h>

#include "runtime/base/env.h"
#include "runtime/base/error.h"
#endif

namespace tilewright {

#ifdef TILEWRIGHT_NVTX

namespace detail {
const bool profiled = !env::nvtx_injection().empty();
}

namespace {

nvtxDomainHandle_t domain() {
  static nvtxDomainHandle_t domain = nvtxDomainCreateA("tilewright");
  return domain;
}

}  // namespace

void push_nvtx_range(const char* kind, std::string_view name) {
  std::string message = concat(kind, ": ", name);
  nvtxEventAttributes_t range{};
  range.version = NVTX_VERSION;
  range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  range.messageType = NVTX_MESSAGE_TYPE_ASCII;
  range.message.ascii = message.c_str();
  nvtxDomainRangePushEx(domain(), &range);
}

void pop_nvtx_range() { nvtxDomainRangePop(domain()); }

#else

namespace detail {
const bool profiled = false;
}

void push_nvtx_range(const char*, std::string_view) {}
void pop_nvtx_range() {}

#endif

}  // namespace tilewright
