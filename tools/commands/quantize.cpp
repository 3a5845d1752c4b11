// `tilewright quantize`: a folder of a model whose linear layers have fewer bits.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "models/files/reader.h"
#include "models/quantise/quantise_folder.h"
#include "runtime/base/error.h"
#include "tools/console/command.h"

namespace tilewright::tools {
namespace {

struct QuantizeArguments {
  std::string model, format, out;
  bool json = false, follow_links = false;
};

std::string known_formats() {
  std::string names;
  for (std::string_view name : quantise_formats()) names += concat(names.empty() ? "" : ", ", name);
  return names;
}

// One line of a terminal, written over and over.
void show_tensor(std::string_view name) {
  fmt::print(stderr, "\r\033[K{}", concat(json::excerpt(name)));
  std::fflush(stderr);
}

void quantize(const QuantizeArguments& a) {
  require_file("quantize", a.model, "the folder of a Hugging Face model");
  const auto formats = quantise_formats();
  require_use(std::ranges::find(formats, a.format) != formats.end(), "[quantize] --format is ",
              a.format, "; known are ", known_formats());
  QuantiseFolderOptions options{.links_may_leave = a.follow_links};
  const bool shows = !a.json && ::isatty(STDERR_FILENO) != 0;
  if (shows) options.progress = show_tensor;
  const QuantisedFolder result = quantise_folder(a.model, a.format, a.out, options);
  if (shows) fmt::print(stderr, "\r\033[K");
  if (a.json) {
    const nlohmann::json report = {{"format", a.format},
                                   {"out", a.out},
                                   {"quantised", result.quantised},
                                   {"kept", result.kept},
                                   {"bytes_before", result.bytes_before},
                                   {"bytes_after", result.bytes_after}};
    fmt::print("{}\n", report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  constexpr double mib = 1 << 20;
  fmt::print("{} weights as {}, {} as they are; {:.1f} MiB, {:.1f} before\n", result.quantised,
             a.format, result.kept, static_cast<double>(result.bytes_after) / mib,
             static_cast<double>(result.bytes_before) / mib);
}

}  // namespace

void add_quantize(CLI::App& command) {
  auto a = std::make_shared<QuantizeArguments>();
  command
      .add_option("MODEL_DIR", a->model, "folder with config.json and model.safetensors or shards")
      ->required();
  command.add_option("--format", a->format, "of linear layers: " + known_formats())->required();
  command.add_option("-o,--out", a->out, "the folder to write, new or empty")->required();
  command.add_flag(
      "--follow-links", a->follow_links,
      "also where they lead out of the folder (and not to the Hugging Face cache's own "
      "files)");
  command.add_flag("--json", a->json, "print numbers of weights and bytes as JSON, nothing else");
  command.callback([a] { quantize(*a); });
}

}  // namespace tilewright::tools
