#include "models/adapters/adapter_settings.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/error.h"

namespace tilewright::adapters {
namespace {

// How the adapter was trained, or which layers it changes, which its tensors say.
constexpr std::string_view passed_over[] = {"auto_mapping",
                                            "base_model_name_or_path",
                                            "bias",
                                            "corda_config",
                                            "ensure_weight_tying",
                                            "eva_config",
                                            "exclude_modules",
                                            "fan_in_fan_out",
                                            "inference_mode",
                                            "init_lora_weights",
                                            "layers_pattern",
                                            "layers_to_transform",
                                            "loftq_config",
                                            "lora_dropout",
                                            "lora_ga_config",
                                            "megatron_core",
                                            "modules_to_save",
                                            "peft_version",
                                            "qalora_group_size",
                                            "revision",
                                            "runtime_config",
                                            "target_modules",
                                            "task_type",
                                            "use_dora"};

}  // namespace

AdapterSettings::AdapterSettings(const ConfigFields& fields) {
  fields.expect("peft_type", "LORA");
  require(fields.has("peft_type"), "[", adapter_operation, "] ", fields.what(),
          ": has no peft_type; LORA is needed");
  rank_ = fields.integer("r");
  check_config_range(adapter_operation, fields.what(), "r", rank_, 1, 1 << 16);
  alpha_ = fields.number("lora_alpha");
  by_root_ = fields.boolean("use_rslora", false);
  ranks_ = patterns(fields, "rank_pattern");
  alphas_ = patterns(fields, "alpha_pattern");
  for (std::string_view name : {"use_qalora", "use_bdlora", "lora_bias"})
    fields.expect_flag(name, false);
  fields.refuse_unread(passed_over);
}

AdapterSettings::Patterns AdapterSettings::patterns(const ConfigFields& fields,
                                                    std::string_view name) {
  Patterns result;
  const auto object = fields.object(name);
  if (!object) return result;
  for (const std::string& pattern : object->members())
    result.emplace_back(
        tokenizer::Regex(concat("^(?:.*\\.)?(?:", pattern, ")$"),
                         concat("[", adapter_operation, "] ", fields.what(), ": ", name)),
        object->number(pattern));
  return result;
}

double AdapterSettings::value(const Patterns& patterns, std::string_view layer, double otherwise) {
  for (const auto& [pattern, number] : patterns)
    if (!tokenizer::RegexSearch(pattern, layer.size()).run(layer).empty()) return number;
  return otherwise;
}

std::int64_t AdapterSettings::rank(std::string_view layer) const {
  return static_cast<std::int64_t>(value(ranks_, layer, static_cast<double>(rank_)));
}

std::int64_t AdapterSettings::greatest_rank() const {
  double greatest = static_cast<double>(rank_);
  for (const auto& [pattern, rank] : ranks_) greatest = std::max(greatest, rank);
  return static_cast<std::int64_t>(greatest);
}

double AdapterSettings::scale(std::string_view layer) const {
  const auto rank = static_cast<double>(this->rank(layer));
  return value(alphas_, layer, alpha_) / (by_root_ ? std::sqrt(rank) : rank);
}

}  // namespace tilewright::adapters
