#include "runtime/code/elf_object.h"

#include <algorithm>

namespace tilewright {

ElfObject::ElfObject(std::span<const char> bytes) : bytes_(bytes) {
  const auto header = table<Elf64_Ehdr>(0, sizeof(Elf64_Ehdr), "headers").front();
  const bool is_code =
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
      header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_type == ET_REL &&
      (header.e_machine == EM_X86_64 || header.e_machine == EM_AARCH64) &&
      header.e_shentsize == sizeof(Elf64_Shdr);
  require(is_code, "[loading code] this is no relocatable ELF object for x86-64 or aarch64");
  machine_ = header.e_machine;
  sections_ = table<Elf64_Shdr>(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr),
                                "sections");
  section_names_ = strings(header.e_shstrndx);
  auto found = std::ranges::find(sections_, Elf64_Word{SHT_SYMTAB}, &Elf64_Shdr::sh_type);
  if (found == sections_.end()) return;
  symbols_ = table<Elf64_Sym>(found->sh_offset, found->sh_size, "symbols");
  symbol_names_ = strings(found->sh_link);
}

std::span<const char> ElfObject::range(std::uint64_t offset, std::uint64_t bytes,
                                       const char* what) const {
  require(offset <= bytes_.size() && bytes <= bytes_.size() - offset,
          "[loading code] the object's ", what, " lie at bytes ", offset, " and the ", bytes,
          " behind, where the object has ", bytes_.size(), " bytes");
  return bytes_.subspan(offset, bytes);
}

std::span<const char> ElfObject::strings(std::uint32_t section) const {
  require(section < sections_.size() && sections_[section].sh_type == SHT_STRTAB,
          "[loading code] the object's section ", section, " is no table of names");
  return range(sections_[section].sh_offset, sections_[section].sh_size, "names");
}

std::string_view ElfObject::text(std::span<const char> strings, std::uint32_t at) {
  require(at < strings.size(), "[loading code] a name in the object lies at byte ", at,
          " of a table of ", strings.size(), " bytes");
  const auto* begin = strings.data() + at;
  const auto* end = static_cast<const char*>(std::memchr(begin, 0, strings.size() - at));
  require(end != nullptr, "[loading code] a name in the object has no end");
  return {begin, end};
}

std::string_view ElfObject::name(const Elf64_Shdr& section) const {
  return text(section_names_, section.sh_name);
}

std::string_view ElfObject::name(const Elf64_Sym& symbol) const {
  return text(symbol_names_, symbol.st_name);
}

std::span<const char> ElfObject::content(const Elf64_Shdr& section) const {
  if (section.sh_type == SHT_NOBITS) return {};
  return range(section.sh_offset, section.sh_size, "sections");
}

std::vector<Elf64_Rela> ElfObject::relocations(const Elf64_Shdr& section) const {
  auto all = table<Elf64_Rela>(section.sh_offset, section.sh_size, "relocations");
  for (const Elf64_Rela& one : all)
    require(ELF64_R_SYM(one.r_info) < symbols_.size(), "[loading code] a relocation of the object ",
            "names symbol ", ELF64_R_SYM(one.r_info), " of ", symbols_.size());
  return all;
}

}  // namespace tilewright
