// `tilewright generate`: text from a language model.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <source_location>
#include <vector>

#include "graph/functions/quantized.h"
#include "models/adapters/bank/adapter_bank.h"
#include "models/adapters/lora.h"
#include "models/decoder/decoder_families.h"
#include "models/decoder/language_model.h"
#include "models/decoder/load_model.h"
#include "models/files/reader.h"
#include "models/generate/generate.h"
#include "models/gguf/gguf_file.h"
#include "models/tokenizer/tokenizer.h"
#include "tools/console/command.h"
#include "tools/console/load_progress.h"
#include "tools/console/model_dtypes.h"
#include "tools/console/terminal_text.h"

namespace tilewright::tools {
namespace {

struct GenerateArguments {
  std::string model;
  std::vector<std::string> prompts;        // none: an empty one
  std::optional<std::int64_t> max_tokens;  // new ones; 256, if the model has so many positions
  std::optional<std::int64_t> cache_rows;  // none: a cache for each text
  GenerateOptions wanted;                  // but for the tokens at the most
  std::vector<std::string> biases;         // ID=NUMBER
  std::int64_t group_size = 0;
  ModelDTypes dtypes;
  std::string weights, activations;
  std::vector<std::string> adapters;  // FOLDER or NAME=FOLDER
  std::vector<std::string> used;      // --use: of each prompt
  std::string draft_model;
  bool json = false, follow_links = false, merges_adapters = false;
  RunOptions run;
};

nlohmann::json as_json(const TokenLogprob& token) {
  nlohmann::json top = nlohmann::json::array();
  for (const auto& likely : token.top)
    top.push_back({{"id", likely.id}, {"logprob", likely.logprob}});
  return {{"id", token.id}, {"logprob", token.logprob}, {"top", top}};
}

nlohmann::json as_json(const Generation& g, const GenerateOptions& wanted) {
  const auto new_ids = g.new_ids();
  nlohmann::json all = {{"prompt_ids", g.prompt_ids},
                        {"new_ids", std::vector<TokenId>(new_ids.begin(), new_ids.end())},
                        {"ids", g.ids},
                        {"text", g.text},
                        {"new_text", g.new_text},
                        {"finish", name_of(g.finish)},
                        {"compile_s", g.compile_s},
                        {"prefill_s", g.prefill_s},
                        {"decode_s", g.decode_s},
                        {"decode_tokens_per_s", g.decode_tokens_per_s()},
                        {"peak_memory_bytes", g.peak_memory_bytes}};
  if (wanted.drafts.tokens > 0) {
    all["drafted_tokens"] = g.drafted_tokens;
    all["accepted_tokens"] = g.accepted_tokens;
  }
  if (wanted.first_logits) all["first_logits"] = g.first_logits;
  if (wanted.num_beams > 1) all["score"] = g.score;
  if (!wanted.logprobs) return all;
  all["logprobs"] = nlohmann::json::array();
  for (const TokenLogprob& token : g.logprobs) all["logprobs"].push_back(as_json(token));
  return all;
}

// {"12=-3.5", ..}: token 12 gets 3.5 less.
std::map<TokenId, double> biases_of(const std::vector<std::string>& texts) {
  std::map<TokenId, double> biases;
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    const std::string id = text.substr(0, sign);
    const std::string number = sign == text.npos ? "" : text.substr(sign + 1);
    TokenId token = 0;
    double bias = 0;
    require_use(CLI::detail::lexical_cast(id, token) && CLI::detail::lexical_cast(number, bias) &&
                    token >= 0,
                "[generate] --logit-bias is ", text, "; ID=NUMBER is needed, as in 12=-3.5");
    biases[token] = bias;
  }
  return biases;
}

QuantizeOptions quantize_options(const GenerateArguments& a) {
  require_use(a.weights == "int8" || a.weights == "int4", "[generate] --weights is ",
              a.weights.empty() ? "absent" : a.weights, "; int8 and int4 can be chosen",
              a.weights.empty() ? ", which --activations needs" : "");
  require_use(a.activations.empty() || a.activations == "int8", "[generate] --activations is ",
              a.activations, "; int8 can be chosen");
  QuantizeOptions options;
  if (!a.activations.empty()) options.activations = Activations::int8;
  if (a.weights == "int4") {
    options.format = WeightFormat::int4;
    options.group_size = packed_block;
  }
  if (a.group_size > 0) options.group_size = a.group_size;
  return options;
}

bool is_quantized(const GenerateArguments& a) {
  return !a.weights.empty() || !a.activations.empty();
}

// As config.json has them; none where it cannot be read: loading the model says what is wrong.
std::optional<std::int64_t> positions_of(const GenerateArguments& a, const std::string& model) {
  try {
    return read_decoder_config(model, {.links_may_leave = a.follow_links}).max_positions;
  } catch (const Error&) {
    return {};
  }
}

struct NamedFolder {
  std::string name, folder;
};

// NAME=FOLDER, or a folder, whose last part is the name then.
NamedFolder adapter_of(const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign != text.npos && sign > 0 && text.find('/') > sign)
    return {text.substr(0, sign), text.substr(sign + 1)};
  const auto path = (std::filesystem::path(text) / "").parent_path();
  return {path.filename().string(), text};
}

using Parts = std::vector<std::pair<std::string, double>>;

// "french", or "french*0.5+legal": adapters with weights; empty for "none".
Parts parts_of(const std::string& use, const GenerateArguments& a) {
  Parts parts;
  if (use == "none") return parts;
  for (std::size_t begin = 0; begin <= use.size();) {
    const std::size_t end = std::min(use.find('+', begin), use.size());
    std::string name = use.substr(begin, end - begin);
    double weight = 1;
    if (const std::size_t sign = name.find('*'); sign != name.npos) {
      require_use(CLI::detail::lexical_cast(name.substr(sign + 1), weight) &&
                      std::isfinite(static_cast<float>(weight)),
                  "[generate] --use is ", use, "; NAME*NUMBER is needed, as in french*0.5+legal");
      name.erase(sign);
    }
    const bool is_known = std::ranges::any_of(
        a.adapters, [&](const std::string& text) { return adapter_of(text).name == name; });
    require_use(is_known, "[generate] --use is ", use, "; there is no --adapter ", name,
                "=FOLDER of that name");
    parts.emplace_back(std::move(name), weight);
    begin = end + 1;
  }
  return parts;
}

void check_adapters(const GenerateArguments& a) {
  for (const std::string& adapter : a.adapters)
    require_file(
        "generate",
        (std::filesystem::path(adapter_of(adapter).folder) / "adapter_config.json").string(),
        "the folder of an adapter");
  require_use(!a.merges_adapters || !a.adapters.empty(),
              "[generate] --merge-adapters is given without --adapter FOLDER, which it is about");
  require_use(a.used.empty() || !a.merges_adapters,
              "[generate] --merge-adapters is given with --use; adapters that prompts choose are "
              "not merged");
  require_use(a.used.size() <= 1 || a.used.size() == a.prompts.size(), "[generate] --use is given ",
              a.used.size(), " times for ", a.prompts.size(),
              " prompts; once for all or once for each is needed");
  for (const std::string& use : a.used) parts_of(use, a);
  require_use(a.used.empty() || !a.adapters.empty(),
              "[generate] --use is given without --adapter NAME=FOLDER");
}

// All checks that need no weights.
void check_arguments(const GenerateArguments& a) {
  const GenerateOptions& w = a.wanted;
  as_misuse([&] { Sampler{w.sampling}; });
  as_misuse([&] { StopStrings{w.stop}; });
  require_use(w.steps_a_round <= 1 || w.sampling.temperature == 0, "[generate] --steps-a-round is ",
              w.steps_a_round, " with a temperature of ", w.sampling.temperature,
              "; several steps need a temperature of 0");
  const bool is_one = a.prompts.size() == 1 && w.n == 1 && w.num_beams == 1 && w.steps_a_round <= 1;
  require_use(w.drafts.tokens >= 0 && w.drafts.tokens <= DraftOptions::most_tokens,
              "[generate] --draft-tokens is ", w.drafts.tokens, "; from 0 to ",
              DraftOptions::most_tokens, " guesses can be checked in one call");
  require_use(w.drafts.tokens == 0 || is_one, "[generate] --draft-tokens is ", w.drafts.tokens,
              " for several texts, --beams or --steps-a-round; guesses are checked of one text, "
              "step by step");
  const std::int64_t exact = streamed_rows(a.run.batch_invariant);
  require_use(w.drafts.tokens < exact || a.activations.empty(), "[generate] --draft-tokens is ",
              w.drafts.tokens, " with --activations, which rounds what more than ", exact,
              " tokens multiply; up to ", exact - 1, " leave the text as it is");
  require_use(
      a.draft_model.empty() || w.drafts.tokens > 0,
      "[generate] --draft-model is given without --draft-tokens, the number of its guesses");
  if (!a.draft_model.empty() && !gguf::is_gguf(a.draft_model))
    require_file("generate", (std::filesystem::path(a.draft_model) / "config.json").string(),
                 "the folder of a model that guesses");
  require_use(w.num_beams == 1 || (w.is_plain_greedy() && w.stop.empty() && w.n <= w.num_beams),
              "[generate] --beams is ", w.num_beams,
              " together with sampling, penalties, --logprobs, --stop or a greater --n; a beam "
              "search knows none of these");
  a.dtypes.of_parameters("generate");
  a.dtypes.of_cache("generate");
  if (is_quantized(a)) quantize_options(a);
  require_use(a.group_size == 0 || !a.weights.empty(),
              "[generate] --group-size is given without --weights int8 or int4, which it is of");
  if (gguf::is_gguf(a.model)) {
    require_file("generate", a.model, "a GGUF file");
  } else {
    for (const char* name : {"config.json", "tokenizer.json"})
      require_file("generate", (std::filesystem::path(a.model) / name).string(),
                   "the folder of a Hugging Face model");
  }
  check_adapters(a);
  auto positions = positions_of(a, a.model);
  if (a.max_tokens)
    require_use(!positions || *a.max_tokens <= *positions, "[generate] --max-tokens is ",
                *a.max_tokens, "; the model has ", positions.value_or(0), " positions");
}

std::int64_t most_tokens(const GenerateArguments& a) {
  constexpr std::int64_t usual = 256;
  if (a.max_tokens) return *a.max_tokens;
  return std::min(usual, positions_of(a, a.model).value_or(usual));
}

// As many as prompt and new tokens may take.
std::int64_t needed_positions(const GenerateArguments& a, const Tokenizer& tokenizer) {
  std::ptrdiff_t prompt = 0;
  for (const std::string& text : a.prompts)
    prompt =
        std::max(prompt, std::ssize(tokenizer.encode(text, {.truncate = false, .pad = false})));
  std::int64_t most = positions_of(a, a.model).value_or(std::numeric_limits<std::int64_t>::max());
  return most_tokens(a) < most - prompt ? prompt + most_tokens(a) : most;
}

void quantize(LanguageModel& model, const GenerateArguments& a) {
  if (!is_quantized(a)) return;
  QuantizeOptions options = quantize_options(a);
  auto here = std::source_location::current();
  try {
    model.quantize(options, here);
  } catch (const Error& error) {
    // The line of this file is of no use to someone typing options.
    std::string text = error.what(), line = concat(" (at ", describe(here), ")");
    if (std::size_t at = text.find(line); at != text.npos) text.erase(at, line.size());
    throw Misuse(concat(text, " (--weights ", a.weights, " --group-size ", options.group_size,
                        "; int8 without a group size fits every row)"));
  }
}

// To a pipe or a file as it is: its bytes are what was asked for.
void print_text(std::string_view text) {
  static const bool is_terminal = ::isatty(STDOUT_FILENO) != 0;
  auto write = [](std::string_view part) { fmt::print("{}", part); };
  if (is_terminal)
    write_without_control(text, write);
  else
    write(text);
  std::fflush(stdout);
}

// Adds adapters to the model itself, or, where prompts choose among them, to a bank; returns the
// name in it for each prompt.
std::vector<std::string> load_adapters(LanguageModel& model, const GenerateArguments& a) {
  std::vector<std::string> names;
  if (a.used.empty()) {
    for (const std::string& adapter : a.adapters)
      load_adapter(model, adapter_of(adapter).folder, {a.merges_adapters, a.follow_links});
    return names;
  }
  std::int64_t ranks = 0;
  for (const std::string& adapter : a.adapters)
    ranks += ranks_of_adapter(adapter_of(adapter).folder, a.follow_links);
  Adapters& bank =
      model.adapters({.adapters = std::ssize(a.adapters) + std::ssize(a.used), .ranks = ranks});
  for (const std::string& adapter : a.adapters)
    bank.add(adapter_of(adapter).name, adapter_of(adapter).folder, a.follow_links);
  for (const std::string& use : a.used) {
    const Parts parts = parts_of(use, a);
    const bool is_plain = parts.size() == 1 && parts[0].second == 1;
    const auto known = bank.names();
    if (!parts.empty() && !is_plain && std::ranges::find(known, use) == known.end())
      bank.stack(use, parts);
    names.push_back(parts.empty() ? "" : is_plain ? parts[0].first : use);
  }
  if (names.size() < a.prompts.size()) names.assign(a.prompts.size(), names.front());
  return names;
}

std::vector<Generation> generated(TextGenerator& generator, const GenerateArguments& a,
                                  const GenerateOptions& wanted) {
  if (a.prompts.size() == 1 && wanted.n == 1)
    return {generator.generate(a.prompts.front(), wanted)};
  return generator.generate_all(a.prompts, wanted);
}

void print_json(const std::vector<Generation>& texts, const GenerateOptions& wanted) {
  nlohmann::json report = nlohmann::json::array();
  for (const Generation& text : texts) report.push_back(as_json(text, wanted));
  if (texts.size() == 1)
    report = nlohmann::json(report[0]);
  else
    report = {{"texts", report}};
  // Text may hold bytes that are not UTF-8: a model can stop within a character.
  fmt::print("{}\n", report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

void generate(const GenerateArguments& a) {
  check_arguments(a);
  Options options = a.run.compile_options();
  if (!a.json) fmt::print(stderr, "loading {}\n", a.model);
  Tokenizer tokenizer = load_tokenizer(a.model, {.links_may_leave = a.follow_links});
  // A cache for the tokens that are wanted, not for as many as the model could have.
  ModelOptions wanted_model{.max_positions = needed_positions(a, tokenizer),
                            .dtype = a.dtypes.of_parameters("generate"),
                            .cache_dtype = a.dtypes.of_cache("generate"),
                            .links_may_leave = a.follow_links,
                            .device = options.device};
  if (!a.json && ::isatty(STDERR_FILENO) != 0) wanted_model.progress = show_progress;
  if (!a.json)
    wanted_model.note = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  auto model = load_model(a.model, wanted_model);
  const std::vector<std::string> names = load_adapters(*model, a);
  quantize(*model, a);
  std::unique_ptr<LanguageModel> draft;
  if (!a.draft_model.empty()) {
    wanted_model.max_positions =
        std::min(*wanted_model.max_positions,
                 positions_of(a, a.draft_model).value_or(*wanted_model.max_positions));
    draft = load_model(a.draft_model, wanted_model);
  }
  TextGenerator generator(*model, std::move(tokenizer), options,
                          a.cache_rows ? model->new_pages(*a.cache_rows) : nullptr);
  generator.set_draft_model(draft.get());
  GenerateOptions wanted = a.wanted;
  wanted.max_new_tokens = most_tokens(a);
  const bool is_single = a.prompts.size() == 1 && wanted.n == 1;
  if (!names.empty() && is_single) wanted.adapter = names.front();
  if (!is_single) wanted.adapters = names;
  wanted.min_new_tokens = std::min(wanted.min_new_tokens, wanted.max_new_tokens);
  if (!a.json) {
    fmt::print(stderr, "compiling ({}, {})\n", a.run.backend, a.run.mode);
    if (is_single) print_text(a.prompts.front());
    if (is_single) wanted.on_text = print_text;
  }
  const std::vector<Generation> texts = generated(generator, a, wanted);
  if (a.json) return print_json(texts, wanted);
  for (const Generation& g : texts) {
    if (!is_single) print_text(g.text);
    fmt::print("\n");
    fmt::print(stderr, "{} tokens; compiled in {:.2f} s, prompt {:.1f} ms, {:.0f} tokens/s\n",
               g.ids.size(), g.compile_s, g.prefill_s * 1e3, g.decode_tokens_per_s());
  }
}

// How tokens are chosen, and when a text ends.
void add_choices(CLI::App& command, GenerateArguments& a) {
  SamplingOptions& s = a.wanted.sampling;
  auto add = [&](const char* name, auto& value, const char* text) {
    command.add_option(name, value, text)->capture_default_str();
  };
  add("--temperature", s.temperature, "0 takes the likeliest token always");
  add("--top-k", s.top_k, "draw from the k likeliest (0: all)");
  add("--top-p", s.top_p, "draw from the likeliest that together reach this probability");
  add("--min-p", s.min_p, "draw from those with this share of the likeliest one's probability");
  add("--repetition-penalty", s.repetition_penalty,
      "divides positive logits of tokens that occurred, and multiplies negative ones");
  add("--presence-penalty", s.presence_penalty,
      "is subtracted from logits of tokens that occurred behind the prompt");
  add("--frequency-penalty", s.frequency_penalty, "likewise, for each occurrence");
  given_again(
      command.add_option("--logit-bias", a.biases, "ID=NUMBER, added to the logit of that token"));
  add("--seed", s.seed, "of the random draws");
  command.add_option("--min-tokens", a.wanted.min_new_tokens, "new tokens at the least")
      ->check(CLI::NonNegativeNumber);
  given_again(command.add_option("--stop", a.wanted.stop,
                                 "the text ends before this; several may be given"));
  given_again(command.add_option("--stop-token", a.wanted.stop_tokens,
                                 "id that ends the text; several may be"));
  add("--n", a.wanted.n, "texts for each prompt");
  command.get_option("--n")->check(above_zero());
  add("--beams", a.wanted.num_beams, "beam search with so many texts");
  command.get_option("--beams")->check(above_zero());
  add("--length-penalty", a.wanted.length_penalty,
      "a beam counts as its log-probability over its length to this power");
  add("--max-batch", a.wanted.max_batch, "texts that go through the model together");
  command.get_option("--max-batch")->check(above_zero());
  command
      .add_option("--cache-rows", a.cache_rows,
                  "keep keys and values in pages, for so many tokens of all texts together "
                  "(default: each text has memory for the longest)")
      ->check(above_zero());
  add("--draft-tokens", a.wanted.drafts.tokens,
      "of one text: so many next tokens, up to 14, are guessed by what followed the last ones "
      "before, and checked in one call");
  command
      .add_option("--logprobs", a.wanted.logprobs,
                  "with --json: log-probabilities, and those of so many of the likeliest tokens")
      ->check(CLI::NonNegativeNumber);
  command.add_flag("--first-logits", a.wanted.first_logits,
                   "with --json: the logits behind the prompt");
}

void add_adapters(CLI::App& command, GenerateArguments& a) {
  given_again(command.add_option(
      "--adapter", a.adapters,
      "folder with adapter_config.json and adapter_model.safetensors of PEFT (LoRA, "
      "DoRA), or NAME=FOLDER; several are added up, unless --use chooses"));
  given_again(command.add_option(
      "--use", a.used,
      "the adapter of a prompt by its NAME (or the folder's), a sum as in "
      "french*0.5+legal, or none; once for all prompts, or once for each in order"));
  command.add_flag("--merge-adapters", a.merges_adapters,
                   "add adapters to the weights, instead of keeping them beside these");
}

}  // namespace

void add_generate(CLI::App& command) {
  auto a = std::make_shared<GenerateArguments>();
  command
      .add_option("MODEL_DIR", a->model,
                  "folder with config.json, model.safetensors and tokenizer.json, or a .gguf file")
      ->required();
  given_again(command.add_option(
      "--prompt", a->prompts,
      "text to continue; none: the model begins one, if its tokenizer has a token "
      "for that; several are decoded together"));
  command
      .add_option("--max-tokens,--max-new-tokens", a->max_tokens,
                  "new tokens at the most (default: 256, or the model's positions)")
      ->check(above_zero());
  add_choices(command, *a);
  command
      .add_option(
          "--steps-a-round", a->wanted.steps_a_round,
          "steps that the device takes before the host looks, if the temperature is 0 (0: 8 "
          "on a GPU, else 1)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_flag(
      "--follow-links", a->follow_links,
      "also where they lead out of the folder (and not to the Hugging Face cache's own "
      "files)");
  a->dtypes.add_to(command);
  command.add_option("--weights", a->weights,
                     "int8 (a scale a row) or int4 (a scale for 32): weights of linear layers and "
                     "of the head as integers; others are converted to --dtype");
  command
      .add_option(
          "--group-size", a->group_size,
          "weights along a row that share a scale, of 4 bits in whole blocks of 32 (default: "
          "the row of 8 bits, 32 of 4)")
      ->check(above_zero());
  command.add_option("--activations", a->activations,
                     "int8: what prompts of more than four tokens multiply such weights by is "
                     "rounded to 8 bits, for twice the speed");
  add_adapters(command, *a);
  command.add_option("--draft-model", a->draft_model,
                     "a smaller model of the same tokens, a folder or a GGUF file, which guesses "
                     "those of --draft-tokens instead");
  command.add_flag("--json", a->json, "print ids, text and timings as JSON, nothing else");
  a->run.add_to(command);
  command.callback([a] {
    if (a->prompts.empty()) a->prompts.emplace_back();
    a->wanted.sampling.logit_bias = biases_of(a->biases);
    generate(*a);
  });
}

}  // namespace tilewright::tools
