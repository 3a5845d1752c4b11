// TextGenerator::generate_all: texts that are decoded together, each in a place of the batch until
// it ends, when the next one takes the place.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "models/generate/generate.h"
#include "models/generate/stopwatch.h"
#include "runtime/base/error.h"
#include "runtime/cpu/system_memory.h"

namespace tilewright {

namespace {

// The adapters of all prompts, chosen before the first is read: those that wait follow what becomes
// of an adapter. Null where there is no bank.
std::unique_ptr<TextAdapters> chosen_adapters(PromptReader& reader, const GenerateOptions& options,
                                              std::size_t prompts) {
  std::unique_ptr<TextAdapters> chosen;
  if (const TextAdapters* bank = reader.state().adapters())
    chosen = bank->others(static_cast<std::int64_t>(prompts));
  for (std::size_t prompt = 0; prompt < prompts; ++prompt) {
    const std::string& name = options.adapters.empty() ? options.adapter : options.adapters[prompt];
    reader.require_adapter(name);
    if (chosen) chosen->choose(static_cast<std::int64_t>(prompt), name);
  }
  return chosen;
}

}  // namespace

class TextGenerator::Together {
 public:
  Together(TextGenerator& generator, const std::vector<std::string>& prompts,
           const GenerateOptions& options)
      : generator_(generator),
        reader_(generator.reader_),
        options_(options),
        adapters_(chosen_adapters(reader_, options, prompts.size())) {
    for (const std::string& prompt : prompts)
      for (std::int64_t sample = 0; sample < options.n; ++sample)
        texts_.push_back(generator.text_of(prompt, options, static_cast<std::uint64_t>(sample)));
  }

  std::vector<Generation> run() {
    std::vector<Generation> results;
    const std::int64_t size = std::min<std::int64_t>(options_.max_batch, std::ssize(texts_));
    double compile_s = 0;
    for (const Continuation& text : texts_)
      compile_s += reader_.compile_for(std::ssize(text.ids()));
    batch_ = &generator_.batch_of(size);
    compile_s += batch_->warm_up();
    places_.resize(static_cast<std::size_t>(size));
    clocks_.resize(texts_.size());
    decode();
    for (Continuation& text : texts_) {
      text.result.compile_s = compile_s;
      text.result.peak_memory_bytes = peak_memory_bytes();
      results.push_back(std::move(text.result));
    }
    return results;
  }

 private:
  void choose_adapter(std::size_t index) {
    reader_.choose_of(adapters_.get(), static_cast<std::int64_t>(index) / options_.n);
  }

  void decode() {
    for (;;) {
      for (std::size_t place = 0; place < places_.size(); ++place)
        while (!places_[place] && next_ < texts_.size() && !options_.cancel.stop_requested() &&
               has_pages_for(texts_[next_]))
          begin(place, next_++);
      if (options_.cancel.stop_requested())
        for (Continuation& text : texts_) text.cancel();
      if (std::ranges::none_of(places_, [](const auto& text) { return text.has_value(); })) return;
      if (options_.cancel.stop_requested()) return;
      batch_->run();
      for (std::size_t place = 0; place < places_.size(); ++place)
        if (places_[place]) go_on(place);
    }
  }

  // False while the text may need pages, up to its limit, that others have or may need up to
  // theirs. The prompt is read into pages that the text then shares, but for the last of them.
  bool has_pages_for(const Continuation& text) {
    if (!generator_.pages_) return true;
    const PagePool& pool = *generator_.pages_;
    const std::int64_t wanted = batch_->most_pages(text.limit());
    auto are_free = [&] {
      std::int64_t promised = 0;
      for (std::size_t place = 0; place < places_.size(); ++place)
        if (places_[place])
          promised += batch_->most_pages(texts_[*places_[place]].limit()) -
                      batch_->pages_of(static_cast<std::int64_t>(place));
      return wanted + promised <= pool.free_pages();
    };
    if (are_free()) return true;
    reader_.clear();
    read_prompt_.reset();
    if (are_free()) return true;
    require(std::ranges::any_of(places_, [](const auto& other) { return other.has_value(); }),
            "[generate] a text of up to ", text.limit(), " tokens needs ", wanted, " pages of ",
            PagePool::page_rows, " rows; ", pool.free_pages(), " of ", pool.pages(),
            " are free: allow fewer tokens, or make the pool larger (LanguageModel::new_pages)");
    return false;
  }

  // Reads a prompt, or takes over what was read for the sample before, and chooses its first token.
  void begin(std::size_t place, std::size_t index) {
    Continuation& text = texts_[index];
    const std::size_t prompt = index / static_cast<std::size_t>(options_.n);
    if (read_prompt_ != prompt) {
      choose_adapter(index);
      Stopwatch watch;
      const auto logits =
          reader_.read(text.ids(), options_.reuse_prefix || index > 0, options_.cancel);
      read_prompt_.reset();
      if (logits.empty()) return text.cancel();
      text.result.prefill_s = watch.seconds();
      text.result.reused_rows = reader_.reused_rows();
      prompt_logits_.assign(logits.begin(), logits.end());
      read_prompt_ = prompt;
    }
    const auto rows = std::ssize(text.ids());
    clocks_[index] = Stopwatch();
    if (!advance(index, prompt_logits_)) return;
    batch_->put(static_cast<std::int64_t>(place), reader_.state(), rows);
    batch_->set(static_cast<std::int64_t>(place), text.ids().back(), rows);
    places_[place] = index;
  }

  void go_on(std::size_t place) {
    const std::size_t index = *places_[place];
    Continuation& text = texts_[index];
    const auto at = static_cast<std::int64_t>(place);
    const auto rows = std::ssize(text.ids());
    ++text.result.decode_steps;
    std::span<const float> logits = batch_->logits(at, generator_.tokenizer_.size());
    if (rows - 1 == generator_.model_.reread_beyond()) {
      choose_adapter(index);
      batch_->clear(at);
      logits = reader_.read(text.ids(), false);
      read_prompt_.reset();
      batch_->put(at, reader_.state(), rows);
    }
    if (advance(index, logits))
      batch_->set(at, text.ids().back(), rows);
    else
      end(place);
  }

  void end(std::size_t place) {
    places_[place].reset();
    batch_->clear(static_cast<std::int64_t>(place));
  }

  // False once the text has ended.
  bool advance(std::size_t index, std::span<const float> logits) {
    Continuation& text = texts_[index];
    const auto before = text.ids().size();
    text.advance(logits);
    if (options_.on_token && text.ids().size() > before)
      options_.on_token({index, text.ids().back(), text.last_logprob()});
    text.result.decode_s = clocks_[index].seconds();
    return !text.has_ended();
  }

  TextGenerator& generator_;
  PromptReader& reader_;
  const GenerateOptions& options_;
  std::unique_ptr<TextAdapters> adapters_;  // of the prompts, if there is a bank
  DecodingBatch* batch_ = nullptr;
  std::vector<Continuation> texts_;
  std::vector<std::optional<std::size_t>> places_;  // the text in each place of the batch
  std::vector<Stopwatch> clocks_;                   // of texts, since their first token
  std::size_t next_ = 0;                            // the text that begins next
  std::optional<std::size_t> read_prompt_;          // the one that the reader holds
  std::vector<float> prompt_logits_;                // behind it
};

std::vector<Generation> TextGenerator::generate_all(const std::vector<std::string>& prompts,
                                                    const GenerateOptions& options) {
  require_options(options);
  require(options.steps_a_round <= 1, "[generate] steps_a_round is ", options.steps_a_round,
          " for texts that are decoded together, which is step by step");
  require(options.drafts.tokens == 0,
          "[generate] drafts are given for several texts; generate "
          "checks those of one");
  require(!options.on_text,
          "[generate] on_text is given for several texts; on_token tells them "
          "apart");
  require(options.adapters.empty() || options.adapters.size() == prompts.size(), "[generate] ",
          options.adapters.size(), " adapters are given for ", prompts.size(),
          " prompts; as many are needed, empty names for none");
  Turn turn(*this, options.reuse_prefix);
  if (prompts.empty()) return {};
  if (options.num_beams == 1) return Together(*this, prompts, options).run();
  std::vector<Generation> results;
  const auto adapters = chosen_adapters(reader_, options, prompts.size());
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    reader_.choose_of(adapters.get(), static_cast<std::int64_t>(i));
    for (Generation& found : search(prompts[i], options)) results.push_back(std::move(found));
  }
  return results;
}

}  // namespace tilewright
