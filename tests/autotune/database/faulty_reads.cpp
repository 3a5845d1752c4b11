#include "tests/autotune/database/faulty_reads.h"

#include <atomic>
#include <cstddef>
#include <cstring>

namespace tilewright::autotune {
namespace {

std::atomic<std::int64_t> reads_to_go = 0;  // 0: none fails
std::atomic<bool> failed = false;
int failure = SQLITE_IOERR_READ;

struct FaultyFile {
  sqlite3_file base;  // first, as SQLite needs it
  sqlite3_io_methods methods;
  const sqlite3_io_methods* own;
  sqlite3_file* file() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};
static_assert(sizeof(FaultyFile) % alignof(std::int64_t) == 0);

sqlite3_vfs* disk() { return sqlite3_vfs_find("unix"); }
FaultyFile& of(sqlite3_file* file) { return *reinterpret_cast<FaultyFile*>(file); }

// Passes a call on to the disk's file.
template <auto method, typename... Arguments>
int pass(sqlite3_file* file, Arguments... arguments) {
  return (of(file).own->*method)(of(file).file(), arguments...);
}
template <auto method, typename... Arguments>
void pass_void(sqlite3_file* file, Arguments... arguments) {
  (of(file).own->*method)(of(file).file(), arguments...);
}

int read(sqlite3_file* file, void* to, int bytes, sqlite3_int64 at) {
  if (reads_to_go > 0 && --reads_to_go == 0) {
    failed = true;
    return failure;
  }
  return pass<&sqlite3_io_methods::xRead>(file, to, bytes, at);
}

int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
  FaultyFile& faulty = of(file);
  std::memset(file, 0, sizeof(FaultyFile));
  int code = disk()->xOpen(disk(), name, faulty.file(), flags, out);
  if (faulty.file()->pMethods == nullptr) return code;
  faulty.own = faulty.file()->pMethods;
  using M = sqlite3_io_methods;
  faulty.methods = {.iVersion = 2,  // without pages that are mapped
                    .xClose = pass<&M::xClose>,
                    .xRead = read,
                    .xWrite = pass<&M::xWrite>,
                    .xTruncate = pass<&M::xTruncate>,
                    .xSync = pass<&M::xSync>,
                    .xFileSize = pass<&M::xFileSize>,
                    .xLock = pass<&M::xLock>,
                    .xUnlock = pass<&M::xUnlock>,
                    .xCheckReservedLock = pass<&M::xCheckReservedLock>,
                    .xFileControl = pass<&M::xFileControl>,
                    .xSectorSize = pass<&M::xSectorSize>,
                    .xDeviceCharacteristics = pass<&M::xDeviceCharacteristics>,
                    .xShmMap = pass<&M::xShmMap>,
                    .xShmLock = pass<&M::xShmLock>,
                    .xShmBarrier = pass_void<&M::xShmBarrier>,
                    .xShmUnmap = pass<&M::xShmUnmap>,
                    .xFetch = nullptr,
                    .xUnfetch = nullptr};
  file->pMethods = &faulty.methods;
  return code;
}

sqlite3_vfs& faulty_vfs() {
  static sqlite3_vfs vfs = [] {
    sqlite3_vfs made = *disk();
    made.zName = "faulty reads";
    made.szOsFile += static_cast<int>(sizeof(FaultyFile));
    made.xOpen = open;
    made.pNext = nullptr;
    return made;
  }();
  return vfs;
}

}  // namespace

FaultyReads::FaultyReads(std::int64_t which, int code) {
  sqlite3_initialize();
  sqlite3_vfs_register(&faulty_vfs(), 1);
  failure = code;
  failed = false;
  reads_to_go = which;
}

FaultyReads::~FaultyReads() {
  reads_to_go = 0;
  sqlite3_vfs_register(disk(), 1);
}

bool FaultyReads::has_failed() const { return failed; }

}  // namespace tilewright::autotune
