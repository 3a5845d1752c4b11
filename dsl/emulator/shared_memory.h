// The shared memory of an emulated block, and the history of each of its bytes.
//
// Before a block starts every byte is 0xFF: NaN as a floating-point number, so that reading
// uninitialised memory spreads into the result. With the checks on, each byte remembers its last
// writer and its readers, at which times of their clocks (clocks.h), and whether an asynchronous
// operation is still to write or to read it. Each access is checked against that, and an error that
// a GPU might make only once in a thousand runs is a fault in each run here.
//
// The memory lies below 4 GB, so that a shared address fits 32 bits, and begins at a multiple of
// 256 KB, so that its low 18 bits, which a wgmma descriptor holds, are an offset.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dsl/emulator/call_site.h"
#include "dsl/emulator/clocks.h"

namespace tilewright::dsl::emulator {

enum class AccessMode : std::uint8_t { read, write, atomic };

// A collision of an access of one byte; `thread` and `site` are of the other access, or -1.
struct Collision {
  std::string what;  // "" if there is no collision
  int thread = -1;
  int site = -1;
};

class SharedMemory {
 public:
  static constexpr std::int64_t arena_bytes = std::int64_t{256} << 10;

  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  void reset(std::int64_t bytes, bool keep_histories);
  std::byte* base() const { return base_; }
  std::int64_t bytes() const { return bytes_; }
  bool contains(const void* address, std::int64_t bytes) const;
  std::int64_t offset(const void* address) const;

  // One access by a thread (its number in the cluster), in order with its other accesses.
  Collision access(AccessMode access, const void* address, int bytes, int thread, int site,
                   const Clocks& clocks);

  // An asynchronous write: from when it is issued until it is finished no thread may touch the
  // bytes, which are poisoned. `writer` is the thread, or the engine, whose clock stands for its
  // end.
  Collision begin_write(std::byte* address, int bytes, int thread, int site, const Clocks& clocks);
  void end_write(const void* address, int bytes, int writer, int site, const Clocks& clocks);

  // An asynchronous read: until it is finished no thread may write the bytes. Earlier writes by
  // threads must have been fenced.
  Collision begin_read(const void* address, int bytes, int thread, int site, const Clocks& clocks);
  void end_read(const void* address, int bytes);

 private:
  struct Reader {
    Time time = 0;
    std::uint16_t thread = 0, site = 0;
  };
  struct History {
    Time write_time = 0;
    std::uint16_t writer = 0, write_site = 0;
    std::array<Reader, 2> readers;    // the last one, and the last one by another thread
    std::uint32_t pending_reads = 0;  // asynchronous
    bool is_written = false;          // ever, finished
    bool is_pending = false;          // an asynchronous write is under way
    bool is_atomic = false;           // the last write
    bool by_engine = false;           // the last write; needs no fence
  };
  static_assert(sizeof(History) == 32);  // without padding: compared as bytes
  History* histories(const void* address);
  static Collision collision(AccessMode access, const History& h, int thread, const Clocks& clocks);
  static void record(AccessMode access, History& h, int thread, int site, Time now);
  static void record_read(History& h, int thread, int site, Time time);

  std::byte* memory_;  // as it was mapped
  std::byte* base_;
  std::int64_t bytes_ = 0;
  std::vector<History> histories_;  // empty with the checks off
};

}  // namespace tilewright::dsl::emulator
