#include "dsl/emulator/meanings.h"

#include <map>

#include "dsl/emulator/cluster.h"

namespace tilewright::dsl::emulator {

Meaning meaning_named(std::string_view row) {
  static const std::map<std::string_view, Meaning> table = {
#define TILEWRIGHT_DEVICE_OP(name, result, operands, effect, minimum_arch, expansion, meaning) \
  {#name, &meaning},
#include "dsl/target/device_ops.def"
#undef TILEWRIGHT_DEVICE_OP
  };
  auto found = table.find(row);
  return found == table.end() ? nullptr : found->second;
}

void check_load(const Call& call) {
  call.block.access_shared(call, AccessMode::read, call.operands[0].pointer, call.site.bytes,
                           call.site.alignment);
}

void check_store(const Call& call) {
  call.block.access_shared(call, AccessMode::write, call.operands[0].pointer, call.site.bytes,
                           call.site.alignment);
}

void check_atomic(const Call& call) {
  call.block.access_shared(call, AccessMode::atomic, call.operands[0].pointer, call.site.bytes,
                           call.site.alignment);
}

void check_cluster_load(const Call& call) {
  const std::byte* address = call.operands[0].pointer;
  call.block.cluster()
      .owner_of(call, address)
      .access_shared(call, AccessMode::read, address, call.site.bytes, call.site.alignment);
}

void check_cluster_store(const Call& call) {
  const std::byte* address = call.operands[0].pointer;
  call.block.cluster()
      .owner_of(call, address)
      .access_shared(call, AccessMode::write, address, call.site.bytes, call.site.alignment);
}

void check_global_access(const Call& call) {
  const std::byte* address = call.operands[0].pointer;
  call.block.check_global(call, address, call.site.bytes, call.site.alignment);
  call.block.count(call, AccessCounter::Memory::global, address, call.site.bytes);
}

}  // namespace tilewright::dsl::emulator
