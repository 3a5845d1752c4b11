// A library for LD_PRELOAD that lets the n-th call of one kind fail, as a disk, a full file system
// or a limit would. It tells the calls apart by what they do, not by their names: open64 and fopen
// are both "open". The streams (0 to 2) are left out: they are another drill.
//
//   DRILL_FAULT="write 3 28 once"   the third write fails with errno 28; "on": and all after it
//   DRILL_FAULT="room 5000"         writes beyond 5000 bytes in all fail with ENOSPC
//   DRILL_FAULT="killlog 2"         SIGKILL at the second write to a database's log
//   DRILL_COUNTS=FILE               at the end: a line a kind, with how many calls there were
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>

namespace {

enum Kind { opening, reading, writing, syncing, renaming, mapping, kinds };
constexpr const char* names[] = {"open", "read", "write", "sync", "rename", "mmap"};

struct Plan {
  int kind = -1;
  long at = 0, room = -1, log_writes = -1;
  int error = 0;
  bool is_lasting = false;
};

std::atomic<long> counts[kinds], written, log_writes;

// Read at the first call, which may be before any constructor of this library has run.
const Plan& plan() {
  static const Plan made = [] {
    Plan plan;
    const char* text = getenv("DRILL_FAULT");
    char word[16] = "", mode[16] = "";
    if (text == nullptr) return plan;
    if (sscanf(text, "room %ld", &plan.room) == 1) return plan;
    if (sscanf(text, "killlog %ld", &plan.log_writes) == 1) return plan;
    if (sscanf(text, "%15s %ld %d %15s", word, &plan.at, &plan.error, mode) != 4) abort();
    for (int kind = 0; kind < kinds; ++kind)
      if (strcmp(word, names[kind]) == 0) plan.kind = kind;
    if (plan.kind < 0) abort();
    plan.is_lasting = strcmp(mode, "on") == 0;
    return plan;
  }();
  return made;
}

// Counts the call; whether it must fail, with errno set.
bool fails(Kind kind) {
  long number = ++counts[kind];
  const Plan& p = plan();
  if (p.kind != kind || (p.is_lasting ? number < p.at : number != p.at)) return false;
  errno = p.error;
  return true;
}

bool is_stream(int fd) { return fd <= STDERR_FILENO; }

void die_at_log(int fd) {
  if (plan().log_writes < 0) return;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 4 || memcmp(path + length - 4, "-wal", 4) != 0) return;
  if (++log_writes == plan().log_writes) kill(getpid(), SIGKILL);
}

bool fails_to_write(int fd, size_t size) {
  if (is_stream(fd)) return false;
  die_at_log(fd);
  if (fails(writing)) return true;
  if (plan().room < 0 || (written += static_cast<long>(size)) <= plan().room) return false;
  errno = ENOSPC;
  return true;
}

int open_at(int folder, const char* path, int flags, mode_t mode) {
  if (fails(opening)) return -1;
  return static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}

FILE* open_file(const char* symbol, const char* path, const char* mode) {
  if (fails(opening)) return nullptr;
  using Open = FILE* (*)(const char*, const char*);
  return reinterpret_cast<Open>(dlsym(RTLD_NEXT, symbol))(path, mode);
}

mode_t mode_of(int flags, va_list rest) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
}

ssize_t sync_with(long call, int fd) {
  if (fails(syncing)) return -1;
  return syscall(call, fd);
}

void* map(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
  bool is_file = fd >= 0;
  if (is_file && fails(mapping)) return reinterpret_cast<void*>(-1);
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, size, protection, flags, fd, offset));
}

__attribute__((destructor)) void tell_counts() {
  const char* path = getenv("DRILL_COUNTS");
  if (path == nullptr) return;
  int fd =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0666));
  for (int kind = 0; kind < kinds; ++kind)
    dprintf(fd, "%s %ld\n", names[kind], counts[kind].load());
  close(fd);
}

}  // namespace

extern "C" {

#define DRILL_OPEN(name)                         \
  int name(const char* path, int flags, ...) {   \
    va_list rest;                                \
    va_start(rest, flags);                       \
    mode_t mode = mode_of(flags, rest);          \
    va_end(rest);                                \
    return open_at(AT_FDCWD, path, flags, mode); \
  }
#define DRILL_OPEN_AT(name)                                \
  int name(int folder, const char* path, int flags, ...) { \
    va_list rest;                                          \
    va_start(rest, flags);                                 \
    mode_t mode = mode_of(flags, rest);                    \
    va_end(rest);                                          \
    return open_at(folder, path, flags, mode);             \
  }
DRILL_OPEN(open)
DRILL_OPEN(open64)
DRILL_OPEN_AT(openat)
DRILL_OPEN_AT(openat64)
FILE* fopen(const char* path, const char* mode) { return open_file("fopen", path, mode); }
FILE* fopen64(const char* path, const char* mode) { return open_file("fopen64", path, mode); }

ssize_t read(int fd, void* to, size_t size) {
  if (!is_stream(fd) && fails(reading)) return -1;
  return syscall(SYS_read, fd, to, size);
}
ssize_t pread(int fd, void* to, size_t size, off_t at) {
  if (fails(reading)) return -1;
  return syscall(SYS_pread64, fd, to, size, at);
}
ssize_t pread64(int fd, void* to, size_t size, off64_t at) { return pread(fd, to, size, at); }

ssize_t write(int fd, const void* from, size_t size) {
  if (fails_to_write(fd, size)) return -1;
  return syscall(SYS_write, fd, from, size);
}
ssize_t pwrite(int fd, const void* from, size_t size, off_t at) {
  if (fails_to_write(fd, size)) return -1;
  return syscall(SYS_pwrite64, fd, from, size, at);
}
ssize_t pwrite64(int fd, const void* from, size_t size, off64_t at) {
  return pwrite(fd, from, size, at);
}
ssize_t writev(int fd, const iovec* parts, int count) {
  size_t size = 0;
  for (int i = 0; i < count; ++i) size += parts[i].iov_len;
  if (fails_to_write(fd, size)) return -1;
  return syscall(SYS_writev, fd, parts, count);
}

int fsync(int fd) { return static_cast<int>(sync_with(SYS_fsync, fd)); }
int fdatasync(int fd) { return static_cast<int>(sync_with(SYS_fdatasync, fd)); }
int rename(const char* from, const char* to) noexcept {
  if (fails(renaming)) return -1;
  return static_cast<int>(syscall(SYS_rename, from, to));
}
void* mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  return map(address, size, protection, flags, fd, offset);
}
void* mmap64(void* address, size_t size, int protection, int flags, int fd,
             off64_t offset) noexcept {
  return map(address, size, protection, flags, fd, offset);
}

}  // extern "C"
