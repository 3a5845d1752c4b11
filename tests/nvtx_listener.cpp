// A profiler for the test of NVTX: a library that NVTX loads, which writes every range to stderr.
#include <nvtx3/nvToolsExt.h>

#include <cstdio>

namespace {

int NVTX_API push(nvtxDomainHandle_t, const nvtxEventAttributes_t* range) {
  std::fprintf(stderr, "<%s>", range->message.ascii);
  return 0;
}
int NVTX_API pop(nvtxDomainHandle_t) {
  std::fprintf(stderr, "</>");
  return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t find) {
  auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(find(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0 ||
      size <= NVTX_CBID_CORE2_DomainRangePop)
    return 0;
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(&push);
  *table[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(&pop);
  return 1;
}
