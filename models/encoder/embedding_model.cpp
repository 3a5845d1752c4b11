#include "models/encoder/embedding_model.h"

#include <algorithm>
#include <mutex>

#include "models/files/reader.h"
#include "models/files/utf8.h"
#include "models/tokenizer/text/unicode.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

constexpr std::int64_t usual_tokens = 512;  // of a text, where neither folder nor model has a limit
constexpr std::int64_t least_places = 256;  // lanes for several short texts
constexpr std::int64_t no_text = -1;        // the number of a place that belongs to no text

// Programs of GPUs are for one size, so that there these are few.
LaneLimits limits_for(const Device& device, std::int64_t max_places) {
  LaneLimits limits{.max_places = max_places, .call_tokens = 1024};
  if (!device.is_cuda()) return limits;
  limits.call_tokens = 16'384;
  limits.step = 64;
  return limits;
}

std::string in_lower_case(std::string_view text) {
  std::string result;
  tokenizer::for_each_character(text, [&](std::string_view bytes, char32_t value) {
    if (value == tokenizer::no_character)
      result += bytes;
    else
      tokenizer::append_lower_case(result, value);
  });
  return result;
}

}  // namespace

struct EmbeddingModel::Turn {
  std::mutex mutex;
};

struct EmbeddingModel::Arguments {
  std::vector<std::int64_t> ids, positions, texts;
};

EmbeddingModel::EmbeddingModel(const FilePath& folder, EmbeddingOptions options)
    : modules_(read_sentence_modules(folder, {.links_may_leave = options.links_may_leave})),
      tokenizer_(Tokenizer::open(modules_.model / "tokenizer.json",
                                 {.links_may_leave = options.links_may_leave})),
      turn_(new Turn) {
  const EncoderConfig config =
      read_encoder_config(modules_.model, {.links_may_leave = options.links_may_leave});
  max_tokens_ =
      modules_.max_tokens.value_or(config.max_tokens > 0 ? config.max_tokens : usual_tokens);
  if (config.max_tokens > 0) max_tokens_ = std::min(max_tokens_, config.max_tokens);
  if (options.max_tokens) {
    require(*options.max_tokens >= 1, "[", embedding_operation, "] max_tokens is ",
            *options.max_tokens, "; at least 1 token of a text is needed");
    max_tokens_ = std::min(max_tokens_, *options.max_tokens);
  }
  encoder_ = load_encoder(modules_.model, rounded_up(std::max(max_tokens_, least_places), 64),
                          {.dtype = options.dtype,
                           .device = options.compile.device,
                           .links_may_leave = options.links_may_leave});
  require(tokenizer_.size() <= config.vocabulary, "[", embedding_operation, "] ", folder.string(),
          ": the tokenizer has ", tokenizer_.size(), " tokens; the model knows ",
          config.vocabulary);
  require(modules_.pooled_width == 0 || modules_.pooled_width == config.hidden, "[",
          embedding_operation, "] ", folder.string(), ": the pooling is for states of ",
          modules_.pooled_width, " numbers; the model's have ", config.hidden);
  width_ = config.hidden * std::ssize(modules_.modes);
  options.compile.dynamic = Dynamic::always;
  options.compile.max_sizes = std::max(options.compile.max_sizes, 256);
  for (const auto& dense : modules_.steps) {
    layers_.emplace_back();
    if (!dense) continue;
    require(dense->linear.in() == width_, "[", embedding_operation, "] ", folder.string(),
            ": a Dense takes ", dense->linear.in(), " features; the vectors before it have ",
            width_);
    width_ = dense->linear.out();
    dense->to(options.compile.device);
    layers_.back() =
        compile([&dense = *dense](const Tensor& x) { return dense.forward(x); }, options.compile);
  }
  states_ = compile(
      [encoder = encoder_.get()](const Tensor& ids, const Tensor& positions, const Tensor& texts) {
        return encoder->forward(ids, positions, texts);
      },
      options.compile);
}

std::vector<TokenId> EmbeddingModel::encode(const std::string& text,
                                            const EmbedOptions& options) const {
  const std::string name = options.prompt.value_or(modules_.default_prompt);
  std::string whole = text;
  if (!name.empty()) {
    auto prompt = modules_.prompts.find(name);
    std::string names;
    for (const auto& [known, ignored] : modules_.prompts)
      names += concat(names.empty() ? "" : ", ", json::excerpt(known));
    require(prompt != modules_.prompts.end(), "[embed] the folder has no prompt \"",
            json::excerpt(name), "\"; it has ", names.empty() ? "none" : names);
    require(modules_.pools_prompt || prompt->second.empty(),
            "[embed] the folder leaves the prompt's tokens out of the mean (include_prompt), "
            "which is not supported; a folder that includes them, or a prompt without text, is "
            "needed");
    whole = prompt->second + whole;
  }
  if (modules_.lowers_case) whole = in_lower_case(whole);
  return tokenizer_.encode(whole, {.pad = false, .max_tokens = max_tokens_});
}

EmbeddingModel::Arguments EmbeddingModel::arguments(
    const LaneCall& call, const std::vector<std::vector<TokenId>>& ids) const {
  const EncoderConfig& config = encoder_->config();
  const auto places = static_cast<std::size_t>(call.sizes.places);
  const std::size_t count = static_cast<std::size_t>(call.sizes.lanes) * places;
  Arguments result{std::vector<std::int64_t>(count), std::vector<std::int64_t>(count),
                   std::vector<std::int64_t>(count, no_text)};
  for (const PlacedText& text : call.texts) {
    std::size_t at =
        static_cast<std::size_t>(text.lane) * places + static_cast<std::size_t>(text.begin);
    std::int64_t position = config.position_offset;
    for (TokenId id : ids[text.text]) {
      const bool is_counted = config.uncounted_id != id;
      result.ids[at] = id;
      result.positions[at] = is_counted ? position++ : id;
      result.texts[at++] = static_cast<std::int64_t>(text.text);
    }
  }
  return result;
}

void EmbeddingModel::run(const LaneCall& call, const std::vector<std::vector<TokenId>>& ids,
                         std::span<float> pooled) {
  const Arguments given = arguments(call, ids);
  const Shape shape = {call.sizes.lanes, call.sizes.places};
  const Device device = encoder_->device();
  auto tensor = [&](const std::vector<std::int64_t>& numbers) {
    return Tensor::from(numbers, shape).to(device);
  };
  const Tensor states =
      (*states_)(tensor(given.ids), tensor(given.positions), tensor(given.texts)).to(Device::cpu());
  const auto width = static_cast<std::size_t>(encoder_->config().hidden);
  const std::span<const float> all(static_cast<const float*>(states.const_data()),
                                   static_cast<std::size_t>(states.count()));
  const std::size_t each = width * modules_.modes.size();
  for (const PlacedText& text : call.texts) {
    const auto begin = static_cast<std::size_t>(text.lane * call.sizes.places + text.begin);
    pool(all.subspan(begin * width, static_cast<std::size_t>(text.tokens) * width), width,
         modules_.modes, pooled.subspan(text.text * each, each));
  }
}

Tensor EmbeddingModel::finished(Tensor vectors) {
  for (std::optional<Compiled>& layer : layers_) {
    if (layer) {
      vectors = (*layer)(vectors.to(encoder_->device())).to(Device::cpu());
      continue;
    }
    std::vector<float> numbers = vectors.to_vector<float>();
    const auto width = static_cast<std::size_t>(vectors.size(1));
    for (std::size_t at = 0; at < numbers.size(); at += width)
      normalize(std::span(numbers).subspan(at, width));
    vectors = Tensor::from(numbers, vectors.shape());
  }
  return vectors;
}

Tensor EmbeddingModel::embed(std::span<const std::string> texts, const EmbedOptions& options) {
  if (texts.empty()) return Tensor::empty({0, width_}, f32);
  std::vector<std::vector<TokenId>> ids;
  std::vector<std::int64_t> tokens;
  for (const std::string& text : texts) {
    ids.push_back(encode(text, options));
    tokens.push_back(std::ssize(ids.back()));
    require(tokens.back() > 0, "[embed] text ", ids.size() - 1,
            " has no tokens; at least one is "
            "needed");
  }
  const std::int64_t pooled_width = encoder_->config().hidden * std::ssize(modules_.modes);
  std::vector<float> pooled(texts.size() * static_cast<std::size_t>(pooled_width));
  const std::lock_guard lock(turn_->mutex);
  const LaneLimits limits = limits_for(encoder_->device(), encoder_->max_places());
  for (const LaneCall& call : place_texts(tokens, limits)) run(call, ids, pooled);
  return finished(Tensor::from(pooled, {std::ssize(texts), pooled_width}));
}

Tensor EmbeddingModel::embed(std::initializer_list<std::string> texts,
                             const EmbedOptions& options) {
  return embed(std::span(texts.begin(), texts.size()), options);
}

EmbeddingModel::~EmbeddingModel() = default;

}  // namespace tilewright
