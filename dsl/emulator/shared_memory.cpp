#include "dsl/emulator/shared_memory.h"

#include <sys/mman.h>

#include <cstring>

#include "runtime/base/error.h"

namespace tilewright::dsl::emulator {

SharedMemory::SharedMemory() {
  void* memory = mmap(nullptr, 2 * arena_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  require(memory != MAP_FAILED, "[emulator] no memory below 4 GB for a block's shared memory");
  memory_ = static_cast<std::byte*>(memory);
  auto address = reinterpret_cast<std::uintptr_t>(memory);
  auto mask = static_cast<std::uintptr_t>(arena_bytes) - 1;
  base_ = memory_ + (((address + mask) & ~mask) - address);
}

SharedMemory::~SharedMemory() { munmap(memory_, 2 * arena_bytes); }

void SharedMemory::reset(std::int64_t bytes, bool keep_histories) {
  require(bytes >= 0 && bytes <= arena_bytes, "[emulator] a block asks for ", bytes,
          " bytes of shared memory; at most ", arena_bytes, " are there");
  bytes_ = bytes;
  std::memset(base_, 0xFF, static_cast<std::size_t>(bytes));
  histories_.assign(keep_histories ? static_cast<std::size_t>(bytes) : 0, History{});
}

std::int64_t SharedMemory::offset(const void* address) const {
  return static_cast<const std::byte*>(address) - base_;
}

bool SharedMemory::contains(const void* address, std::int64_t bytes) const {
  std::int64_t first = offset(address);
  return first >= 0 && first + bytes <= bytes_;
}

SharedMemory::History* SharedMemory::histories(const void* address) {
  return histories_.empty() ? nullptr : histories_.data() + offset(address);
}

Collision SharedMemory::collision(AccessMode access, const History& h, int thread,
                                  const Clocks& clocks) {
  if (h.is_pending) return {"an asynchronous write of it is not finished", h.writer, h.write_site};
  if (access != AccessMode::write && !h.is_written) return {"it was never written"};
  bool ordered_write = h.write_time == 0 || (access == AccessMode::atomic && h.is_atomic) ||
                       clocks.happened_before(h.writer, h.write_time, thread);
  if (!ordered_write) return {"race with a write", h.writer, h.write_site};
  if (access == AccessMode::read) return {};
  if (h.pending_reads > 0)
    return {"an asynchronous read of it is not finished", h.readers[0].thread, h.readers[0].site};
  for (const Reader& reader : h.readers)
    if (reader.time != 0 && !clocks.happened_before(reader.thread, reader.time, thread))
      return {"race with a read", reader.thread, reader.site};
  return {};
}

void SharedMemory::record_read(History& h, int thread, int site, Time time) {
  if (h.readers[0].time != 0 && h.readers[0].thread != thread) h.readers[1] = h.readers[0];
  h.readers[0] = {time, static_cast<std::uint16_t>(thread), static_cast<std::uint16_t>(site)};
}

void SharedMemory::record(AccessMode access, History& h, int thread, int site, Time now) {
  if (access == AccessMode::read) {
    record_read(h, thread, site, now);
    return;
  }
  h.write_time = now;
  h.writer = static_cast<std::uint16_t>(thread);
  h.write_site = static_cast<std::uint16_t>(site);
  h.is_written = true;
  h.is_atomic = access == AccessMode::atomic;
  h.by_engine = false;
  h.readers = {};
}

Collision SharedMemory::access(AccessMode access, const void* address, int bytes, int thread,
                               int site, const Clocks& clocks) {
  History* h = histories(address);
  if (!h) return {};
  Time now = clocks.now(thread);
  History before, after;
  for (int i = 0; i < bytes; ++i, ++h) {
    // Most often the bytes of one access have one history.
    if (i > 0 && std::memcmp(h, &before, sizeof before) == 0) {
      *h = after;
      continue;
    }
    if (Collision found = collision(access, *h, thread, clocks); !found.what.empty()) return found;
    before = *h;
    record(access, *h, thread, site, now);
    after = *h;
  }
  return {};
}

Collision SharedMemory::begin_write(std::byte* address, int bytes, int thread, int site,
                                    const Clocks& clocks) {
  Collision found = access(AccessMode::write, address, bytes, thread, site, clocks);
  if (!found.what.empty()) return found;
  std::memset(address, 0xFF, static_cast<std::size_t>(bytes));
  if (History* h = histories(address))
    for (int i = 0; i < bytes; ++i) h[i].is_pending = true;
  return {};
}

void SharedMemory::end_write(const void* address, int bytes, int writer, int site,
                             const Clocks& clocks) {
  History* h = histories(address);
  if (!h) return;
  for (int i = 0; i < bytes; ++i, ++h) {
    *h = {};
    h->write_time = clocks.now(writer);
    h->writer = static_cast<std::uint16_t>(writer);
    h->write_site = static_cast<std::uint16_t>(site);
    h->is_written = true;
    h->by_engine = clocks.is_engine(writer);
  }
}

Collision SharedMemory::begin_read(const void* address, int bytes, int thread, int site,
                                   const Clocks& clocks) {
  Collision found = access(AccessMode::read, address, bytes, thread, site, clocks);
  History* h = histories(address);
  if (!found.what.empty() || !h) return found;
  for (int i = 0; i < bytes; ++i, ++h) {
    if (!h->by_engine && !clocks.is_fenced(h->writer, h->write_time))
      return {"it was written without fence_proxy_async after", h->writer, h->write_site};
    ++h->pending_reads;
  }
  return {};
}

void SharedMemory::end_read(const void* address, int bytes) {
  if (History* h = histories(address))
    for (int i = 0; i < bytes; ++i) --h[i].pending_reads;
}

}  // namespace tilewright::dsl::emulator
