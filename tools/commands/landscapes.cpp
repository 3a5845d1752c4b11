#include "tools/commands/landscapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

#include "autotune/database/row/statistics.h"
#include "runtime/base/error.h"
#include "runtime/files/regular_file.h"

namespace tilewright::tools {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t most_bytes = 256 << 20;

// Four digits: a measurement has no more.
double rounded(double x) {
  std::string digits = fmt::format("{:.4g}", x);
  std::from_chars(digits.data(), digits.data() + digits.size(), x);
  return x;
}

Json knobs_of(const autotune::Space& space) {
  Json knobs = Json::array();
  for (const autotune::Knob& knob : space.knobs())
    knobs.push_back({{"name", knob.name}, {"values", knob.values}});
  return knobs;
}

double share_of(const Json& point) {
  if (!point.contains("shares")) return std::numeric_limits<double>::infinity();
  return autotune::median(point["shares"].get<std::vector<double>>());
}

}  // namespace

Landscapes::Landscapes(std::string path) : path_(std::move(path)) {
  if (std::error_code error; !std::filesystem::exists(path_, error)) return;
  try {
    Json all = Json::parse(read_regular_file(path_, "tune", most_bytes));
    for (Json& kernel : all.at("kernels")) {
      std::string name = kernel.at("kernel");
      Json points = Json::object();
      for (Json& point : kernel.at("points")) {
        std::string at = point.at("at").dump();
        points[at] = std::move(point);
      }
      kernel["points"] = std::move(points);
      kernels_[name] = std::move(kernel);
    }
  } catch (const Json::exception& problem) {
    raise_error(concat("[tune] ", path_, " holds no landscapes: ", problem.what()));
  }
}

autotune::History Landscapes::far_from_best(const std::string& kernel, double within) const {
  autotune::History far;
  if (!kernels_.contains(kernel)) return far;
  const Json& points = kernels_[kernel]["points"];
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [name, point] : points.items()) best = std::min(best, share_of(point));
  for (const auto& [name, point] : points.items())
    if (share_of(point) > within * best && point["at"] != kernels_[kernel]["default"])
      far.add({point["at"].get<autotune::Point>(), share_of(point)});
  return far;
}

void Landscapes::bring_up_to_date(const std::string& kernel, const graph::RegionSpace& space) {
  if (!kernels_.contains(kernel)) return;
  Json &known = kernels_[kernel], now = knobs_of(space.space);
  if (known["knobs"] == now && known["default"] == Json(space.preferred)) return;
  // The new place of an old point, by the values of its knobs.
  auto moved = [&](const autotune::Point& old) -> std::optional<autotune::Point> {
    autotune::Point point;
    for (std::size_t i = 0; i < old.size(); ++i) {
      auto value = known["knobs"][i]["values"][static_cast<std::size_t>(old[i])];
      const auto& values = space.space.knobs()[i].values;
      auto at = std::ranges::find(values, value.get<std::int64_t>());
      if (at == values.end()) return std::nullopt;
      point.push_back(static_cast<int>(at - values.begin()));
    }
    return point;
  };
  Json points = Json::object();
  for (const auto& [name, json] : known["points"].items()) {
    auto at = moved(json["at"].get<autotune::Point>());
    if (!at || !space.space.is_legal(*at)) continue;
    Json& point = points[Json(*at).dump()];
    point = json;
    point["at"] = *at;
  }
  std::string preferred = Json(space.preferred).dump();
  require(points.contains(preferred) && points[preferred].contains("shares"), "[tune] ", path_,
          " holds another default of ", kernel,
          ", and no time of the present one; another file would start from scratch");
  double share = share_of(points[preferred]);
  for (auto& [name, point] : points.items())
    if (point.contains("shares"))
      for (Json& one : point["shares"])
        one = name == preferred ? 1.0 : rounded(one.get<double>() / share);
  known["knobs"] = now;
  known["default"] = space.preferred;
  known["points"] = std::move(points);
}

void Landscapes::add(const std::string& kernel, const graph::RegionTuning& tuning,
                     const graph::RegionEstimate& estimate) {
  Json& known = kernels_[kernel];
  if (known.is_null())
    known = {{"kernel", kernel},
             {"knobs", knobs_of(tuning.space.space)},
             {"default", tuning.space.preferred}};
  for (const autotune::Finding& one : tuning.measured) {
    Json& point = known["points"][Json(one.point).dump()];
    point["at"] = one.point;
    if (one.status != autotune::Status::ok)
      point["failure"] = one.reason;
    else if (!one.samples.empty())
      point["shares"].push_back(rounded(autotune::median(one.samples) / tuning.preferred_seconds));
  }
  for (auto& [name, point] : known["points"].items()) {
    graph::BlockSizes blocks = tuning.space.blocks_of(point["at"].get<autotune::Point>());
    point["estimate"] = rounded(1e6 * estimate.seconds(blocks));
    point["features"] = Json::array();
    for (double feature : estimate.features(blocks)) point["features"].push_back(rounded(feature));
  }
}

void Landscapes::write(const std::string& device) const {
  std::ofstream file(path_);
  file << "{\"device\":" << Json(device).dump() << ",\"kernels\":[";
  const char* between = "\n";
  for (const auto& [name, kernel] : kernels_.items()) {
    Json head = kernel;
    head.erase("points");
    std::string text = head.dump();
    text.back() = ',';
    file << between << text << "\"points\":[";
    between = "\n";
    for (const auto& [at, point] : kernel["points"].items()) {
      file << between << point.dump();
      between = ",\n";
    }
    file << "]}";
  }
  file << "]}\n";
  require(file.good(), "[tune] cannot write ", path_);
}

}  // namespace tilewright::tools
