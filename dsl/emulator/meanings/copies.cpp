// cp.async: copies from global to shared memory, finished when their group is waited for.
#include <cstring>
#include <utility>

#include "dsl/emulator/cluster.h"
#include "dsl/emulator/meanings.h"

namespace tilewright::dsl::emulator {
namespace {

void finish(ThreadBlock& block, const Thread& thread, const SharedCopy& copy) {
  auto read = static_cast<std::size_t>(copy.read_bytes);
  std::memcpy(copy.target, copy.source, read);
  std::memset(copy.target + read, 0, static_cast<std::size_t>(copy.bytes) - read);
  block.shared().end_write(copy.target, copy.bytes, thread.number, copy.site->index,
                           block.clocks());
}

}  // namespace

template <int bytes>
void cp_async(const Call& call) {
  SharedCopy copy{call.operands[0].pointer, call.operands[1].pointer, call.operands[2].i32, bytes,
                  &call.site};
  if (copy.read_bytes < 0 || copy.read_bytes > bytes)
    call.block.fault(call.thread, call.site,
                     concat("a copy of ", bytes, " bytes cannot read ", copy.read_bytes));
  call.block.check_shared_place(call, copy.target, bytes, bytes);
  if (copy.read_bytes > 0) call.block.check_global(call, copy.source, copy.read_bytes, bytes);
  call.block.raise_if(call.block.shared().begin_write(copy.target, bytes, call.thread.number,
                                                      call.site.index, call.block.clocks()),
                      call, AccessMode::write, copy.target);
  call.thread.copies.open.push_back(copy);
}
template void cp_async<4>(const Call&);
template void cp_async<8>(const Call&);
template void cp_async<16>(const Call&);

void cp_async_commit(const Call& call) {
  auto& copies = call.thread.copies;
  copies.committed.push_back(std::exchange(copies.open, {}));
}

void cp_async_wait(const Call& call) {
  auto& groups = call.thread.copies.committed;
  for (auto left = static_cast<std::size_t>(call.site.number); groups.size() > left;) {
    for (const SharedCopy& copy : groups.front()) finish(call.block, call.thread, copy);
    groups.pop_front();
  }
}

}  // namespace tilewright::dsl::emulator
