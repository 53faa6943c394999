// `headwise view --attribution`: what the page shows besides attention weights.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attribution_flags.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/heads/gradient_attention.h"
#include "headwise/inspect/view_page.h"
#include "shell/outcome.h"
#include "viewed_heads.h"

namespace headwise::cli {

struct PageAttributionFlags {
  std::string list;         // "gradient,rollout"
  AttributionFlags common;  // without a name

  bool given() const { return !list.empty(); }
  std::vector<std::string> names() const;
  bool has(std::string_view name) const;
  // The first measure of gradients; empty if the list has none.
  std::string of_gradients() const;
};

void add_page_attribution_options(const Arguments& command,
                                  PageAttributionFlags& flags);
// Errors: for an unknown name in the list; usage, for options that do not go
// together. `page`: whether it is made.
Outcome check_page_attribution(const ViewedFlags& seen, bool page,
                               const PageAttributionFlags& flags);

class PageAttribution {
 public:
  // Gradient times attention of a layer.
  struct Gradient {
    Tensor<float, 4> d_context{};
    Tensor<float, 4> value{};
    GradientAttention sums{};
    Tensor<float, 4> map{};  // with many pairs
  };

  // Of the only text of the page. Errors: those of the library, with the names
  // of the options.
  static Result<PageAttribution> compute(const PageAttributionFlags& flags,
                                         const ViewedHeads& heads);

  // The settings refer to this object.
  void add_to(ViewPageSettings& settings) const;
  // `given` refers to this object.
  void add_to(const NumberedLayer& seen, ViewedLayer& given) const;

 private:
  Status take_gradients(const PageAttributionFlags& flags,
                        const ViewedHeads& heads);
  Status take_rollout(const ViewedHeads& heads);
  Status take_flow(const ViewedHeads& heads);

  std::optional<ViewedTarget> target_;
  std::vector<Gradient> gradients_;  // by layer, or none
  std::vector<std::vector<double>> integrated_;
  std::vector<std::vector<double>> integrated_by_layer_;
  std::size_t output_token_ = 0;
  Tensor<float, 3> rollout_;  // (1, L, L)
  Tensor<float, 2> flow_;     // (L, L)
};

}  // namespace headwise::cli
