#include "models/encoder/sentence_modules.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "models/files/config_fields.h"
#include "models/files/reader.h"
#include "models/files/tree.h"
#include "models/weights/weights.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  // A link that leads nowhere is a file that cannot be read, and no absent one.
  return exists(fs::symlink_status(path, ignored));
}

struct NamedPool {
  std::string_view name, flag;
  Pool pool;
};
// In the order in which their vectors follow each other.
constexpr std::array<NamedPool, 6> pools = {
    {{"cls", "pooling_mode_cls_token", Pool::first},
     {"max", "pooling_mode_max_tokens", Pool::max},
     {"mean", "pooling_mode_mean_tokens", Pool::mean},
     {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", Pool::mean_sqrt},
     {"weightedmean", "pooling_mode_weightedmean_tokens", Pool::weighted_mean},
     {"lasttoken", "pooling_mode_lasttoken", Pool::last}}};

struct NamedFunction {
  std::string_view name;
  SentenceDense::Function function;
};
constexpr std::array<NamedFunction, 6> functions = {
    {{"Identity", SentenceDense::Function::identity},
     {"Tanh", SentenceDense::Function::tanh},
     {"ReLU", SentenceDense::Function::relu},
     {"GELU", SentenceDense::Function::gelu},
     {"SiLU", SentenceDense::Function::silu},
     {"Sigmoid", SentenceDense::Function::sigmoid}}};

template <typename Table>
std::string names_in(const Table& table) {
  std::string names;
  for (const auto& row : table) names += concat(names.empty() ? "" : ", ", row.name);
  return names;
}

// The part of a Python class's name behind the last dot.
std::string_view class_of(std::string_view type) {
  return type.substr(type.rfind('.') == type.npos ? 0 : type.rfind('.') + 1);
}

// A file of settings, held as long as its fields are read.
class Settings {
 public:
  Settings(const fs::path& folder, const std::string& name, ModelFileOptions options)
      : what_((folder / name).string()),
        text_(open_model_file(folder, name, embedding_operation, options)
                  ->text(max_config_bytes, embedding_operation)),
        fields_(text_, embedding_operation, what_) {}
  const ConfigFields& operator*() const { return fields_; }
  const ConfigFields* operator->() const { return &fields_; }

 private:
  std::string what_, text_;
  ConfigFields fields_;
};

class ModulesReader {
 public:
  ModulesReader(const fs::path& folder, ModelFileOptions options)
      : folder_(folder), options_(options) {}

  SentenceModules read() {
    result_.model = folder_;
    if (is_there(folder_ / "modules.json")) read_list();
    read_model_settings();
    read_prompts();
    return std::move(result_);
  }

 private:
  void read_list() {
    constexpr const char* name = "modules.json";
    const std::string what = (folder_ / name).string();
    const std::string text = open_model_file(folder_, name, embedding_operation, options_)
                                 ->text(max_config_bytes, embedding_operation);
    json::Limits limits{.text_bytes = max_config_bytes, .depth = 8, .string_bytes = 4096};
    const json::Node root = json::read_tree(text, embedding_operation, what, limits);
    const auto count = root.items.size();
    require(root.kind == json::Node::Kind::array && count > 0 && count <= 32, "[",
            embedding_operation, "] ", what, ": is ", json::describe(root), " of ", count,
            " modules; a list of 1 to 32 is needed");
    for (std::size_t i = 0; i < count; ++i) {
      auto text_of = [&](std::string_view member) {
        const json::Node* node = root.items[i].find(member);
        require(node != nullptr && node->is_string(), "[", embedding_operation, "] ", what,
                ": module ", i, " has no ", member, "; a text is needed");
        return node->scalar.string;
      };
      add(i, text_of("type"), text_of("path"), what);
    }
  }

  fs::path folder_of(const std::string& path, const std::string& what) const {
    if (path.empty()) return folder_;
    const bool is_plain =
        path != "." && path != ".." && path.find('/') == path.npos && path.find('\\') == path.npos;
    require(is_plain && (options_.links_may_leave || !fs::is_symlink(folder_ / path)), "[",
            embedding_operation, "] ", what, ": the path \"", json::excerpt(path),
            "\" leads elsewhere; the name of a folder inside, which is no link, is needed");
    return folder_ / path;
  }

  void add(std::size_t place, const std::string& type, const std::string& path,
           const std::string& what) {
    const std::string_view kind = class_of(type);
    const fs::path folder = folder_of(path, what);
    require((kind == "Transformer") == (place == 0) && (kind == "Pooling") == (place == 1), "[",
            embedding_operation, "] ", what, ": module ", place, " is of type \"",
            json::excerpt(type), "\"; Transformer, then Pooling, then others are needed");
    if (kind == "Transformer")
      result_.model = folder;
    else if (kind == "Pooling")
      read_pooling(folder);
    else if (kind == "Dense")
      read_dense(folder);
    else if (kind == "Normalize")
      result_.steps.push_back(nullptr);
    else
      require(kind == "Dropout", "[", embedding_operation, "] ", what, ": module ", place,
              " is of type \"", json::excerpt(type),
              "\"; supported are Transformer, Pooling, Dense, Normalize and Dropout");
  }

  void read_pooling(const fs::path& folder) {
    const Settings settings(folder, "config.json", options_);
    result_.modes.clear();
    for (const NamedPool& known : pools)
      if (settings->boolean(known.flag, false)) result_.modes.push_back(known.pool);
    if (settings->has("pooling_mode")) {
      result_.modes.clear();
      for (const std::string& mode : settings->is_list("pooling_mode")
                                         ? settings->texts("pooling_mode")
                                         : std::vector{settings->text("pooling_mode")}) {
        const auto* found = std::ranges::find(pools, mode, &NamedPool::name);
        require(found != pools.end() && result_.modes.size() < pools.size(), "[",
                embedding_operation, "] ", settings->what(), ": pooling_mode has \"",
                json::excerpt(mode), "\"; supported are ", names_in(pools), ", each once");
        result_.modes.push_back(found->pool);
      }
    }
    if (result_.modes.empty()) result_.modes = {Pool::mean};
    for (std::string_view width : {"word_embedding_dimension", "embedding_dimension"})
      if (settings->has(width)) result_.pooled_width = settings->integer(width);
    result_.pools_prompt = settings->boolean("include_prompt", true);
    settings->refuse_unread({});
  }

  void read_dense(const fs::path& folder) {
    const Settings settings(folder, "config.json", options_);
    const std::int64_t in = settings->integer("in_features"),
                       out = settings->integer("out_features");
    for (std::int64_t size : {in, out})
      check_config_range(embedding_operation, settings->what(), "a number of features", size, 1,
                         1 << 20);
    const std::string type = settings->text("activation_function", "Tanh");
    const auto* found = std::ranges::find(functions, class_of(type), &NamedFunction::name);
    require(found != functions.end(), "[", embedding_operation, "] ", settings->what(),
            ": activation_function is \"", json::excerpt(type), "\"; supported are ",
            names_in(functions));
    for (std::string_view name : {"module_input_name", "module_output_name"})
      settings->expect(name, "sentence_embedding");
    const bool has_bias = settings->boolean("bias", true);
    settings->refuse_unread({});
    const Weights weights = Weights::open(folder, {.links_may_leave = options_.links_may_leave});
    std::int64_t held = 0;
    for (const std::string& name : weights.names()) held += element_count(weights.shape(name));
    require(held >= in * out, "[", embedding_operation, "] ", settings->what(), ": ", in, " x ",
            out, " features; the weights beside it hold ", held, " numbers");
    result_.steps.push_back(std::make_unique<SentenceDense>(in, out, has_bias, found->function));
    result_.steps.back()->load(weights);
  }

  // Beside the model: how many tokens a text may have.
  void read_model_settings() {
    auto limit = [&](std::int64_t tokens, std::string_view what) {
      check_config_range(embedding_operation, what, "the most tokens of a text", tokens, 1,
                         1 << 20);
      result_.max_tokens = std::min(result_.max_tokens.value_or(tokens), tokens);
    };
    if (is_there(result_.model / "sentence_bert_config.json")) {
      const Settings settings(result_.model, "sentence_bert_config.json", options_);
      result_.lowers_case = settings->boolean("do_lower_case", false);
      if (settings->has("max_seq_length"))
        limit(settings->integer("max_seq_length"), settings->what());
      settings->expect("transformer_task", "feature-extraction");
      settings->expect("module_output_name", "token_embeddings");
    }
    if (result_.max_tokens || !is_there(result_.model / "tokenizer_config.json")) return;
    const Settings settings(result_.model, "tokenizer_config.json", options_);
    if (!settings->has("model_max_length")) return;
    const double most = settings->number("model_max_length");
    if (most < 1 << 20) limit(static_cast<std::int64_t>(most), settings->what());  // else: any
  }

  void read_prompts() {
    constexpr const char* name = "config_sentence_transformers.json";
    if (!is_there(folder_ / name)) return;
    const Settings settings(folder_, name, options_);
    if (auto prompts = settings->object("prompts"))
      for (const std::string& prompt : prompts->members())
        result_.prompts[prompt] = prompts->text(prompt);
    if (!settings->has("default_prompt_name")) return;
    result_.default_prompt = settings->text("default_prompt_name");
    require(result_.prompts.contains(result_.default_prompt), "[", embedding_operation, "] ",
            settings->what(), ": default_prompt_name is \"", json::excerpt(result_.default_prompt),
            "\", which prompts does not have");
  }

  fs::path folder_;
  ModelFileOptions options_;
  SentenceModules result_;
};

}  // namespace

SentenceDense::SentenceDense(std::int64_t in, std::int64_t out, bool has_bias, Function function)
    : linear(in, out, has_bias, {.init = Init::none}), function(function) {
  register_module("linear", linear);
}

Tensor SentenceDense::forward(const Tensor& x) const {
  const Tensor y = linear(x);
  switch (function) {
    case Function::identity: break;
    case Function::tanh: return tanh(y);
    case Function::relu: return relu(y);
    case Function::gelu: return gelu(y);
    case Function::silu: return silu(y);
    case Function::sigmoid: return sigmoid(y);
  }
  return y;
}

std::int64_t SentenceModules::width(std::int64_t hidden) const {
  std::int64_t width = hidden * std::ssize(modes);
  for (const auto& dense : steps)
    if (dense) width = dense->linear.out();
  return width;
}

SentenceModules read_sentence_modules(const FilePath& folder, ModelFileOptions options) {
  return ModulesReader(folder, options).read();
}

}  // namespace tilewright
