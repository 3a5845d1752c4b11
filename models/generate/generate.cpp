#include "models/generate/generate.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "dsl/target/step_rows.h"
#include "models/generate/beams.h"
#include "models/generate/stopwatch.h"
#include "runtime/base/error.h"
#include "runtime/cpu/system_memory.h"

namespace tilewright {
namespace {

constexpr std::int64_t steps_of_gpus = 8;

void report(Continuation& text, std::size_t index, const GenerateOptions& options) {
  if (!options.on_token) return;
  options.on_token({index, text.ids().back(), text.last_logprob()});
}

}  // namespace

TextGenerator::Turn::Turn(TextGenerator& generator, bool keeps_prefix)
    : generator_(generator), keeps_prefix_(keeps_prefix) {
  require(!generator.is_generating_.exchange(true, std::memory_order_acquire),
          "[generate] another generation of this TextGenerator is under way; a text needs one of "
          "its own (they share the model)");
  const Device device = generator.model_.device();
  DecodingState& state = generator.reader_.state();
  if (state.device() != device) state.to(device);
}
TextGenerator::Turn::~Turn() {
  if (generator_.pages_) give_pages_back();
  generator_.is_generating_.store(false, std::memory_order_release);
}

// Also where a call was left by an exception.
void TextGenerator::Turn::give_pages_back() {
  try {
    if (generator_.batch_) generator_.batch_->clear();
    if (!keeps_prefix_) generator_.reader_.clear();
  } catch (const std::exception&) {  // another thread uses the pages, or the device has failed
  }
}

TextGenerator::TextGenerator(const LanguageModel& model, Tokenizer tokenizer, Options options,
                             std::shared_ptr<PagePool> pages)
    : model_(model),
      tokenizer_(std::move(tokenizer)),
      options_(options),
      pages_(std::move(pages)),
      reader_(model, tokenizer_.size(), options, pages_) {
  require(tokenizer_.size() <= model.vocabulary(), "[generate] the tokenizer has ",
          tokenizer_.size(), " tokens; the model knows ", model.vocabulary());
}

void TextGenerator::require_options(const GenerateOptions& o) const {
  require(o.max_new_tokens >= 1, "[generate] max_new_tokens is ", o.max_new_tokens,
          "; at least 1 new token is allowed");
  require(o.min_new_tokens >= 0 && o.min_new_tokens <= o.max_new_tokens,
          "[generate] min_new_tokens is ", o.min_new_tokens, "; from 0 to max_new_tokens, ",
          o.max_new_tokens, ", is allowed");
  require(o.n >= 1 && o.max_batch >= 1, "[generate] n is ", o.n, " and max_batch ", o.max_batch,
          "; both must be at least 1");
  require(!o.logprobs || *o.logprobs >= 0, "[generate] logprobs is ", o.logprobs.value_or(0),
          "; 0 or more of the likeliest tokens can be asked for");
  const DraftOptions& drafts = o.drafts;
  require(drafts.tokens >= 0 && drafts.tokens <= DraftOptions::most_tokens &&
              drafts.shortest >= 1 && drafts.longest >= drafts.shortest,
          "[generate] drafts are ", drafts.tokens, " tokens that followed ", drafts.shortest,
          " to ", drafts.longest, " others; up to ", DraftOptions::most_tokens,
          " that followed 1 or more can be asked for");
  require(drafts.tokens == 0 || o.steps_a_round <= 1, "[generate] steps_a_round is ",
          o.steps_a_round, " together with drafts, which the host looks at after every call");
  require(!options_.batch_invariant || o.max_batch <= dsl::rows_of_a_step,
          "[generate] max_batch is ", o.max_batch,
          " with Options::batch_invariant, which holds for up to ", dsl::rows_of_a_step,
          " texts together");
  require(o.num_beams >= 1, "[generate] num_beams is ", o.num_beams, "; it must be at least 1");
  if (o.num_beams == 1) return;
  require(o.n <= o.num_beams, "[generate] n is ", o.n, "; a search with ", o.num_beams,
          " beams finds as many texts at the most");
  require(o.is_plain_greedy() && o.stop.empty() && !o.on_token && drafts.tokens == 0,
          "[generate] num_beams is ", o.num_beams,
          " together with options of single tokens; a beam search knows no sampling, penalties, "
          "masks, log-probabilities, stop strings, drafts or on_token");
}

Continuation TextGenerator::text_of(std::string_view prompt, const GenerateOptions& options,
                                    std::uint64_t stream) const {
  // Lengths in a tokenizer's file are of its training; a prompt is whole, or refused below.
  std::vector<TokenId> ids = tokenizer_.encode(prompt, {.truncate = false, .pad = false});
  require(!ids.empty(), "[generate] the prompt has no tokens; at least one is needed");
  require(std::ssize(ids) < model_.max_positions(), "[generate] the prompt has ", ids.size(),
          " tokens; the model has ", model_.max_positions(),
          " positions, of which a new token needs one");
  std::vector<TokenId> stops = options.stop_tokens;
  std::ranges::copy(model_.stop_ids(), std::back_inserter(stops));
  const std::int64_t limit = last_token(options, std::ssize(ids));
  return {tokenizer_, options, std::move(ids), limit, std::move(stops), stream};
}

std::int64_t TextGenerator::last_token(const GenerateOptions& options,
                                       std::int64_t prompt_size) const {
  return prompt_size + std::min(options.max_new_tokens, model_.max_positions() - prompt_size);
}

std::int64_t TextGenerator::steps_a_round(const GenerateOptions& options) const {
  if (options.drafts.tokens > 0) return 1;
  std::int64_t wanted = options.steps_a_round;
  const bool is_plain = options.is_plain_greedy();
  require(wanted >= 0 && wanted <= model_.max_positions(), "[generate] steps_a_round is ", wanted,
          "; from 0 (as the device likes it) to the model's ", model_.max_positions(),
          " positions are allowed");
  require(wanted <= 1 || options.sampling.temperature == 0, "[generate] steps_a_round is ", wanted,
          " with a temperature of ", options.sampling.temperature,
          "; several steps need a temperature of 0, for random numbers are drawn on the host");
  require(wanted <= 1 || is_plain, "[generate] steps_a_round is ", wanted,
          " together with penalties, biases, masks, log-probabilities or min_new_tokens; these are "
          "on the host, which takes single steps");
  if (wanted > 0) return wanted;
  return model_.device().is_cuda() && is_plain ? steps_of_gpus : 1;
}

bool TextGenerator::checks_drafts(const GenerateOptions& options) const {
  return options.drafts.tokens > 0 && options.drafts.tokens < model_.max_positions() &&
         !model_.reread_beyond();
}

double TextGenerator::compile_drafts(std::int64_t text_size, const GenerateOptions& options) {
  const double seconds = reader_.compile_append_all(options.drafts.tokens + 1);
  return draft_ ? seconds + draft_->compile_for(text_size) : seconds;
}

// The host must notice when a text has to be read again, and takes single steps.
bool TextGenerator::is_read_again(const Continuation& text) const {
  const auto rows = std::ssize(text.ids());
  const std::int64_t limit = model_.reread_beyond().value_or(text.limit());
  return rows <= limit && limit < text.limit();
}

double TextGenerator::compile_rounds(std::int64_t steps) {
  if (greedy_ && greedy_->steps() == steps && greedy_->device() == model_.device()) return 0;
  Stopwatch watch;
  greedy_ =
      std::make_unique<GreedySteps>(model_, reader_.state(), tokenizer_.size(), steps, options_);
  greedy_->warm_up();
  reader_.forget();
  return watch.seconds();
}

DecodingBatch& TextGenerator::batch_of(std::int64_t size) {
  if (!batch_ || batch_->size() != size || batch_->device() != model_.device()) {
    batch_.reset();  // before the memory of another one is taken
    batch_ = std::make_unique<DecodingBatch>(model_, size, options_, pages_);
  }
  return *batch_;
}

double TextGenerator::warm_up(std::int64_t tokens, const GenerateOptions& options) {
  require(tokens >= 1 && tokens <= model_.max_positions(), "[warm_up] ", tokens,
          " tokens; from 1 to the model's ", model_.max_positions(), " positions are allowed");
  Turn turn(*this);
  double seconds = reader_.compile_up_to(tokens);
  if (checks_drafts(options)) seconds += compile_drafts(tokens, options);
  const std::int64_t steps = steps_a_round(options);
  return steps > 1 ? seconds + compile_rounds(steps) : seconds;
}

std::span<const float> TextGenerator::following(const Continuation& text) {
  const std::int64_t position = std::ssize(text.ids()) - 1;
  if (position == model_.reread_beyond()) return reader_.read(text.ids(), false);
  return reader_.append(text.ids().back(), position);
}

void TextGenerator::decode_rounds(Continuation& text, std::int64_t steps,
                                  const GenerateOptions& options) {
  const std::int64_t position = std::ssize(text.ids()) - 1;
  greedy_->start({text.ids().back()}, {position}, {text.limit()},
                 {text.stops().begin(), text.stops().end()});
  while (!text.has_ended()) {
    if (options.cancel.stop_requested()) return text.cancel();
    const std::vector<std::int64_t> round = greedy_->run();
    for (std::int64_t step = 0; step < steps && !text.has_ended(); ++step) {
      const std::int64_t id = round[static_cast<std::size_t>(step)];
      require(id != GreedySteps::not_a_number, "[sample] a logit is NaN after ", text.ids().size(),
              " tokens");
      ++text.result.decode_steps;
      const auto before = text.ids().size();
      text.push(static_cast<TokenId>(id));
      if (text.ids().size() > before) report(text, 0, options);
      if (options.on_text)
        if (const std::string certain = text.take_text(); !certain.empty())
          options.on_text(certain);
    }
  }
}

void TextGenerator::advance(Continuation& text, std::span<const float> logits,
                            const GenerateOptions& options) {
  const auto before = text.ids().size();
  text.advance(logits);
  if (text.ids().size() > before) report(text, 0, options);
  if (!options.on_text) return;
  if (const std::string certain = text.take_text(); !certain.empty()) options.on_text(certain);
}

void TextGenerator::set_draft_model(const LanguageModel* model) {
  Turn turn(*this);
  draft_.reset();
  if (model == nullptr) return;
  require(model->vocabulary() >= tokenizer_.size(), "[generate] the draft model knows ",
          model->vocabulary(), " tokens; the tokenizer has ", tokenizer_.size());
  draft_ = std::make_unique<DraftModel>(*model, tokenizer_.size(), options_);
}

// None where there are no positions for as many as are checked in a call.
std::vector<TokenId> TextGenerator::guesses(const Continuation& text,
                                            const GenerateOptions& options) {
  const std::int64_t count = options.drafts.tokens;
  // Rows behind a limit may have no pages.
  const std::int64_t end = pages_ ? text.limit() : model_.max_positions();
  if (std::ssize(text.ids()) - 1 + count >= end) return {};
  return draft_ ? draft_->guess(text.ids(), count) : looked_up(text.ids(), options.drafts);
}

void TextGenerator::decode_drafts(Continuation& text, const GenerateOptions& options) {
  const auto count = static_cast<std::size_t>(options.drafts.tokens);
  while (!text.has_ended()) {
    if (options.cancel.stop_requested()) return text.cancel();
    const std::int64_t position = std::ssize(text.ids()) - 1;
    const std::vector<TokenId> guess = guesses(text, options);
    if (guess.empty()) {
      advance(text, following(text), options);
      ++text.result.decode_steps;
      continue;
    }
    // Always as many, for one program: rows behind the guess are written over before they are read.
    std::vector<TokenId> rows = {text.ids().back()};
    rows.insert(rows.end(), guess.begin(), guess.end());
    rows.resize(count + 1, guess.back());
    const auto logits = reader_.append_all(rows, position);
    text.result.drafted_tokens += std::ssize(guess);
    for (std::size_t i = 0; i <= guess.size(); ++i) {
      advance(text, logits[i], options);
      ++text.result.decode_steps;
      if (text.has_ended() || i == guess.size() || text.ids().back() != guess[i]) break;
      ++text.result.accepted_tokens;
      if (options.cancel.stop_requested()) break;
    }
  }
}

void TextGenerator::decode(Continuation& text, std::span<const float> logits, std::int64_t steps,
                           const GenerateOptions& options) {
  for (;;) {
    advance(text, logits, options);
    if (text.has_ended()) return;
    if (options.cancel.stop_requested()) break;
    if (steps == 1 && checks_drafts(options)) return decode_drafts(text, options);
    if (steps > 1) return decode_rounds(text, steps, options);
    logits = following(text);
    ++text.result.decode_steps;
  }
  text.cancel();
}

Generation TextGenerator::generate(std::string_view prompt, const GenerateOptions& options) {
  require_options(options);
  require(options.n == 1, "[generate] n is ", options.n,
          "; generate gives one text, generate_all gives more");
  require(options.adapters.empty(), "[generate] adapters are given for ", options.adapters.size(),
          " prompts; generate has one, whose name is `adapter`");
  Turn turn(*this, options.reuse_prefix);
  reader_.choose(options.adapter);
  if (options.num_beams > 1) return search(prompt, options).front();
  Continuation text = text_of(prompt, options);
  // The first token follows from the prompt.
  const auto prompt_size = std::ssize(text.ids());
  std::int64_t steps = steps_a_round(options);
  if (is_read_again(text)) steps = 1;
  if (text.limit() == prompt_size + 1) steps = 0;
  Generation& result = text.result;
  result.compile_s = reader_.compile_for(prompt_size);
  if (steps == 1) result.compile_s += reader_.compile_step();
  if (checks_drafts(options) && steps == 1)
    result.compile_s += compile_drafts(prompt_size, options);
  if (steps > 1) result.compile_s += compile_rounds(steps);
  Stopwatch prefill;
  const auto logits = reader_.read(text.ids(), options.reuse_prefix, options.cancel);
  result.prefill_s = prefill.seconds();
  result.reused_rows = reader_.reused_rows();
  Stopwatch decoding;
  if (logits.empty())
    text.cancel();
  else
    decode(text, logits, steps, options);
  result.decode_s = decoding.seconds();
  result.peak_memory_bytes = tilewright::peak_memory_bytes();
  return std::move(text.result);
}

std::vector<Generation> TextGenerator::search(std::string_view prompt,
                                              const GenerateOptions& options) {
  Continuation first = text_of(prompt, options);
  const auto prompt_size = std::ssize(first.ids());
  require(!is_read_again(first), "[generate] num_beams is ", options.num_beams,
          " for a text that has to be read again beyond ", model_.reread_beyond().value_or(0),
          " tokens; beams are not read again");
  Generation& shared = first.result;
  shared.compile_s = reader_.compile_for(prompt_size);
  DecodingBatch& batch = batch_of(options.num_beams);
  shared.compile_s += batch.warm_up();
  Stopwatch prefill;
  const auto logits = reader_.read(first.ids(), options.reuse_prefix, options.cancel);
  shared.prefill_s = prefill.seconds();
  shared.reused_rows = reader_.reused_rows();
  std::vector<Generation> results;
  if (logits.empty()) {
    first.cancel();
    results.assign(static_cast<std::size_t>(options.n), first.result);
    return results;
  }
  if (options.first_logits) shared.first_logits.assign(logits.begin(), logits.end());
  batch.put(0, reader_.state(), prompt_size);
  Stopwatch decoding;
  BeamSearch beams(batch, options.num_beams, options.length_penalty, tokenizer_.size(), prompt_size,
                   first.limit(), first.stops());
  const std::vector<Hypothesis> found = beams.run(logits, options.cancel);
  shared.decode_s = decoding.seconds();
  shared.decode_steps = beams.steps();
  shared.peak_memory_bytes = tilewright::peak_memory_bytes();
  for (std::size_t i = 0; i < static_cast<std::size_t>(options.n) && i < found.size(); ++i) {
    Continuation text = text_of(prompt, options);
    for (TokenId id : found[i].new_ids) text.push(id);
    if (!text.has_ended() && found[i].has_stopped) text.push(text.stops().front());
    text.cancel();
    Generation one = shared;
    one.ids = text.result.ids;
    one.text = text.result.text;
    one.new_text = text.result.new_text;
    one.finish = text.result.finish;
    one.score = found[i].score;
    results.push_back(std::move(one));
  }
  if (options.on_text && !results.empty()) options.on_text(results.front().new_text);
  return results;
}

}  // namespace tilewright
