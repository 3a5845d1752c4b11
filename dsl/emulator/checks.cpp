// The checks of what a thread touches: place, alignment, history.
#include "dsl/emulator/cluster.h"
#include "dsl/emulator/known_memory.h"

namespace tilewright::dsl::emulator {

void ThreadBlock::check_shared_place(const Call& call, const void* address, std::int64_t bytes,
                                     int alignment) const {
  if (!shared_.contains(address, bytes))
    call.block.fault(call.thread, call.site,
                     concat("out of bounds: bytes ", shared_.offset(address), " to ",
                            shared_.offset(address) + bytes, " of a shared memory of ",
                            shared_.bytes(), " bytes"));
  const NotedBytes& noted = call.site.noted;
  if (!noted.contain(shared_.offset(address), bytes))
    call.block.fault(
        call.thread, call.site,
        concat("touches shared address ", shared_.offset(address), "; it was noted to touch ",
               noted.begin, " to ", noted.end, ", in one of ", noted.stages, " stages of ",
               noted.stage_bytes, " bytes"));
  if (shared_.offset(address) % alignment != 0)
    call.block.fault(call.thread, call.site,
                     concat("misaligned: shared address ", shared_.offset(address),
                            " must be a multiple of ", alignment));
}

void ThreadBlock::check_global(const Call& call, const void* address, std::int64_t bytes,
                               int alignment) const {
  if (reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(alignment) != 0)
    fault(call.thread, call.site,
          concat("misaligned: global address ", address, " must be a multiple of ", alignment));
  const KnownMemory* known = known_memory();
  if (known != nullptr && !known->contains(address, bytes))
    fault(call.thread, call.site, known->fault(address));
  const auto& ranges = kernel().options.ranges;
  if (ranges && !ranges->contains(address, bytes))
    fault(call.thread, call.site,
          concat("out of bounds: ", bytes, " bytes of global memory at ", address,
                 " are in no registered range"));
}

void ThreadBlock::raise_if(const Collision& collision, const Call& call, AccessMode access,
                           const void* address) const {
  if (collision.what.empty()) return;
  std::string text = concat(
      access == AccessMode::read ? "reads" : "writes", " shared address ", shared_.offset(address),
      &call.block == this ? "" : concat(" of the block of rank ", rank_), ": ", collision.what);
  if (collision.thread >= 0) {
    const CallSite& other = kernel().sites[static_cast<std::size_t>(collision.site)];
    text += " by " + call.block.describe_thread(collision.thread);
    text += concat(" at ", other.operation);
    if (!other.location.empty()) text += concat(" (", other.location, ")");
  }
  if (collision.what == "it was never written") text += " (uninitialised shared memory)";
  call.block.fault(call.thread, call.site, text);
}

void ThreadBlock::access_shared(const Call& call, AccessMode access, const void* address, int bytes,
                                int alignment) {
  check_shared_place(call, address, bytes, alignment);
  raise_if(shared_.access(access, address, bytes, call.thread.number, call.site.index, clocks()),
           call, access, address);
  call.block.count(call, AccessCounter::Memory::shared, address, bytes);
}

void ThreadBlock::count(const Call& call, AccessCounter::Memory memory, const void* address,
                        int bytes) {
  if (kernel().options.report) counter_.note(call.site, call.thread.index, memory, address, bytes);
}

}  // namespace tilewright::dsl::emulator
