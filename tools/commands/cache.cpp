// `tilewright cache`: what the cache folder keeps from process to process, and why an entry of it
// is not used here.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>

#include "dsl/launch/kept_objects.h"
#include "dsl/target/target.h"
#include "runtime/base/error.h"
#include "runtime/cache_folder.h"
#include "runtime/files/atomic_file.h"
#include "runtime/kept/entry_store.h"
#include "tools/console/command.h"
#include "tools/console/table.h"

namespace tilewright::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t page_width = 100, id_digits = 8;
constexpr std::array<char, 8> archive_magic{'T', 'W', 'C', 'A', 'C', 'H', 'E', '1'};
constexpr std::uint64_t largest_entry = std::uint64_t{256} << 20;

struct CacheArguments {
  std::string which;  // part of a kernel's name, or the beginning of an id
  std::string format = "table", file;
  std::int64_t older_than_days = -1, most_mib = -1;
  bool other_builds = false, repair = false;
};

struct Listed {
  const EntryStore* store;
  StoredEntry entry;

  std::string id() const { return entry.path.stem().string().substr(0, id_digits); }
  bool is_chosen(const std::string& which) const {
    return which.empty() || entry.label.find(which) != std::string::npos ||
           entry.path.stem().string().starts_with(which);
  }
};

std::string folder_text() {
  const CacheFolder folder = find_cache_folder("");
  require(!folder.path.empty(), "[cache] nothing is kept: ", folder.why_not);
  return folder.path.string();
}

std::vector<Listed> all_entries() {
  folder_text();
  std::vector<Listed> all;
  for (const EntryStore* store : entry_stores)
    for (StoredEntry& entry : store->entries()) all.push_back({store, std::move(entry)});
  return all;
}

std::vector<Listed> chosen_entries(const std::string& which) {
  std::vector<Listed> all = all_entries();
  std::set<std::string> names;
  for (const Listed& one : all) names.insert(one.entry.label);
  std::erase_if(all, [&](const Listed& one) { return !one.is_chosen(which); });
  require_use(which.empty() || !all.empty(), "[cache] nothing is kept of \"", which,
              "\"; `tilewright cache list` shows names and ids",
              suggestion(which, {names.begin(), names.end()}));
  return all;
}

double days_unused(const StoredEntry& entry) {
  const auto unused = fs::file_time_type::clock::now() - entry.last_used;
  return std::max(0.0, std::chrono::duration<double>(unused).count() / (24 * 3600));
}

// The fields of the key that are facts of this build and machine, where an entry has others. Code
// of GPUs depends on the driver, which only a GPU tells.
std::vector<KeyDifference> unlike_here(const StoredEntry& entry) {
  std::vector<KeyDifference> result;
  if (entry.key.value_of("program").empty()) return result;
  const EntryKey here =
      EntryKey().add(dsl::compiler_key()).add(dsl::target_key(dsl::host_target()));
  for (const KeyField& field : here.fields())
    if (const std::string_view there = entry.key.value_of(field.name); there != field.value)
      result.push_back({field.name, field.value, std::string(there)});
  return result;
}

const char* state_of(const StoredEntry& entry) {
  if (!entry.is_whole) return "damaged";
  if (entry.key.value_of("program").empty()) return "by the GPU's driver";
  return unlike_here(entry).empty() ? "used here" : "of another build or processor";
}

void print(const CacheArguments& a, const Table& table) {
  fmt::print("{}", table.as(a.format, page_width));
}

int list_entries(const CacheArguments& a) {
  Table table({"id", "kind", "kernel", Column("size", "bytes"), Column("unused", "days"), "state"});
  for (const Listed& one : chosen_entries(a.which)) {
    const double days = days_unused(one.entry);
    table.add({one.id(), std::string(one.store->folder()), one.entry.label,
               Cell(bytes_text(static_cast<double>(one.entry.bytes)),
                    static_cast<double>(one.entry.bytes)),
               Cell(fmt::format("{:.1f} days", days), days), state_of(one.entry)});
  }
  print(a, table);
  return 0;
}

int show_statistics(const CacheArguments& a) {
  const std::string folder = folder_text();
  Table table({"kind", "entries", Column("size", "bytes"), Column("limit", "bytes"), "used",
               "others", "damaged"});
  for (const EntryStore* store : entry_stores) {
    std::int64_t bytes = 0, used = 0, damaged = 0, count = 0;
    for (const StoredEntry& entry : store->entries()) {
      ++count;
      bytes += entry.bytes;
      damaged += entry.is_whole ? 0 : 1;
      used += entry.is_whole && unlike_here(entry).empty() ? 1 : 0;
    }
    auto number = [](std::int64_t n) { return Cell(std::to_string(n), static_cast<double>(n)); };
    auto size = [](std::int64_t n) {
      return Cell(bytes_text(static_cast<double>(n)), static_cast<double>(n));
    };
    table.add({std::string(store->folder()), number(count), size(bytes),
               size(EntryStore::most_kept_bytes), number(used), number(count - used - damaged),
               number(damaged)});
  }
  print(a, table);
  if (a.format == "table") fmt::print("in {}\n", folder);
  return 0;
}

int explain_miss(const CacheArguments& a) {
  Table table({"id", "kernel", "field", "here", "there"});
  std::size_t used = 0, by_driver = 0;
  for (const Listed& one : chosen_entries(a.which)) {
    if (!one.entry.is_whole) {
      table.add({one.id(), one.entry.label, "file", "whole", "damaged"});
      continue;
    }
    if (one.entry.key.value_of("program").empty()) ++by_driver;
    const std::vector<KeyDifference> unlike = unlike_here(one.entry);
    if (unlike.empty()) ++used;
    for (const KeyDifference& field : unlike)
      table.add({one.id(), one.entry.label, field.name, field.wanted, field.found});
  }
  print(a, table);
  if (a.format == "table") {
    fmt::print("{} of these would be found by this build on this processor\n", used - by_driver);
    if (by_driver > 0) fmt::print("{} are by a GPU's driver, whose version decides\n", by_driver);
    fmt::print("TILEWRIGHT_LOG=cache says at each kernel that is compiled why none was found\n");
  }
  return 0;
}

int verify_entries(const CacheArguments& a) {
  std::size_t count = 0, damaged = 0, left = 0;
  for (const Listed& one : all_entries()) {
    ++count;
    if (one.entry.is_whole) continue;
    ++damaged;
    const bool is_removed = a.repair && ::unlink(one.entry.path.c_str()) == 0;
    left += is_removed ? 0 : 1;
    fmt::print("{}: damaged, or of an earlier version{}\n", one.entry.path.string(),
               is_removed ? "; removed"
               : a.repair ? "; cannot be removed"
                          : "");
  }
  fmt::print("{} entries, {} damaged\n", count, damaged);
  return left > 0 ? 1 : 0;
}

int prune_entries(const CacheArguments& a) {
  require_use(
      a.older_than_days >= 0 || a.most_mib >= 0 || a.other_builds,
      "[cache] nothing says what to remove; known are --older-than DAYS, --other-builds and "
      "--most MIB");
  std::size_t removed = 0;
  std::int64_t bytes = 0;
  for (const Listed& one : chosen_entries(a.which)) {
    const bool is_old =
        a.older_than_days >= 0 && days_unused(one.entry) >= static_cast<double>(a.older_than_days);
    const bool is_other =
        a.other_builds && (!one.entry.is_whole || !unlike_here(one.entry).empty());
    if (!is_old && !is_other) continue;
    if (::unlink(one.entry.path.c_str()) != 0) continue;
    ++removed;
    bytes += one.entry.bytes;
  }
  if (a.most_mib >= 0)
    for (const EntryStore* store : entry_stores) {
      const std::vector<StoredEntry> before = store->entries();
      store->tidy(a.most_mib << 20);
      for (const StoredEntry& entry : before)
        if (!fs::exists(entry.path)) {
          ++removed;
          bytes += entry.bytes;
        }
    }
  fmt::print("{} entries removed, {}\n", removed, bytes_text(static_cast<double>(bytes)));
  return 0;
}

// An archive is its magic, and for each entry the name of its store, the bytes of its file, and
// their numbers before both; and an empty name at the end.
void write_number(AtomicFile& file, std::uint64_t number) { file.write(&number, sizeof number); }

int export_entries(const CacheArguments& a) {
  const std::vector<Listed> chosen = chosen_entries(a.which);
  AtomicFile file(a.file, "cache export");
  file.write(archive_magic.data(), archive_magic.size());
  std::size_t count = 0;
  for (const Listed& one : chosen) {
    if (!one.entry.is_whole) continue;
    std::ifstream in(one.entry.path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    if (!in || bytes.empty()) continue;  // another process has removed it
    write_number(file, one.store->folder().size());
    file.write(one.store->folder().data(), one.store->folder().size());
    write_number(file, bytes.size());
    file.write(bytes.data(), bytes.size());
    ++count;
  }
  write_number(file, 0);
  file.commit();
  fmt::print("{}: {} entries\n", a.file, count);
  return 0;
}

class ArchiveReader {
 public:
  explicit ArchiveReader(const std::string& path) : path_(path), in_(path, std::ios::binary) {
    std::array<char, archive_magic.size()> magic{};
    in_.read(magic.data(), magic.size());
    require(in_ && magic == archive_magic, "[cache import] ", path,
            " is no file that `tilewright cache export` wrote");
  }
  std::string next() {
    std::uint64_t size = 0;
    in_.read(reinterpret_cast<char*>(&size), sizeof size);
    require(in_ && size <= largest_entry, "[cache import] ", path_, " is damaged or cut off");
    std::string bytes;
    constexpr std::uint64_t piece = 1 << 20;  // no more memory than the file has bytes
    while (bytes.size() < size) {
      const std::size_t from = bytes.size();
      bytes.resize(static_cast<std::size_t>(std::min(size, from + piece)));
      in_.read(bytes.data() + from, static_cast<std::streamsize>(bytes.size() - from));
      require(in_.good(), "[cache import] ", path_, " is damaged or cut off");
    }
    return bytes;
  }

 private:
  std::string path_;
  std::ifstream in_;
};

int import_entries(const CacheArguments& a) {
  require_file("cache import", a.file, "a file that `tilewright cache export` wrote");
  folder_text();
  ArchiveReader archive(a.file);
  std::size_t count = 0, damaged = 0, unwritten = 0;
  for (std::string kind = archive.next(); !kind.empty(); kind = archive.next()) {
    const std::string bytes = archive.next();
    const auto* store = std::ranges::find(entry_stores, kind, &EntryStore::folder);
    const EntryStore::Kept kept =
        store == std::end(entry_stores) ? EntryStore::Kept::damaged : (*store)->keep_file(bytes);
    ++(kept == EntryStore::Kept::yes       ? count
       : kept == EntryStore::Kept::damaged ? damaged
                                           : unwritten);
  }
  fmt::print("{}: {} entries{}{}\n", a.file, count,
             damaged > 0 ? fmt::format(", {} damaged or unknown and left out", damaged) : "",
             unwritten > 0 ? fmt::format(", {} that could not be written", unwritten) : "");
  return damaged + unwritten > 0 ? 1 : 0;
}

using Declare = void (*)(CLI::App& command, CacheArguments& a);

void choose(CLI::App& command, CacheArguments& a) {
  command.add_option("WHICH", a.which,
                     "part of a kernel's name, or the beginning of an id as `list` shows it");
}
void show(CLI::App& command, CacheArguments& a) {
  command.add_option("--format", a.format, "table, csv or json")
      ->check(CLI::IsMember({"table", "csv", "json"}))
      ->capture_default_str();
}
void choose_and_show(CLI::App& command, CacheArguments& a) {
  choose(command, a);
  show(command, a);
}
void offer_repair(CLI::App& command, CacheArguments& a) {
  command.add_flag("--repair", a.repair, "remove what is damaged");
}
void choose_what_goes(CLI::App& command, CacheArguments& a) {
  choose(command, a);
  command
      .add_option("--older-than", a.older_than_days, "entries that were not used for so many days")
      ->check(CLI::NonNegativeNumber);
  command.add_flag("--other-builds", a.other_builds,
                   "entries that this build on this processor does not use");
  command
      .add_option("--most", a.most_mib,
                  "MiB that each kind may take: entries that were used least recently go first")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
}
void name_output(CLI::App& command, CacheArguments& a) {
  command.add_option("FILE", a.file, "file to write")->required();
  choose(command, a);
}
void name_input(CLI::App& command, CacheArguments& a) {
  command
      .add_option("FILE", a.file,
                  "file that `export` wrote; its code will be run, so take it only from where you "
                  "would take a program")
      ->required();
}

struct CacheCommand {
  const char* name;
  const char* what;
  Declare declare;
  int (*run)(const CacheArguments& a);
};

constexpr CacheCommand commands[] = {
    {"list", "A line an entry: kernel, size, last use, whether it is used here", choose_and_show,
     list_entries},
    {"stats", "How much there is, of what", show, show_statistics},
    {"why-miss", "In which fields of their keys entries differ from this build and processor",
     choose_and_show, explain_miss},
    {"verify", "Look for damaged entries", offer_repair, verify_entries},
    {"prune", "Remove entries", choose_what_goes, prune_entries},
    {"export", "Write entries to one file, for another machine", name_output, export_entries},
    {"import", "Take over the entries of such a file", name_input, import_entries},
};

}  // namespace

void add_cache(CLI::App& command) {
  command.require_subcommand(1);
  for (const CacheCommand& one : commands) {
    auto a = std::make_shared<CacheArguments>();
    CLI::App& sub = *command.add_subcommand(one.name, one.what);
    one.declare(sub, *a);
    sub.callback([a, &one] {
      if (int code = one.run(*a); code != 0) throw CLI::RuntimeError(code);
    });
  }
}

}  // namespace tilewright::tools
