#include "models/generate/generate.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/cpu/system_memory.h"

namespace tilewright {
namespace {

// Sizes in which a prompt is processed, greatest first; each is a program to compile.
constexpr std::array<std::size_t, 3> piece_sizes = {128, 16, 1};
constexpr std::int64_t steps_of_gpus = 8;

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

std::size_t piece_of(std::size_t rest) {
  return *std::find_if(piece_sizes.begin(), piece_sizes.end(),
                       [&](std::size_t size) { return size <= rest; });
}

}  // namespace

// The generator for the length of a call, with its state where the model is.
class TextGenerator::Turn {
 public:
  explicit Turn(TextGenerator& generator) : generator_(generator) {
    require(!generator.is_generating_.exchange(true, std::memory_order_acquire),
            "[generate] another generation of this TextGenerator is under way; a text needs one of "
            "its own (they share the model)");
    const Device device = generator.model_.device();
    if (generator.state_->device() != device) generator.state_->to(device);
  }
  ~Turn() { generator_.is_generating_.store(false, std::memory_order_release); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  TextGenerator& generator_;
};

TextGenerator::TextGenerator(const LanguageModel& model, Tokenizer tokenizer, Options options)
    : model_(model),
      tokenizer_(std::move(tokenizer)),
      state_(model.new_state()),
      step_(compile(
          [&model, state = state_.get()](const Tensor& ids, const Tensor& position) {
            return model.decode_last(ids, position, *state);
          },
          options)),
      position_(Tensor::scalar<std::int64_t>(0).reshape({1})) {
  require(tokenizer_.size() <= model.vocabulary(), "[generate] the tokenizer has ",
          tokenizer_.size(), " tokens; the model knows ", model.vocabulary());
  for (std::size_t size : piece_sizes)
    ids_[size] =
        Tensor::from(std::vector<std::int64_t>(size, 0), {1, static_cast<std::int64_t>(size)});
}

std::vector<TokenId> TextGenerator::encode(std::string_view prompt,
                                           const GenerateOptions& options) const {
  require(options.max_tokens >= 1, "[generate] max_tokens is ", options.max_tokens,
          "; at least 1 new token is allowed");
  // Lengths in a tokenizer's file are of its training; a prompt is whole, or refused below.
  std::vector<TokenId> ids = tokenizer_.encode(prompt, {.truncate = false, .pad = false});
  require(!ids.empty(), "[generate] the prompt has no tokens; at least one is needed");
  require(std::ssize(ids) < model_.max_positions(), "[generate] the prompt has ", ids.size(),
          " tokens; the model has ", model_.max_positions(),
          " positions, of which a new token needs one");
  return ids;
}

std::int64_t TextGenerator::last_token(const GenerateOptions& options,
                                       std::int64_t prompt_size) const {
  return prompt_size + std::min(options.max_tokens, model_.max_positions() - prompt_size);
}

std::vector<TokenId> TextGenerator::stops(const GenerateOptions& options) const {
  std::vector<TokenId> ids = options.stop_tokens;
  std::ranges::copy(model_.stop_ids(), std::back_inserter(ids));
  return ids;
}

std::int64_t TextGenerator::steps_a_round(const GenerateOptions& options) const {
  std::int64_t wanted = options.steps_a_round;
  bool is_greedy = options.sampling.temperature == 0;
  require(wanted >= 0 && wanted <= model_.max_positions(), "[generate] steps_a_round is ", wanted,
          "; from 0 (as the device likes it) to the model's ", model_.max_positions(),
          " positions are allowed");
  require(wanted <= 1 || is_greedy, "[generate] steps_a_round is ", wanted,
          " with a temperature of ", options.sampling.temperature,
          "; several steps need a temperature of 0, for random numbers are drawn on the host");
  if (wanted > 0) return wanted;
  return model_.device().is_cuda() && is_greedy ? steps_of_gpus : 1;
}

// The host must notice when a text has to be read again, and takes single steps.
bool TextGenerator::is_read_again(const GenerateOptions& options, std::int64_t prompt_size) const {
  std::int64_t last = last_token(options, prompt_size);
  std::int64_t limit = model_.reread_beyond().value_or(last);
  return prompt_size <= limit && limit < last;
}

std::span<const float> TextGenerator::run(std::span<const TokenId> ids, std::size_t begin,
                                          std::size_t size) {
  Tensor& input = ids_.at(size);
  std::copy_n(ids.begin() + static_cast<std::ptrdiff_t>(begin), size,
              static_cast<std::int64_t*>(input.data()));
  *static_cast<std::int64_t*>(position_.data()) = static_cast<std::int64_t>(begin);
  logits_ = step_(input, position_);
  // A model may know more ids than the tokenizer has, for round sizes: those are no tokens.
  return {static_cast<const float*>(logits_.data()), static_cast<std::size_t>(tokenizer_.size())};
}

// Runs a size once at position 0. Its leftovers in the cache are overwritten by the prompt, or lie
// after its end and are overwritten before they are read.
double TextGenerator::compile_piece(std::size_t size) {
  if (std::exchange(is_compiled_[size], true)) return 0;
  Stopwatch watch;
  run(std::vector<TokenId>(size, 0), 0, size);
  return watch.seconds();
}

double TextGenerator::compile_rounds(std::int64_t steps) {
  if (greedy_ && greedy_->steps() == steps && greedy_->device() == model_.device()) return 0;
  Stopwatch watch;
  greedy_ =
      std::make_unique<GreedySteps>(model_, *state_, tokenizer_.size(), steps, step_.options());
  greedy_->warm_up();
  return watch.seconds();
}

void TextGenerator::compile_for(std::size_t prompt_size, std::int64_t steps, Generation& result) {
  for (std::size_t done = 0; done < prompt_size; done += piece_of(prompt_size - done))
    result.compile_s += compile_piece(piece_of(prompt_size - done));
  if (steps == 1) result.compile_s += compile_piece(1);
  if (steps > 1) result.compile_s += compile_rounds(steps);
}

double TextGenerator::warm_up(std::int64_t tokens, const GenerateOptions& options) {
  require(tokens >= 1 && tokens <= model_.max_positions(), "[warm_up] ", tokens,
          " tokens; from 1 to the model's ", model_.max_positions(), " positions are allowed");
  Turn turn(*this);
  double seconds = 0;
  for (std::size_t size : piece_sizes)
    if (size <= static_cast<std::size_t>(tokens)) seconds += compile_piece(size);
  std::int64_t steps = steps_a_round(options);
  return steps > 1 ? seconds + compile_rounds(steps) : seconds;
}

std::span<const float> TextGenerator::prefill(std::span<const TokenId> prompt) {
  state_->expect(std::ssize(prompt));
  std::span<const float> logits;
  for (std::size_t done = 0; done < prompt.size();) {
    std::size_t size = piece_of(prompt.size() - done);
    logits = run(prompt, done, size);
    done += size;
  }
  state_->expect(0);  // from here on a row's position says how long the text is
  return logits;
}

void TextGenerator::decode(std::span<const float> logits, const GenerateOptions& options,
                           std::int64_t steps, Generation& result) {
  Sampler sampler(options.sampling);
  const std::int64_t limit = last_token(options, std::ssize(result.ids));
  std::vector<TokenId> stop_ids = stops(options);
  std::vector<std::int64_t> round;  // of steps, as far as it is not used
  auto following = [&] {
    ++result.decode_steps;
    std::size_t position = result.ids.size() - 1;
    if (std::ssize(result.ids) - 1 == model_.reread_beyond())
      return sampler.choose(prefill(result.ids));
    if (steps == 1) return sampler.choose(run(result.ids, position, 1));
    if (round.empty()) {
      if (result.decode_steps == 1)
        greedy_->start({result.ids.back()}, static_cast<std::int64_t>(position), limit,
                       {stop_ids.begin(), stop_ids.end()});
      round = greedy_->run();
      std::reverse(round.begin(), round.end());
    }
    std::int64_t id = round.back();
    round.pop_back();
    require(id != GreedySteps::not_a_number, "[sample] a logit is NaN after ", result.ids.size(),
            " tokens");
    return static_cast<TokenId>(id);
  };
  TextStream stream(tokenizer_);
  for (TokenId id : result.ids) result.text += stream.push(id);
  auto emit = [&](const std::string& text) {
    result.text += text;
    if (options.on_text && !text.empty()) options.on_text(text);
  };
  Stopwatch watch;
  while (std::ssize(result.ids) < limit) {
    TokenId next =
        result.ids.size() == result.prompt_ids.size() ? sampler.choose(logits) : following();
    if (std::find(stop_ids.begin(), stop_ids.end(), next) != stop_ids.end()) {
      result.finish = Finish::stop;
      break;
    }
    result.ids.push_back(next);
    emit(stream.push(next));
  }
  result.decode_s = watch.seconds();
  emit(stream.finish());
}

Generation TextGenerator::generate(std::string_view prompt, const GenerateOptions& options) {
  Turn turn(*this);
  Generation result;
  result.prompt_ids = result.ids = encode(prompt, options);
  // The first token follows from the prompt.
  const std::int64_t prompt_size = std::ssize(result.ids);
  std::int64_t steps = steps_a_round(options);
  if (is_read_again(options, prompt_size)) steps = 1;
  if (last_token(options, prompt_size) == prompt_size + 1) steps = 0;
  compile_for(result.ids.size(), steps, result);
  Stopwatch watch;
  std::span<const float> logits = prefill(result.ids);
  result.prefill_s = watch.seconds();
  decode(logits, options, steps, result);
  result.peak_memory_bytes = tilewright::peak_memory_bytes();
  return result;
}

}  // namespace tilewright
