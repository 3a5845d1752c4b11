#include "tools/database/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/database/selection.h"

namespace tilewright::tools {
namespace {

constexpr double width = 520, height = 240;
constexpr double left = 74, right = 16, top = 30, bottom = 38;

// From values to places, over what there is, with a margin.
struct Axis {
  double low, high, from, to;
  double place(double value) const {
    return from + (value - low) / std::max(high - low, 1e-9) * (to - from);
  }
};

Axis axis_of(double low, double high, double from, double to, double least_margin) {
  double margin = std::max(0.06 * (high - low), least_margin);
  return {low - margin, high + margin, from, to};
}

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format(R"(<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>)", style,
                     x1, y1, x2, y2);
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", x, y, anchor,
                     escaped(text));
}

std::string head(const std::string& title, double tall) {
  return fmt::format(R"(<svg viewBox="0 0 {} {}" width="{}" height="{}" role="img">)"
                     R"(<text class="title" x="{}" y="18">{}</text>)",
                     width, tall, width, tall, left, escaped(title));
}

// Round times within the axis, no more than will fit.
std::vector<double> time_ticks(const Axis& log_axis) {
  std::vector<double> ticks;
  for (double power = std::floor(log_axis.low); power <= log_axis.high; ++power)
    for (double factor : {1.0, 1.5, 2.0, 3.0, 5.0, 7.0}) {
      double at = power + std::log10(factor);
      if (at >= log_axis.low && at <= log_axis.high) ticks.push_back(at);
    }
  // A narrow range has none of these.
  if (ticks.size() < 2)
    ticks = {log_axis.low + 0.1 * (log_axis.high - log_axis.low),
             log_axis.low + 0.9 * (log_axis.high - log_axis.low)};
  while (ticks.size() > 8) {
    std::vector<double> fewer;
    for (std::size_t i = 0; i < ticks.size(); i += 2) fewer.push_back(ticks[i]);
    ticks = fewer;
  }
  return ticks;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string safe;
  for (char c : text) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      case '\'': safe += "&#39;"; break;
      default: safe += c >= 0x20 && c < 0x7f ? c : '?';
    }
  }
  return safe;
}

std::string Plot::svg() const {
  if (points.empty()) return {};
  auto log_time = [](const PlotPoint& p) { return std::log10(p.time_ns); };
  auto [fast, slow] = std::ranges::minmax(points, {}, log_time);
  auto [first, last] = std::ranges::minmax(points, {}, &PlotPoint::x);
  Axis y = axis_of(log_time(fast), log_time(slow), height - bottom, top, 0.03);
  Axis x = axis_of(first.x, last.x, left, width - right, 0.5);
  std::string text = head(title, height);
  for (double tick : time_ticks(y)) {
    text += line(left, y.place(tick), width - right, y.place(tick), "grid");
    text += label(left - 6, y.place(tick) + 4, "end", time_text(std::pow(10, tick)));
  }
  text += line(left, height - bottom, width - right, height - bottom, "axis");
  text += label((left + width - right) / 2, height - 10, "middle", x_label);
  for (double end : {first.x, last.x})
    text += label(x.place(end), height - bottom + 14, "middle", fmt::format("{:.0f}", end));
  if (!steps.empty()) {
    std::string path =
        fmt::format("M{:.1f} {:.1f}", x.place(steps[0].x), y.place(log_time(steps[0])));
    for (const PlotPoint& p : steps)
      path += fmt::format("H{:.1f}V{:.1f}", x.place(p.x), y.place(log_time(p)));
    text += fmt::format(R"(<path class="steps" d="{}H{:.1f}"/>)", path, x.place(last.x));
  }
  for (const PlotPoint& p : points)
    text += fmt::format(
        R"(<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{}"><title>{}</title></circle>)", p.style,
        x.place(p.x), y.place(log_time(p)), p.style == "ok" ? 3 : 5, escaped(p.note));
  return text + "</svg>\n";
}

std::string bars_svg(const std::string& title, const std::vector<Bar>& bars) {
  constexpr double row = 40, names = 190, times = 90;
  double longest = 1e-9;
  for (const Bar& bar : bars) longest = std::max({longest, bar.time_ns, bar.other_time_ns});
  double tall = top + row * static_cast<double>(bars.size()) + 8;
  std::string text = head(title, tall);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    double y = top + row * static_cast<double>(i);
    auto bar = [&](double offset, double ns, const char* style) {
      double length = ns / longest * (width - names - times);
      text += fmt::format(R"(<rect class="{}" x="{}" y="{:.1f}" width="{:.1f}" height="14"/>)",
                          style, names, y + offset, length);
      text += label(names + length + 6, y + offset + 11, "start", time_text(ns));
    };
    text += label(names - 8, y + 19, "end", bars[i].name.substr(0, 30));
    bar(2, bars[i].time_ns, "best");
    if (bars[i].other_time_ns > 0) bar(18, bars[i].other_time_ns, "default");
  }
  return text + "</svg>\n";
}

}  // namespace tilewright::tools
