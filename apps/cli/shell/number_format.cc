#include "number_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace headwise::cli {
namespace {

constexpr std::size_t kEdge = 3;    // shown at either end of a cut axis
constexpr std::size_t kUncut = 10;  // an axis up to this long is shown whole

// The axes that are shown as rows and columns: the last two that are longer
// than 1. The others stand at index 0 when only corners are wanted.
struct Printer {
  const TracedStep& step;
  bool corners;
  std::vector<std::size_t> axes;  // shown, outermost first
  std::vector<std::size_t> strides;

  explicit Printer(const TracedStep& s, bool corners_only)
      : step(s), corners(corners_only), strides(s.extents.size(), 1) {
    for (std::size_t axis = s.extents.size(); axis-- > 1;) {
      strides[axis - 1] = strides[axis] * s.extents[axis];
    }
    for (std::size_t axis = 0; axis < s.extents.size(); ++axis) {
      if (!corners || s.axes[axis] != "1") {
        axes.push_back(axis);
      }
    }
    if (corners && axes.size() > 2) {
      axes.erase(axes.begin(), axes.end() - 2);
    }
  }

  void collect(std::size_t depth, std::size_t offset,
               std::vector<double>& values) const {
    if (depth == axes.size()) {
      values.push_back(step.at(offset));
      return;
    }
    for (const std::size_t n :
         shown_indices(step.extents[axes[depth]], corners)) {
      if (n != kGap) {
        collect(depth + 1, offset + n * strides[axes[depth]], values);
      }
    }
  }

  std::string print(std::size_t depth, std::size_t offset,
                    const NumberFormat& format,
                    const std::string& indent) const {
    if (depth == axes.size()) {
      return format(step.at(offset));
    }
    const bool innermost = depth + 1 == axes.size();
    const std::string between =
        innermost ? ", " : ",\n" + indent + std::string(depth + 1, ' ');
    std::string text = "[";
    bool first = true;
    for (const std::size_t n :
         shown_indices(step.extents[axes[depth]], corners)) {
      text += first ? "" : between;
      first = false;
      text += n != kGap   ? print(depth + 1, offset + n * strides[axes[depth]],
                                  format, indent)
              : innermost ? " ..."
                          : "...";
    }
    return text + "]";
  }

  // " = " and what stands before it: scores[0, 0, :, :]
  std::string label() const {
    std::string text;
    bool cut = false;
    for (std::size_t axis = 0; axis < step.extents.size(); ++axis) {
      const bool shown = std::ranges::find(axes, axis) != axes.end();
      text += fmt::format("{}{}", axis == 0 ? "" : ", ", shown ? ":" : "0");
      cut = cut || !shown;
    }
    return cut ? fmt::format("{}[{}] =", step.name, text) : "";
  }
};

}  // namespace

std::vector<std::size_t> shown_indices(std::size_t extent, bool corners) {
  std::vector<std::size_t> indices;
  for (std::size_t n = 0; n < extent; ++n) {
    if (!corners || extent <= kUncut || n < kEdge || n >= extent - kEdge) {
      indices.push_back(n);
    } else if (n == kEdge) {
      indices.push_back(kGap);
    }
  }
  return indices;
}

NumberFormat::NumberFormat(std::span<const double> values, DType dtype) {
  if (dtype == DType::boolean) {
    style_ = Style::boolean;
  } else if (dtype == DType::int64) {
    style_ = Style::integer;
  } else {
    double largest = 0;
    double smallest = std::numeric_limits<double>::infinity();
    bool all_whole = true;
    for (const double value : values) {
      if (value == 0 || !std::isfinite(value)) {
        continue;
      }
      largest = std::max(largest, std::abs(value));
      smallest = std::min(smallest, std::abs(value));
      all_whole = all_whole && value == std::ceil(value);
    }
    const bool wide = largest > 1e8 || largest > 1000 * smallest;
    if (all_whole) {
      style_ = wide ? Style::scientific : Style::whole;
    } else {
      style_ = wide || smallest < 1e-4 ? Style::scientific : Style::fixed;
    }
  }
  for (const double value : values) {
    width_ = std::max(width_, unpadded(value).size());
  }
}

std::string NumberFormat::unpadded(double value) const {
  if (style_ == Style::boolean) {
    return value != 0 ? "True" : "False";
  }
  if (!std::isfinite(value)) {
    return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  }
  switch (style_) {
    case Style::integer:
      return fmt::format("{:.0f}", value);
    case Style::whole:
      return fmt::format("{:.0f}.", value);
    case Style::scientific:
      return fmt::format("{:.4e}", value);
    default:
      return fmt::format("{:.4f}", value);
  }
}

std::string NumberFormat::operator()(double value) const {
  return fmt::format("{:>{}}", unpadded(value), width_);
}

std::string tensor_text(const TracedStep& step, bool corners,
                        const std::string& indent) {
  const Printer printer(step, corners);
  std::vector<double> values;
  if (step.size() != 0) {
    printer.collect(0, 0, values);
  }
  const NumberFormat format(values, step.dtype);
  const std::string label = step.size() == 0 ? "" : printer.label();
  std::string text = indent;
  if (!label.empty()) {
    text += label + "\n" + indent;
  }
  return text +
         (step.size() == 0 ? "[]" : printer.print(0, 0, format, indent)) + "\n";
}

}  // namespace headwise::cli
