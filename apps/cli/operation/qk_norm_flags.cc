#include "qk_norm_flags.h"

#include <fmt/format.h>

#include "shell/args.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

NormOver over_of(const std::string& over) {
  return over == "each-head"    ? NormOver::each_head
         : over == "projection" ? NormOver::projection
                                : NormOver::head;
}

}  // namespace

Result<std::optional<QkNorm>> QkNormFlags::norm() const {
  if (kind.empty()) {
    return given().empty()
               ? Result<std::optional<QkNorm>>(std::optional<QkNorm>())
               : usage_error(message("{} needs --qk-norm", given()));
  }
  return std::optional(
      QkNorm{.kind = kind == "layer" ? NormKind::layer : NormKind::rms,
             .eps = eps.value_or(QkNorm{}.eps),
             .over = over_of(over),
             .plus_one = plus_one});
}

void add_qk_norm_options(const Arguments& command, QkNormFlags& flags) {
  const Arguments layer = command.under("Layer");
  layer.add_choice("--qk-norm", flags.kind, {"rms", "layer"},
                   "which norm q_norm.weight and k_norm.weight are of: "
                   "queries and keys are normalised before the scores");
  layer
      .add_choice("--qk-norm-over", flags.over,
                  {"head", "each-head", "projection"},
                  "what is normalised: a head's features with weights for all "
                  "heads (default) or for each head, or all heads at once")
      .advanced();
  layer
      .add_option("--qk-norm-eps", flags.eps,
                  "added to the mean square or the variance (default 1e-6)")
      .type_name("X")
      .check(number_between(1e-37, 1e38, "a positive binary32 number"))
      .advanced();
  layer
      .add_flag("--qk-norm-plus-one", flags.plus_one,
                "multiply by 1 + weight, as Gemma does")
      .advanced();
}

}  // namespace headwise::cli
