// A library for LD_PRELOAD that lets the n-th call for memory fail, counted from the start of the
// process: malloc and its kin, under which `new` lies.
//
//   DRILL_MALLOC="1200 once"   the 1200th call gives nothing; "on": nor does any after it
//   DRILL_COUNTS=FILE          at the end: "malloc", and how many calls there were
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

// The C library's own, by the names under which a replacement finds them.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {

std::atomic<long> calls = 0;
std::atomic<long> at = -1;  // -1: the environment was not read yet
bool is_lasting = false;

// True if this call fails. The loader calls before there is an environment; those only count.
bool fails() {
  long number = ++calls;
  if (at == -1) {
    if (environ == nullptr) return false;
    const char* text = getenv("DRILL_MALLOC");
    is_lasting = text != nullptr && strstr(text, " on") != nullptr;
    at = text == nullptr ? 0 : atol(text);
  }
  bool is_meant = at > 0 && (is_lasting ? number >= at : number == at);
  if (is_meant) errno = ENOMEM;
  return is_meant;
}

[[gnu::destructor]] void write_count() {
  const char* path = getenv("DRILL_COUNTS");
  if (path == nullptr) return;
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0) return;
  char line[40];
  int length = snprintf(line, sizeof line, "malloc %ld\n", calls.load());
  if (write(file, line, static_cast<size_t>(length)) != length) abort();
  close(file);
}

}  // namespace

extern "C" {

void* malloc(size_t bytes) noexcept { return fails() ? nullptr : __libc_malloc(bytes); }

void* calloc(size_t count, size_t bytes) noexcept {
  return fails() ? nullptr : __libc_calloc(count, bytes);
}

void* realloc(void* block, size_t bytes) noexcept {
  return fails() ? nullptr : __libc_realloc(block, bytes);
}

void* memalign(size_t alignment, size_t bytes) noexcept {
  return fails() ? nullptr : __libc_memalign(alignment, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return fails() ? nullptr : __libc_memalign(alignment, bytes);
}

int posix_memalign(void** block, size_t alignment, size_t bytes) noexcept {
  void* made = fails() ? nullptr : __libc_memalign(alignment, bytes);
  if (made == nullptr) return ENOMEM;
  *block = made;
  return 0;
}

}  // extern "C"
