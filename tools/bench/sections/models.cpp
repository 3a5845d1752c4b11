// The section models: whole steps of Llama with random weights.
#include "tools/bench/sections/models.h"

#include <fmt/format.h>

#include <cmath>

#include "tools/bench/beside.h"
#include "tools/bench/device_clock.h"
#include "tools/bench/kernel_case.h"
#include "tools/measure/measure.h"

namespace tilewright::tools {

StepSizes step_sizes(const BenchSettings& settings) {
  if (settings.tiny) return {20, 32, {16}};
  if (is_host(settings)) return {1024, 2048, {512}};
  return {1024, 2048, {128, 2048}};
}

Device device_of_tensors(const BenchSettings& settings) {
  return settings.device.memory() != nullptr ? settings.device : Device::cpu();
}

void fill_parameters(Module& model, DType dtype, const BenchSettings& settings) {
  RandomData data(device_of_tensors(settings));
  for (NamedParameter& p : model.named_parameters())
    p.tensor = data.make(dtype, p.tensor.shape(), p.tensor.rank() == 1 ? 1 : 0.02);
  model.to(device_of_tensors(settings));
}

double WeightCase::bytes() const {
  if (!quantized) return 2;
  // A scale for a whole row takes next to nothing.
  double scale = quantized->group_size == 0
                     ? 0
                     : static_cast<double>(size_bytes(quantized->scale_dtype)) /
                           static_cast<double>(quantized->group_size);
  return (quantized->format == WeightFormat::int4 ? 0.5 : 1) + scale;
}

std::vector<WeightCase> weight_cases(const DecoderConfig& c, const BenchSettings& settings) {
  std::vector<WeightCase> result = {{"", std::nullopt}};
  if (!is_host(settings)) return result;
  for (Activations activations : {Activations::floating, Activations::int8}) {
    bool floating = activations == Activations::floating;
    QuantizeOptions int8{.activations = activations}, int4 = int8;
    int4.format = WeightFormat::int4;
    int4.group_size = 64;
    result.push_back({floating ? "int8 " : "w8a8 ", int8});
    if (c.hidden % int4.group_size == 0 && c.intermediate % int4.group_size == 0)
      result.push_back({floating ? "int4 " : "w4a8 ", int4});
  }
  return result;
}

std::unique_ptr<Decoder> model_on_device(const std::string& name, const WeightCase& weights,
                                         const BenchSettings& settings) {
  auto model = std::make_unique<Decoder>(
      decoder_config(name),
      ModelOptions{.max_positions = step_sizes(settings).cache, .dtype = bf16, .init = Init::none});
  fill_parameters(*model, bf16, settings);
  if (weights.quantized) model->quantize(*weights.quantized);
  return model;
}

Tensor ids_of(std::int64_t rows, const DecoderConfig& config, const Device& device) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < rows; ++i) ids.push_back(i * 7919 % config.vocabulary);
  return Tensor::from(ids, {1, rows}).to(device);
}

Tensor position_of(std::int64_t position, const Device& device) {
  return Tensor::from(std::vector<std::int64_t>{position}, {1}).to(device);
}

std::vector<std::string> model_names(const BenchSettings& settings) {
  if (settings.tiny) return {"tiny"};
  if (is_host(settings)) return {"llama3_2_1b"};
  return {"llama3_2_1b", "llama3_2_3b"};
}

nlohmann::json llama_question(const DecoderConfig& c, std::int64_t rows, const StepSizes& sizes) {
  return {{"op", "llama"},
          {"layers", c.layers},
          {"hidden", c.hidden},
          {"inner", c.intermediate},
          {"heads", c.heads},
          {"kv", c.kv_heads},
          {"size", c.head_size},
          {"vocabulary", c.vocabulary},
          {"slots", sizes.cache},
          {"rows", rows},
          {"position", rows == 1 ? sizes.context : 0}};
}

nlohmann::json gpt2_question(const DecoderConfig& c, std::int64_t batch, std::int64_t rows) {
  return {{"op", "gpt2"},
          {"layers", c.layers},
          {"hidden", c.hidden},
          {"heads", c.heads},
          {"vocabulary", c.vocabulary},
          {"positions", c.max_positions},
          {"batch", batch},
          {"rows", rows}};
}

namespace {

Compiled step_of(Decoder& model, const BenchSettings& settings) {
  return compile(
      [&model, state = std::shared_ptr<DecodingState>(model.new_state())](const Tensor& ids,
                                                                          const Tensor& position) {
        return model.decode_last(ids, position, *state);
      },
      {.mode = settings.mode, .fullgraph = true, .device = settings.device, .freezing = true});
}

// Bytes that a decode step must read: all weights but the table of embeddings (unless it is the
// head too), and the cache up to the position.
double step_bytes(const DecoderConfig& c, double weight_bytes, std::int64_t position) {
  auto weights = static_cast<double>(c.parameter_count());
  if (!c.tied_embeddings) weights -= static_cast<double>(c.vocabulary * c.hidden);
  return weights * weight_bytes +
         4.0 * static_cast<double>(c.layers * c.kv_heads * c.head_size * position);
}

// The logits after a prompt, by one call and by a shorter one and a step: the two ways share
// hardly any kernel, and must agree.
double disagreement(const Compiled& step, Decoder& model, const Device& device, std::int64_t rows) {
  Tensor ids = ids_of(rows, model.config(), device);
  Tensor whole = step(ids, position_of(0, device)).to(Device::cpu()).clone();
  step(ids.slice(1, 0, rows - 1).clone(), position_of(0, device));
  Tensor stepped =
      step(ids.slice(1, rows - 1, rows).clone(), position_of(rows - 1, device)).to(Device::cpu());
  return relative_error(stepped, whole);
}

// `contest`: the action, and on the host what else there is to it.
nlohmann::json timed(const BenchSettings& settings, const Contest& contest) {
  double start = now_s();
  contest.ours();
  settings.device.synchronize();
  nlohmann::json row = {{"first_call_s", now_s() - start}};
  if (is_host(settings)) {
    time_beside(row, contest, settings);
    row["threads"] = thread_count();
    return row;
  }
  Timing time =
      device_times(settings.device, {contest.ours}, settings.rounds, settings.tiny ? 0 : 5e-3)
          .front();
  row.update({{"seconds", time.median}, {"least", time.least}, {"p90", time.p90}});
  return row;
}

// Adapters know models in bf16.
nlohmann::json question_of(const DecoderConfig& c, const WeightCase& weights, std::int64_t rows,
                           const BenchSettings& settings) {
  if (weights.quantized) return {};
  return llama_question(c, rows, step_sizes(settings));
}

nlohmann::json decode_row(Decoder& model, const Compiled& step, const WeightCase& weights,
                          const BenchSettings& settings) {
  Device device = device_of_tensors(settings);
  StepSizes sizes = step_sizes(settings);
  Tensor ids = ids_of(1, model.config(), device), at = position_of(sizes.context, device);
  double bytes = step_bytes(model.config(), weights.bytes(), sizes.context);
  nlohmann::json row =
      timed(settings, {.ours = [&] { step(ids, at); },
                       .work = bytes,
                       .question = question_of(model.config(), weights, 1, settings),
                       .limit = HostLimit::read});
  double seconds = row["seconds"];
  row["launches"] = step.report().back().launches;
  row["bytes"] = bytes;
  row["tokens_per_s"] = 1 / seconds;
  row["rate"] = bytes / 1e9 / seconds;
  row["unit"] = "GB/s";
  return row;
}

nlohmann::json prompt_row(Decoder& model, const Compiled& step, const WeightCase& weights,
                          std::int64_t rows, const BenchSettings& settings) {
  Device device = device_of_tensors(settings);
  const DecoderConfig& c = model.config();
  Tensor ids = ids_of(rows, c, device), at = position_of(0, device);
  auto tokens = static_cast<double>(rows);
  auto body = static_cast<double>(c.parameter_count() -
                                  c.vocabulary * c.hidden * (c.tied_embeddings ? 1 : 2));
  double flops = 2 * body * tokens + 2.0 * static_cast<double>(c.vocabulary * c.hidden) +
                 2 * tokens * tokens * static_cast<double>(c.layers * c.heads * c.head_size);
  nlohmann::json row =
      timed(settings, {.ours = [&] { step(ids, at); },
                       .work = flops,
                       .question = question_of(c, weights, rows, settings),
                       .limit = weights.has_own_step() ? HostLimit::bf16 : HostLimit::int8});
  if (!weights.has_own_step()) {
    // Against a step, for which nothing is rounded.
    double error = disagreement(step, model, device, 9);
    row["error"] = std::isfinite(error) ? nlohmann::json(error) : nlohmann::json();
    row["ok"] = error < 0.2;
    if (!row["ok"]) row["note"] = "rounding activations changes the logits more than expected";
  }
  double seconds = row["seconds"];
  row["flops"] = flops;
  row["tokens_per_s"] = tokens / seconds;
  row["rate"] = flops / 1e12 / seconds;
  row["unit"] = "TFLOP/s";
  return row;
}

// All rows of `batch` texts at once, f32 on the host and bf16 elsewhere.
nlohmann::json gpt2_row(const DecoderConfig& c, std::int64_t batch, std::int64_t rows,
                        const BenchSettings& settings) {
  bool host = is_host(settings);
  DType dtype = host ? f32 : bf16;
  Device device = device_of_tensors(settings);
  Decoder model(c, {.max_positions = rows, .dtype = dtype});
  fill_parameters(model, dtype, settings);
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < batch * rows; ++i) numbers.push_back(i * 7919 % c.vocabulary);
  Tensor ids = Tensor::from(numbers, {batch, rows}).to(device);
  Compiled forward = compile(
      model,
      {.mode = settings.mode, .fullgraph = true, .device = settings.device, .freezing = true});
  auto body = static_cast<double>(c.parameter_count() - c.max_positions * c.hidden);
  auto tokens = static_cast<double>(batch * rows);
  double flops = 2 * body * tokens + 2 * tokens * static_cast<double>(rows * c.layers * c.hidden);
  nlohmann::json row = timed(settings, {.ours = [&] { forward(ids); },
                                        .work = flops,
                                        .question = gpt2_question(c, batch, rows),
                                        .limit = HostLimit::f32});
  // The last row of a short prompt, by programs for that prompt.
  constexpr std::int64_t prompt = 5;
  Tensor all = forward(ids);
  Tensor whole = all.select(1, prompt - 1).to(Device::cpu()).clone();
  auto state = model.new_state(batch);
  Compiled short_step =
      compile([&](const Tensor& i, const Tensor& p) { return model.decode_last(i, p, *state); },
              {.fullgraph = true, .device = settings.device});
  Tensor at = position_of(0, device);
  Tensor alone = short_step(ids.slice(1, 0, prompt).clone(), at).to(Device::cpu());
  double error = relative_error(whole, alone);
  row["error"] = std::isfinite(error) ? nlohmann::json(error) : nlohmann::json();
  row["ok"] = error < (host ? 1e-3 : 0.05);
  if (!row["ok"]) row["note"] = "all rows and a short prompt give other logits";
  double seconds = row["seconds"];
  row["flops"] = flops;
  row["tokens_per_s"] = tokens / seconds;
  row["rate"] = flops / 1e12 / seconds;
  row["unit"] = "TFLOP/s";
  return row;
}

// A step, and prompts, of one model.
void llama_rows(BenchLog& log, const std::string& name, const WeightCase& weights) {
  const BenchSettings& settings = log.settings();
  std::unique_ptr<Decoder> model;
  std::optional<Compiled> step;
  auto ready = [&] {
    if (step) return;
    model = model_on_device(name, weights, settings);
    step = step_of(*model, settings);
  };
  StepSizes sizes = step_sizes(settings);
  if (weights.has_own_step())
    log.run(fmt::format("{} {}decode, context {}", name, weights.name, sizes.context), [&] {
      ready();
      nlohmann::json row = decode_row(*model, *step, weights, settings);
      double error = disagreement(*step, *model, device_of_tensors(settings), 9);
      row["error"] = std::isfinite(error) ? nlohmann::json(error) : nlohmann::json();
      row["ok"] = error < 0.05;
      if (!row["ok"]) row["note"] = "a prompt and a step after a shorter one give other logits";
      return row;
    });
  for (std::int64_t rows : sizes.prompts)
    log.run(fmt::format("{} {}prompt of {}", name, weights.name, rows), [&] {
      ready();
      return prompt_row(*model, *step, weights, rows, settings);
    });
}

}  // namespace

void bench_models(BenchLog& log) {
  const BenchSettings& settings = log.settings();
  std::string gpt2 = settings.tiny ? "gpt2_tiny" : "gpt2";
  using Texts = std::vector<std::pair<std::int64_t, std::int64_t>>;
  for (auto [batch, rows] : settings.tiny ? Texts{{2, 16}} : Texts{{1, 128}, {8, 512}})
    log.run(fmt::format("{} forward of {}x{}", gpt2, batch, rows),
            [&] { return gpt2_row(decoder_config(gpt2), batch, rows, settings); });
  for (const std::string& name : model_names(settings))
    for (const WeightCase& weights : weight_cases(decoder_config(name), settings))
      llama_rows(log, name, weights);
}

}  // namespace tilewright::tools
