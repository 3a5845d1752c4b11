#include "tools/database/commands.h"

#include "tools/database/arguments.h"

namespace tilewright::tools {
namespace {

using Arguments = DatabaseArguments;
using Declare = void (*)(CLI::App& command, Arguments& a);

void select(CLI::App& command, Arguments& a) {
  command.add_option(
      "WHICH", a.wanted,
      "part of a kernel's name or of what was tuned, or the beginning of an id as `list` "
      "shows it");
}

void name_a_key(CLI::App& command, Arguments& a) {
  command
      .add_option("WHICH", a.wanted,
                  "name of the kernel, or the beginning of an id as `list` shows it")
      ->required();
  const char* as = ", as \"name=value name=value\"; default: what is stored of the kernel";
  command.add_option("--hash", a.hash, "hash of the kernel, 32 digits; default: likewise");
  command.add_option("--problem", a.problem, std::string("problem") + as);
  command.add_option("--device", a.device, std::string("device") + as);
  command.add_option("--compiler", a.compiler, std::string("compiler") + as);
}

void name_databases(CLI::App& command, Arguments& a) {
  command.add_option("OTHER", a.files, "other databases: files, or postgresql://...")->required();
}

void name_files(CLI::App& command, Arguments& a) {
  command.add_option("FILE", a.files, "files that `export` wrote")->required();
}

void name_output(CLI::App& command, Arguments& a) {
  command.add_option("FILE", a.out, "file to write")->required();
  command.add_option("--kernel", a.wanted, "only kernels in whose name this occurs, or of this id");
}

void choose_what_goes(CLI::App& command, Arguments& a) {
  select(command, a);
  command
      .add_option("--older-than", a.older_than_days, "rows not seen for so many days; 0: all rows")
      ->check(CLI::NonNegativeNumber);
  command
      .add_option("--keep-builds", a.keep_builds,
                  "rows of all but the so many last compiler builds of each question; 0: of all")
      ->check(CLI::NonNegativeNumber);
  command.add_flag("--failed", a.failed, "rows that are not ok");
}

void offer_repair(CLI::App& command, Arguments& a) {
  command.add_flag("--repair", a.repair, "remove what cannot be read");
}

void name_page(CLI::App& command, Arguments& a) {
  select(command, a);
  command.add_option("--out", a.out, "file to write")->required();
}

void nothing(CLI::App&, Arguments&) {}

struct DatabaseCommand {
  const char* name;
  const char* what;
  Declare declare;
  int (*run)(const Arguments& a);
};

constexpr DatabaseCommand commands[] = {
    {"list", "Tuned kernels: a line per kernel, problem and device", select, list_questions},
    {"show", "All that was tried, the fastest first", select, show_rows},
    {"best", "Winner and runner-up", select, show_best},
    {"history", "Trials in order of time, and the best so far", select, show_history},
    {"why-miss", "In which fields a key differs from the nearest that is stored", name_a_key,
     explain_miss},
    {"diff", "Differences between this database and another", name_databases, compare_databases},
    {"export", "Write rows to one text file", name_output, export_database},
    {"import", "Take over the rows of such files that are right", name_files, import_files},
    {"merge", "Take over the rows of other databases", name_databases, merge_databases},
    {"prune", "Remove rows that match every given option", choose_what_goes, prune_rows},
    {"verify", "Look for damage and rows that are wrong", offer_repair, verify_database},
    {"stats", "How much there is, of what", nothing, show_statistics},
    {"report", "Write a page for a browser: configurations, trials, devices", name_page,
     write_report},
};

}  // namespace

void add_db(CLI::App& command) {
  command.require_subcommand(1);
  for (const DatabaseCommand& one : commands) {
    auto a = std::make_shared<Arguments>();
    CLI::App& sub = *command.add_subcommand(one.name, one.what);
    sub.add_option("--db", a->where,
                   "database: a file, or postgresql://...; default: TILEWRIGHT_TUNE_DB, or the one "
                   "in the cache folder");
    sub.add_option(
           "--format", a->format,
           "table, csv or json: the latter two have numbers, in the units that their columns "
           "name")
        ->check(CLI::IsMember({"table", "csv", "json"}))
        ->capture_default_str();
    sub.add_flag("--wide", a->is_wide, "tables as wide as they are, with all columns");
    one.declare(sub, *a);
    sub.callback([a, &one] {
      if (int code = one.run(*a); code != 0) throw CLI::RuntimeError(code);
    });
  }
}

}  // namespace tilewright::tools
