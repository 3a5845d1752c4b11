// Placing the sections of an object, and its relocations.
//
// One mapping holds everything, so that parts of the object reach each other by 32 bits: first what
// is executable, then what is only read, then what may be written, each from a page on. Functions
// outside may lie further away: a call goes through a stub of the object's own, an address is read
// from a slot.
#include "runtime/code/object.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <map>
#include <string>

#include "runtime/base/error.h"
#include "runtime/base/out_of_memory.h"
#include "runtime/code/elf_object.h"

namespace tilewright {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;  // 32 bits reach everything
constexpr std::uint64_t slot_bytes = 8, stub_bytes = 8;

enum Part : std::uint8_t { executed, only_read, written };
constexpr std::size_t parts = 3;

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// Memory for code, unmapped with its last owner.
class Mapping {
 public:
  explicit Mapping(std::uint64_t bytes) : bytes_(bytes) {
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require_memory(at != MAP_FAILED, "[loading code] the system has no ", bytes,
                   " bytes for the code of a kernel; with less in use it may succeed");
    begin_ = static_cast<char*>(at);
  }
  ~Mapping() { ::munmap(begin_, bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  char* begin() const { return begin_; }
  std::uint64_t bytes() const { return bytes_; }
  void protect(std::uint64_t from, std::uint64_t bytes, int protection) const {
    if (bytes == 0) return;
    require_memory(::mprotect(begin_ + from, bytes, protection) == 0,
                   "[loading code] the system refuses to protect ", bytes,
                   " bytes of the code of a kernel (error ", errno,
                   "); with less in use it may succeed");
  }

 private:
  char* begin_;
  std::uint64_t bytes_;
};

// Run by the last owner of code.
struct Unmapping {
  std::shared_ptr<Mapping> mapping;
  void operator()(void*) noexcept { mapping.reset(); }
};

class Loader {
 public:
  Loader(std::span<const char> object, std::span<const CallableFunction> functions)
      : object_(object), functions_(functions), places_(object_.sections().size(), nowhere) {}

  std::shared_ptr<void> load(std::string_view entry) {
    require(object_.machine() == EM_X86_64, "[loading code] this is an object for aarch64");
    find_outside();
    place();
    mapping_ = std::make_shared<Mapping>(ends_[written]);
    copy();
    for (const Elf64_Shdr& section : object_.sections())
      if (section.sh_type == SHT_RELA) relocate(section);
    for (const Elf64_Shdr& section : object_.sections())
      require(section.sh_type != SHT_REL,
              "[loading code] the object has relocations of a kind that "
              "objects for x86-64 do not have");
    mapping_->protect(0, ends_[executed], PROT_READ | PROT_EXEC);
    mapping_->protect(ends_[executed], ends_[only_read] - ends_[executed], PROT_READ);
    void* address = address_of(entry);
    return {address, Unmapping{mapping_}};
  }

 private:
  static constexpr std::uint64_t nowhere = std::numeric_limits<std::uint64_t>::max();

  static Part part_of(const Elf64_Shdr& section) {
    if ((section.sh_flags & SHF_EXECINSTR) != 0) return executed;
    return (section.sh_flags & SHF_WRITE) != 0 ? written : only_read;
  }
  // Frames of exceptions are left out: none passes through a kernel.
  bool is_loaded(const Elf64_Shdr& section) const {
    return (section.sh_flags & SHF_ALLOC) != 0 && object_.name(section) != ".eh_frame";
  }

  // The functions outside that the object names, each with its slot.
  void find_outside() {
    for (const Elf64_Sym& symbol : object_.symbols()) {
      if (symbol.st_shndx != SHN_UNDEF || symbol.st_name == 0) continue;
      const std::string_view name = object_.name(symbol);
      if (name == "_GLOBAL_OFFSET_TABLE_") continue;
      auto found = std::ranges::lower_bound(functions_, name, {}, &CallableFunction::name);
      require(found != functions_.end() && found->name == name,
              "[loading code] the object calls \"", name,
              "\", which is none of the functions that a kernel may call");
      outside_.try_emplace(name, Outside{outside_.size(), found->address});
    }
  }

  void place() {
    std::uint64_t end = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      for (std::size_t i = 0; i < places_.size(); ++i) {
        const Elf64_Shdr& section = object_.sections()[i];
        if (!is_loaded(section) || part_of(section) != part) continue;
        const std::uint64_t alignment = std::max<std::uint64_t>(section.sh_addralign, 1);
        require(alignment <= page_bytes && (alignment & (alignment - 1)) == 0,
                "[loading code] a section of the object is to be aligned to ", alignment,
                " bytes; powers of two up to ", page_bytes, " are possible");
        places_[i] = round_up(end, alignment);
        require(section.sh_size <= most_bytes && places_[i] + section.sh_size <= most_bytes,
                "[loading code] the object has more than ", most_bytes, " bytes of code and data");
        end = places_[i] + section.sh_size;
      }
      if (part == executed) {
        stubs_ = round_up(end, stub_bytes);
        end = stubs_ + outside_.size() * stub_bytes;
      }
      if (part == only_read) {
        slots_ = round_up(end, slot_bytes);
        end = slots_ + outside_.size() * slot_bytes;
      }
      end = round_up(end, page_bytes);
      ends_[part] = end;
    }
    require(end > 0, "[loading code] the object has no code");
  }

  void copy() {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (places_[i] == nowhere) continue;
      const std::span<const char> bytes = object_.content(object_.sections()[i]);
      if (!bytes.empty()) std::memcpy(at(places_[i]), bytes.data(), bytes.size());
    }
    for (const auto& [name, function] : outside_) {
      const std::uint64_t slot = slots_ + function.number * slot_bytes;
      const std::uint64_t stub = stubs_ + function.number * stub_bytes;
      std::memcpy(at(slot), &function.address, slot_bytes);
      constexpr std::array<unsigned char, 2> jump = {0xff, 0x25};  // jmp *offset(%rip)
      const auto offset = static_cast<std::int32_t>(slot - (stub + jump.size() + 4));
      std::memcpy(at(stub), jump.data(), jump.size());
      std::memcpy(at(stub + jump.size()), &offset, sizeof offset);
    }
  }

  void relocate(const Elf64_Shdr& table) {
    require(table.sh_info < places_.size(),
            "[loading code] relocations of the object are for "
            "section ",
            table.sh_info, " of ", places_.size());
    if (places_[table.sh_info] == nowhere) return;
    const Elf64_Shdr& section = object_.sections()[table.sh_info];
    for (const Elf64_Rela& one : object_.relocations(table)) {
      const std::uint64_t bytes = is_wide(one) ? 8 : 4;
      require(section.sh_type != SHT_NOBITS && one.r_offset <= section.sh_size &&
                  bytes <= section.sh_size - one.r_offset,
              "[loading code] a relocation of the object lies at byte ", one.r_offset,
              " of a section of ", section.sh_size, " bytes");
      apply(one, places_[table.sh_info] + one.r_offset);
    }
  }

  static bool is_wide(const Elf64_Rela& one) {
    const auto type = ELF64_R_TYPE(one.r_info);
    return type == R_X86_64_64 || type == R_X86_64_PC64;
  }

  void apply(const Elf64_Rela& one, std::uint64_t place) {
    const Elf64_Sym& symbol = object_.symbols()[ELF64_R_SYM(one.r_info)];
    const auto addend = static_cast<std::uint64_t>(one.r_addend);
    const auto from = reinterpret_cast<std::uint64_t>(at(place));
    switch (ELF64_R_TYPE(one.r_info)) {
      case R_X86_64_NONE: return;
      case R_X86_64_64: return put_wide(place, value(symbol) + addend);
      case R_X86_64_PC64: return put_wide(place, value(symbol) + addend - from);
      case R_X86_64_PC32: return put_near(place, value(symbol) + addend - from);
      case R_X86_64_PLT32: return put_near(place, call_target(symbol) + addend - from);
      case R_X86_64_GOTPCREL:
      case R_X86_64_GOTPCRELX:
      case R_X86_64_REX_GOTPCRELX: return put_near(place, slot_of(symbol) + addend - from);
      default:
        raise_error(concat("[loading code] the object has a relocation of kind ",
                           ELF64_R_TYPE(one.r_info), ", which is not one that kernels have"));
    }
  }

  void put_wide(std::uint64_t place, std::uint64_t value) const {
    std::memcpy(at(place), &value, sizeof value);
  }
  void put_near(std::uint64_t place, std::uint64_t difference) const {
    const auto near = static_cast<std::int32_t>(difference);
    require(static_cast<std::uint64_t>(std::int64_t{near}) == difference,
            "[loading code] a relocation of the object is out of the reach of 32 bits");
    std::memcpy(at(place), &near, sizeof near);
  }

  // The address of a symbol.
  std::uint64_t value(const Elf64_Sym& symbol) const {
    if (symbol.st_shndx == SHN_ABS) return symbol.st_value;
    if (const Outside* function = outside(symbol))
      return reinterpret_cast<std::uint64_t>(function->address);
    require(symbol.st_shndx < places_.size() && places_[symbol.st_shndx] != nowhere,
            "[loading code] symbol \"", object_.name(symbol),
            "\" of the object lies in no section that is loaded");
    require(symbol.st_value <= object_.sections()[symbol.st_shndx].sh_size,
            "[loading code] symbol \"", object_.name(symbol), "\" of the object lies at byte ",
            symbol.st_value, " of a section of ", object_.sections()[symbol.st_shndx].sh_size,
            " bytes");
    return reinterpret_cast<std::uint64_t>(at(places_[symbol.st_shndx])) + symbol.st_value;
  }
  std::uint64_t call_target(const Elf64_Sym& symbol) const {
    const Outside* function = outside(symbol);
    if (function == nullptr) return value(symbol);
    return reinterpret_cast<std::uint64_t>(at(stubs_ + function->number * stub_bytes));
  }
  std::uint64_t slot_of(const Elf64_Sym& symbol) const {
    const Outside* function = outside(symbol);
    require(function != nullptr, "[loading code] the object reads the address of \"",
            object_.name(symbol), "\" from a table, which kernels do for functions outside only");
    return reinterpret_cast<std::uint64_t>(at(slots_ + function->number * slot_bytes));
  }

  struct Outside {
    std::size_t number;
    const void* address;
  };
  // Null for a symbol of the object's own.
  const Outside* outside(const Elf64_Sym& symbol) const {
    if (symbol.st_shndx != SHN_UNDEF) return nullptr;
    auto found = outside_.find(object_.name(symbol));
    require(found != outside_.end(),
            "[loading code] a relocation of the object names a symbol "
            "that is nowhere");
    return &found->second;
  }

  void* address_of(std::string_view entry) const {
    for (const Elf64_Sym& symbol : object_.symbols()) {
      if (symbol.st_shndx == SHN_UNDEF || object_.name(symbol) != entry) continue;
      require(symbol.st_shndx < places_.size() && places_[symbol.st_shndx] != nowhere &&
                  part_of(object_.sections()[symbol.st_shndx]) == executed,
              "[loading code] the object's \"", entry, "\" is no function");
      return reinterpret_cast<void*>(value(symbol));  // NOLINT(performance-no-int-to-ptr)
    }
    raise_error(concat("[loading code] the object has no function \"", entry, "\""));
  }
  char* at(std::uint64_t place) const { return mapping_->begin() + place; }

  ElfObject object_;
  std::span<const CallableFunction> functions_;
  std::map<std::string_view, Outside> outside_;
  std::vector<std::uint64_t> places_;  // of each section in the mapping, or nowhere
  std::array<std::uint64_t, parts> ends_{};
  std::uint64_t stubs_ = 0, slots_ = 0;
  std::shared_ptr<Mapping> mapping_;
};

}  // namespace

std::shared_ptr<void> load_object(std::span<const char> object, std::string_view entry,
                                  std::span<const CallableFunction> functions) {
  return Loader(object, functions).load(entry);
}

std::int64_t loaded_bytes(const std::shared_ptr<void>& code) {
  const auto* unmapping = std::get_deleter<Unmapping>(code);
  return unmapping == nullptr ? 0 : static_cast<std::int64_t>(unmapping->mapping->bytes());
}

}  // namespace tilewright
