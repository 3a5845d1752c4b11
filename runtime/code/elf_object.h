// Checked reading of a relocatable ELF object for x86-64 or aarch64: its sections, symbols and
// relocations.
//
// Nothing is believed: each table must lie in the object, each index in its table, each name end
// before its table does. The object must outlive its reader.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace tilewright {

class ElfObject {
 public:
  // Raises `Error`, "[loading code] ...", for anything but such an object.
  explicit ElfObject(std::span<const char> bytes);

  std::uint16_t machine() const { return machine_; }  // EM_X86_64, EM_AARCH64
  std::span<const Elf64_Shdr> sections() const { return sections_; }
  std::span<const Elf64_Sym> symbols() const { return symbols_; }
  std::string_view name(const Elf64_Shdr& section) const;
  std::string_view name(const Elf64_Sym& symbol) const;
  // Empty for a section that has no bytes in the object (SHT_NOBITS).
  std::span<const char> content(const Elf64_Shdr& section) const;
  // The relocations of a section of type SHT_RELA; each names a symbol that is there.
  std::vector<Elf64_Rela> relocations(const Elf64_Shdr& section) const;

 private:
  // The records of a table. Objects in memory need not be aligned.
  template <typename Record>
  std::vector<Record> table(std::uint64_t offset, std::uint64_t bytes, const char* what) const {
    std::span<const char> all = range(offset, bytes, what);
    require(bytes % sizeof(Record) == 0, "[loading code] the object's table of ", what, " has ",
            bytes, " bytes, which is no multiple of ", sizeof(Record));
    std::vector<Record> records(bytes / sizeof(Record));
    if (!records.empty()) std::memcpy(records.data(), all.data(), bytes);
    return records;
  }
  std::span<const char> range(std::uint64_t offset, std::uint64_t bytes, const char* what) const;
  std::span<const char> strings(std::uint32_t section) const;
  static std::string_view text(std::span<const char> strings, std::uint32_t at);

  std::span<const char> bytes_;
  std::uint16_t machine_ = EM_NONE;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  std::span<const char> section_names_, symbol_names_;
};

}  // namespace tilewright
