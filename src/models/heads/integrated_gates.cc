#include "headwise/heads/integrated_gates.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kIntegratedGates = "integrated_gates";

// Gauss-Legendre's rule on [-1, 1]; Abramowitz & Stegun 1964, table 25.4.
struct Point {
  double at;
  double weight;
};
constexpr std::array<Point, 4> kRule = {{
    {-0.861136311594052575, 0.347854845137453857},
    {-0.339981043584856265, 0.652145154862546143},
    {0.339981043584856265, 0.652145154862546143},
    {0.861136311594052575, 0.347854845137453857},
}};

using Parts = std::vector<std::vector<double>>;
using Gates = std::vector<Tensor<float, 1>>;

Status check_call(const GatedModel& model, std::size_t example,
                  const IntegratedGatesOptions& options) {
  HEADWISE_TRY(check_at_least_one(kIntegratedGates, "panels", options.panels));
  if (!model.gradients) {
    return value_error(kIntegratedGates, "model.gradients", "empty",
                       "a function");
  }
  if (example >= model.examples) {
    return value_error(kIntegratedGates, "example", std::to_string(example),
                       message("less than {}", model.examples),
                       ErrorCode::out_of_range);
  }
  return ok();
}

// For layers [begin, end), whose gates go from 0 to 1; the other gates stay 1.
Status add_integrals(const GatedModel& model, std::size_t example,
                     std::size_t panels, std::size_t begin, std::size_t end,
                     Gates& gates, Parts& parts) {
  const auto set_gates = [&](float gate) {
    for (std::size_t l = begin; l < end; ++l) {
      std::ranges::fill(gates[l].elements(), gate);
    }
  };
  const auto n = static_cast<double>(panels);
  for (std::size_t panel = 0; panel < panels; ++panel) {
    for (const Point& point : kRule) {
      const double t = (static_cast<double>(panel) + (1 + point.at) / 2) / n;
      set_gates(static_cast<float>(t));
      HEADWISE_ASSIGN(const auto gradients,
                      model.gradients(example, example + 1, gates));
      for (std::size_t l = begin; l < end; ++l) {
        for (std::size_t h = 0; h < parts[l].size(); ++h) {
          parts[l][h] +=
              point.weight / (2 * n) * static_cast<double>(gradients[l](0, h));
        }
      }
    }
  }
  set_gates(1);
  return ok();
}

}  // namespace

Result<std::vector<std::vector<double>>> integrated_gates(
    const GatedModel& model, std::size_t example,
    const IntegratedGatesOptions& options) {
  return catching_out_of_memory([&]() -> Result<Parts> {
    HEADWISE_TRY(check_call(model, example, options));
    Gates gates;
    Parts parts;
    for (const auto& heads : model.heads) {
      HEADWISE_ASSIGN(auto ones, Tensor<float, 1>::create({heads.size()}));
      std::ranges::fill(ones.elements(), 1.0f);
      gates.push_back(std::move(ones));
      parts.emplace_back(heads.size());
    }
    const std::size_t layers = parts.size();
    if (options.path == GatePath::all_layers) {
      HEADWISE_TRY(add_integrals(model, example, options.panels, 0, layers,
                                 gates, parts));
    } else {
      for (std::size_t l = 0; l < layers; ++l) {
        if (!parts[l].empty()) {
          HEADWISE_TRY(add_integrals(model, example, options.panels, l, l + 1,
                                     gates, parts));
        }
      }
    }
    return parts;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
