#include "qk_norm_flags.h"

#include "shell/args.h"

namespace headwise::cli {
namespace {

NormOver over_of(const std::string& over) {
  return over == "each-head"    ? NormOver::each_head
         : over == "projection" ? NormOver::projection
                                : NormOver::head;
}

}  // namespace

Result<std::optional<QkNorm>> QkNormFlags::norm() const {
  QkNormFlags own = *this;
  HEADWISE_TRY(check_needs(qk_norm_options(own)));
  if (kind.empty()) {
    return std::optional<QkNorm>();
  }
  return std::optional(
      QkNorm{.kind = kind == "layer" ? NormKind::layer : NormKind::rms,
             .eps = eps.value_or(QkNorm{}.eps),
             .over = over_of(over),
             .plus_one = plus_one});
}

std::vector<OptionRow> qk_norm_options(QkNormFlags& flags) {
  return {
      {"--qk-norm", &flags.kind, choice({"rms", "layer"}),
       "which norm q_norm.weight and k_norm.weight are of: queries and keys "
       "are normalised before the scores"},
      {"--qk-norm-over", &flags.over,
       choice({"head", "each-head", "projection"}),
       "what is normalised: a head's features with weights for all heads "
       "(default) or for each head, or all heads at once",
       advanced().needs("--qk-norm")},
      {"--qk-norm-eps", &flags.eps,
       real("X", number_between(1e-37, 1e38, "a positive binary32 number")),
       "added to the mean square or the variance (default 1e-6)",
       advanced().needs("--qk-norm")},
      {"--qk-norm-plus-one", &flags.plus_one, flag(),
       "multiply by 1 + weight, as Gemma does", advanced().needs("--qk-norm")}};
}

void add_qk_norm_options(const Arguments& command, QkNormFlags& flags) {
  command.under("Layer").add(qk_norm_options(flags));
}

}  // namespace headwise::cli
