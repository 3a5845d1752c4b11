// Functions of glibc 2.35 and 2.36 that the carried programs use, built from those of 2.34, so that
// the programs start there too: these definitions come before those of the library.
//
// GCC's unwinder asks `_dl_find_object` (glibc 2.35) for the unwinding table of the code at an
// address, std::random_device asks `arc4random` (2.36) for 32 random bits. `hypot` has a second
// version since 2.35, which does not set errno; the first is in every library.
#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

#ifdef DLFO_EH_SEGMENT_TYPE  // of glibc 2.35 and newer; an older one is asked for neither
#if DLFO_STRUCT_HAS_EH_DBASE || DLFO_STRUCT_HAS_EH_COUNT
#error "dl_find_object is filled in as it is on x86-64 here"
#endif

namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* found;
};

int look_at_object(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  std::uintptr_t low = UINTPTR_MAX, high = 0, table = 0;
  bool holds_address = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    std::uintptr_t begin = info->dlpi_addr + part.p_vaddr, end = begin + part.p_memsz;
    if (part.p_type == PT_GNU_EH_FRAME) table = begin;
    if (part.p_type != PT_LOAD) continue;
    holds_address = holds_address || (begin <= search.address && search.address < end);
    low = begin < low ? begin : low;
    high = end > high ? end : high;
  }
  if (!holds_address || table == 0) return 0;
  *search.found = {};
  search.found->dlfo_map_start = reinterpret_cast<void*>(low);
  search.found->dlfo_map_end = reinterpret_cast<void*>(high);
  search.found->dlfo_eh_frame = reinterpret_cast<void*>(table);
  return 1;
}

}  // namespace

extern "C" int _dl_find_object(void* address, dl_find_object* found) noexcept {
  Search search{reinterpret_cast<std::uintptr_t>(address), found};
  return dl_iterate_phdr(look_at_object, &search) == 1 ? 0 : -1;
}

extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) std::abort();
  return bits;
}

__asm__(".symver first_hypot, hypot@GLIBC_2.2.5");
extern "C" double first_hypot(double x, double y) noexcept;
extern "C" double hypot(double x, double y) noexcept { return first_hypot(x, y); }

#endif
