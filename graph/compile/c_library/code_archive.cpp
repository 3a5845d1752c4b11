#include "graph/compile/c_library/code_archive.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "runtime/base/concat.h"
#include "runtime/base/error.h"
#include "runtime/code/elf_object.h"
#include "runtime/code/object.h"

namespace tilewright::graph {
namespace {

template <typename Record>
Record read_at(const std::string& bytes, std::size_t at) {
  static_assert(std::is_trivially_copyable_v<Record>);
  Record record;
  std::memcpy(&record, bytes.data() + at, sizeof record);
  return record;
}
template <typename Record>
void write_at(std::string& bytes, std::size_t at, const Record& record) {
  std::memcpy(bytes.data() + at, &record, sizeof record);
}
template <typename Record>
void append(std::string& bytes, const Record& record) {
  bytes.append(reinterpret_cast<const char*>(&record), sizeof record);
}

// The names of its symbols move to the end of the object, with the new one behind them.
std::string renamed(std::string object, std::string_view from, const std::string& to) {
  const ElfObject checked{std::span<const char>(object)};
  const auto sections = checked.sections();
  const auto table = std::ranges::find(sections, Elf64_Word{SHT_SYMTAB}, &Elf64_Shdr::sh_type);
  const auto symbols = checked.symbols();
  const auto entry = std::ranges::find_if(symbols, [&](const Elf64_Sym& symbol) {
    return checked.name(symbol) == from && symbol.st_shndx != SHN_UNDEF;
  });
  require(table != sections.end() && entry != symbols.end(), "[write_c_library] the object of ", to,
          " has no function \"", from, "\"");
  Elf64_Shdr names = sections[table->sh_link];
  std::string text = object.substr(names.sh_offset, names.sh_size);
  Elf64_Sym symbol = *entry;
  symbol.st_name = static_cast<Elf64_Word>(text.size());
  symbol.st_other = STV_HIDDEN;
  text += to + '\0';
  const std::size_t symbol_at =
      table->sh_offset + static_cast<std::size_t>(entry - symbols.begin()) * sizeof symbol;
  const std::size_t names_at =
      read_at<Elf64_Ehdr>(object, 0).e_shoff + table->sh_link * sizeof names;
  names.sh_offset = object.size();
  names.sh_size = text.size();
  write_at(object, symbol_at, symbol);
  write_at(object, names_at, names);
  return object + text;
}

Elf64_Shdr section_of(Elf64_Word name, Elf64_Word type, std::size_t offset, std::size_t bytes) {
  return {
      .sh_name = name, .sh_type = type, .sh_offset = offset, .sh_size = bytes, .sh_addralign = 1};
}

std::string data_object(std::uint16_t machine, const std::string& symbol,
                        const std::string& bytes) {
  constexpr std::size_t alignment = 64;
  using namespace std::string_view_literals;
  constexpr std::string_view section_names =
      "\0.rodata\0.symtab\0.strtab\0.shstrtab\0.note.GNU-stack\0"sv;
  auto name = [&](std::string_view text) {
    return static_cast<Elf64_Word>(section_names.find(text));
  };
  const std::string symbol_names = concat('\0', symbol, '\0');
  std::string object(sizeof(Elf64_Ehdr), '\0');
  std::vector<Elf64_Shdr> sections(1);
  auto add = [&](std::string_view called, Elf64_Word type, std::string_view content) {
    object.resize((object.size() + alignment - 1) / alignment * alignment);
    sections.push_back(section_of(name(called), type, object.size(), content.size()));
    object += content;
  };
  add(".rodata", SHT_PROGBITS, bytes);
  sections.back().sh_flags = SHF_ALLOC;
  sections.back().sh_addralign = alignment;
  std::string symbols(sizeof(Elf64_Sym), '\0');
  append(symbols, Elf64_Sym{.st_name = 1,
                            .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                            .st_other = STV_HIDDEN,
                            .st_shndx = 1,
                            .st_size = bytes.size()});
  add(".symtab", SHT_SYMTAB, symbols);
  sections.back().sh_link = 3;  // .strtab
  sections.back().sh_info = 1;  // the first that is global
  sections.back().sh_entsize = sizeof(Elf64_Sym);
  sections.back().sh_addralign = alignof(Elf64_Sym);
  add(".strtab", SHT_STRTAB, symbol_names);
  add(".shstrtab", SHT_STRTAB, section_names);
  add(".note.GNU-stack", SHT_PROGBITS, {});
  object.resize((object.size() + alignment - 1) / alignment * alignment);
  Elf64_Ehdr header{.e_type = ET_REL,
                    .e_machine = machine,
                    .e_version = EV_CURRENT,
                    .e_shoff = object.size(),
                    .e_ehsize = sizeof(Elf64_Ehdr),
                    .e_shentsize = sizeof(Elf64_Shdr),
                    .e_shnum = static_cast<Elf64_Half>(sections.size()),
                    .e_shstrndx = 4};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  write_at(object, 0, header);
  for (const Elf64_Shdr& section : sections) append(object, section);
  return object;
}

// A number of an archive's header: decimal, filled up with blanks.
std::string field(std::size_t number, std::size_t width) {
  std::string text = std::to_string(number);
  text.resize(width, ' ');
  return text;
}
std::string member_of(std::string name, const std::string& content) {
  name.resize(16, ' ');
  std::string member = concat(name, field(0, 12), field(0, 6), field(0, 6), "100644  ",
                              field(content.size(), 10), "`\n", content);
  if (member.size() % 2 != 0) member += '\n';
  return member;
}
void append_big_endian(std::string& bytes, std::size_t number) {
  for (int shift : {24, 16, 8, 0}) bytes += static_cast<char>(number >> shift & 0xff);
}

}  // namespace

void CodeArchive::add_kernel(const std::string& symbol, std::span<const std::byte> object) {
  std::string bytes(reinterpret_cast<const char*>(object.data()), object.size());
  members_.push_back({symbol, renamed(std::move(bytes), kernel_entry, symbol)});
}

void CodeArchive::add_data(const std::string& symbol, const std::string& bytes) {
  members_.push_back({symbol, data_object(machine_, symbol, bytes)});
}

std::string CodeArchive::bytes() const {
  std::vector<std::string> members;
  for (std::size_t i = 0; i < members_.size(); ++i)
    members.push_back(member_of(concat(i, ".o/"), members_[i].object));
  const std::string_view magic = "!<arch>\n";
  // The table has the place of each member, which lies behind it.
  std::string names;
  for (const Member& member : members_) names += member.symbol + '\0';
  const std::size_t table_bytes = 4 + 4 * members_.size() + names.size();
  std::size_t at = magic.size() + member_of("/", std::string(table_bytes, '\0')).size();
  std::string table;
  append_big_endian(table, members_.size());
  for (const std::string& member : members) {
    append_big_endian(table, at);
    at += member.size();
  }
  std::string archive = concat(magic, member_of("/", table + names));
  for (const std::string& member : members) archive += member;
  return archive;
}

}  // namespace tilewright::graph
