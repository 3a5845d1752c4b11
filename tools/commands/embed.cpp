// `tilewright embed`: vectors of texts, by an encoder or a folder of sentence-transformers.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/encoder/embedding_model.h"
#include "tools/console/command.h"
#include "tools/console/terminal_text.h"

namespace tilewright::tools {
namespace {

struct EmbedArguments {
  std::string model, file;
  std::vector<std::string> texts;
  std::optional<std::string> prompt;
  std::optional<std::int64_t> max_tokens;
  std::int64_t batch = 0;  // texts of a call; 0: all
  std::int64_t passes = 1;
  bool json = false, follow_links = false;
  RunOptions run;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// One for each line.
void append_lines(std::istream& in, std::vector<std::string>& texts) {
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    texts.push_back(line);
  }
}

std::vector<std::string> texts_of(const EmbedArguments& a) {
  std::vector<std::string> texts = a.texts;
  if (a.file == "-") {
    append_lines(std::cin, texts);
  } else if (!a.file.empty()) {
    require_file("embed", a.file, "a file of texts");
    std::ifstream in(a.file);
    append_lines(in, texts);
  }
  require_use(!texts.empty(),
              "[embed] there is no text; --text TEXT, several times, or --file FILE "
              "with one on each line is needed");
  return texts;
}

struct Vectors {
  std::vector<Tensor> parts;  // [texts of a call, width]
  std::vector<double> pass_seconds;
};

Vectors embed_all(EmbeddingModel& model, std::span<const std::string> texts,
                  const EmbedArguments& a) {
  const std::size_t batch = a.batch > 0 ? static_cast<std::size_t>(a.batch) : texts.size();
  Vectors result;
  for (std::int64_t pass = 0; pass < a.passes; ++pass) {
    const auto begin = std::chrono::steady_clock::now();
    result.parts.clear();
    for (std::size_t at = 0; at < texts.size(); at += batch)
      result.parts.push_back(
          model.embed(texts.subspan(at, std::min(batch, texts.size() - at)), {.prompt = a.prompt}));
    result.pass_seconds.push_back(seconds_since(begin));
  }
  return result;
}

void print_json(const EmbeddingModel& model, std::span<const std::string> texts,
                const Vectors& vectors, double load_s, const EmbedArguments& a) {
  nlohmann::json list = nlohmann::json::array();
  std::size_t text = 0;
  for (const Tensor& part : vectors.parts) {
    const std::vector<float> numbers = part.to_vector<float>();
    const auto width = static_cast<std::size_t>(model.width());
    for (std::size_t at = 0; at < numbers.size(); at += width, ++text)
      list.push_back(
          {{"text", texts[text]},
           {"ids", model.encode(texts[text], {.prompt = a.prompt})},
           {"embedding", std::vector<float>(numbers.data() + at, numbers.data() + at + width)}});
  }
  const nlohmann::json report = {{"width", model.width()},
                                 {"texts", list},
                                 {"load_s", load_s},
                                 {"pass_s", vectors.pass_seconds}};
  fmt::print("{}\n", report.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
}

// A line for each text.
void print_lines(const EmbeddingModel& model, const Vectors& vectors, std::size_t texts) {
  const auto width = static_cast<std::size_t>(model.width());
  for (const Tensor& part : vectors.parts) {
    const std::vector<float> numbers = part.to_vector<float>();
    for (std::size_t i = 0; i < numbers.size(); ++i)
      fmt::print("{:.6g}{}", numbers[i], (i + 1) % width == 0 ? "\n" : " ");
  }
  fmt::print(stderr, "{} texts, {} numbers each; {:.0f} texts/s\n", texts, width,
             static_cast<double>(texts) / vectors.pass_seconds.back());
}

void embed(const EmbedArguments& a) {
  require_file("embed", a.model, "the folder of an encoder");
  const std::vector<std::string> texts = texts_of(a);
  Options options = a.run.compile_options();
  options.freezing = a.run.freezing.value_or(true);
  const auto begin = std::chrono::steady_clock::now();
  EmbeddingModel model(
      a.model, {.links_may_leave = a.follow_links, .max_tokens = a.max_tokens, .compile = options});
  const double load_s = seconds_since(begin);
  const Vectors vectors = embed_all(model, texts, a);
  if (a.json)
    print_json(model, texts, vectors, load_s, a);
  else
    print_lines(model, vectors, texts.size());
}

}  // namespace

void add_embed(CLI::App& command) {
  auto a = std::make_shared<EmbedArguments>();
  command
      .add_option("MODEL_DIR", a->model,
                  "folder of sentence-transformers (modules.json), or of an encoder alone")
      ->required();
  command.add_option("--text", a->texts, "a text; several are several texts");
  command.add_option("--file", a->file, "a file with a text on each line; -: standard input");
  command.add_option(
      "--prompt", a->prompt,
      "name of a prompt of the folder, put before each text (default: the folder's)");
  command.add_option("--max-tokens", a->max_tokens, "of a text, fewer than the folder allows")
      ->check(above_zero());
  command.add_option("--batch", a->batch, "texts that are read at once (0: all)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--passes", a->passes, "times that all texts are read, each timed")
      ->check(above_zero())
      ->capture_default_str();
  command.add_flag(
      "--follow-links", a->follow_links,
      "also where they lead out of the folder (and not to the Hugging Face cache's own "
      "files)");
  command.add_flag("--json", a->json, "print ids, vectors and timings as JSON, nothing else");
  a->run.add_to(command);
  command.callback([a] { embed(*a); });
}

}  // namespace tilewright::tools
