#include "steps/rotary_frequencies.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/exponential.h"
#include "base/logarithm.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kRotaryFrequencies = "rotary";
constexpr double kTwoPi = 0x1.921fb54442d18p+2;

Status check_at_least(std::string_view argument, double given, double least) {
  return std::isfinite(given) && given >= least
             ? ok()
             : Status(value_error(
                   kRotaryFrequencies, argument, number_text(given),
                   message("a number, {} or greater", number_text(least))));
}

Status check_above_0(std::string_view argument, double given) {
  return std::isfinite(given) && given > 0
             ? ok()
             : Status(value_error(kRotaryFrequencies, argument,
                                  number_text(given), "a number above 0"));
}

Status check_length(std::string_view argument, std::size_t length) {
  return length != 0 ? ok()
                     : Status(value_error(kRotaryFrequencies, argument, "0",
                                          "the tokens of the original length"));
}

// base^(-2p / rotary_dim), `ln_base` being the base's logarithm.
std::vector<double> powers(std::size_t rotary_dim, double ln_base) {
  std::vector<double> radians(rotary_dim / 2);
  for (std::size_t p = 0; p < radians.size(); ++p) {
    radians[p] = exponential(
        -(static_cast<double>(2 * p) / static_cast<double>(rotary_dim)) *
        ln_base);
  }
  return radians;
}

struct Scale {
  const RotaryConfig& config;
  double ln_base;

  Result<RotaryFrequencies> operator()(std::monostate) const {
    return RotaryFrequencies{powers(config.rotary_dim, ln_base)};
  }

  Result<RotaryFrequencies> operator()(const LinearScaling& rule) const {
    HEADWISE_TRY(check_at_least("scaling.factor", rule.factor, 1));
    RotaryFrequencies made{powers(config.rotary_dim, ln_base)};
    for (double& radians : made.radians) {
      radians /= rule.factor;
    }
    return made;
  }

  Result<RotaryFrequencies> operator()(const NtkScaling& rule) const {
    HEADWISE_TRY(check_at_least("scaling.factor", rule.factor, 1));
    if (config.rotary_dim == 2) {
      return value_error(kRotaryFrequencies, "rotary_dim", "2",
                         "at least 4 for NTK-aware scaling");
    }
    const auto dim = static_cast<double>(config.rotary_dim);
    return RotaryFrequencies{
        powers(config.rotary_dim,
               ln_base + dim / (dim - 2) * natural_log(rule.factor))};
  }

  Result<RotaryFrequencies> operator()(const YarnScaling& rule) const {
    HEADWISE_TRY(check_yarn(rule));
    const auto dim = static_cast<double>(config.rotary_dim);
    // The pair, not whole, that turns so often within the original length. The
    // quotient of the largest and smallest numbers would have no logarithm.
    const auto pair_of = [&](double turns) {
      using Limits = std::numeric_limits<double>;
      const double wavelength = std::clamp(
          static_cast<double>(rule.original_length) / (turns * kTwoPi),
          Limits::min(), Limits::max());
      return dim * natural_log(wavelength) / (2 * ln_base);
    };
    double low = pair_of(rule.beta_fast);
    double high = pair_of(rule.beta_slow);
    if (rule.truncate) {
      low = std::floor(low);
      high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, dim - 1);
    // low may be the greater one where all pairs turn often, or all rarely.
    high = low >= high ? low + 0.001 : high;
    RotaryFrequencies made{powers(config.rotary_dim, ln_base)};
    for (std::size_t p = 0; p < made.radians.size(); ++p) {
      const double share =
          std::clamp((static_cast<double>(p) - low) / (high - low), 0.0, 1.0);
      double& radians = made.radians[p];
      radians = radians * (1 - share) + radians / rule.factor * share;
    }
    made.factor =
        rule.attention_factor.value_or(0.1 * natural_log(rule.factor) + 1);
    return made;
  }

  Result<RotaryFrequencies> operator()(const Llama3Scaling& rule) const {
    HEADWISE_TRY(check_at_least("scaling.factor", rule.factor, 1));
    HEADWISE_TRY(check_length("scaling.original_length", rule.original_length));
    if (!(rule.low_freq_factor > 0 &&
          rule.low_freq_factor < rule.high_freq_factor &&
          std::isfinite(rule.high_freq_factor))) {
      return value_error(kRotaryFrequencies, "scaling.high_freq_factor",
                         number_text(rule.high_freq_factor),
                         message("above low_freq_factor = {}, which is above 0",
                                 number_text(rule.low_freq_factor)));
    }
    const auto length = static_cast<double>(rule.original_length);
    RotaryFrequencies made{powers(config.rotary_dim, ln_base)};
    for (double& radians : made.radians) {
      const double turns = length * radians / kTwoPi;
      const double share =
          std::clamp((turns - rule.low_freq_factor) /
                         (rule.high_freq_factor - rule.low_freq_factor),
                     0.0, 1.0);
      radians = (1 - share) * radians / rule.factor + share * radians;
    }
    return made;
  }

  Result<RotaryFrequencies> operator()(const LongRopeScaling& rule) const {
    RotaryFrequencies made{powers(config.rotary_dim, ln_base)};
    HEADWISE_TRY(
        check_above_0("scaling.attention_factor", rule.attention_factor));
    if (rule.factors.size() != made.radians.size()) {
      return argument_error(
          kRotaryFrequencies, "scaling.factors",
          message("has length {}", rule.factors.size()),
          message("rotary_dim / 2 = {}", made.radians.size()));
    }
    for (std::size_t p = 0; p < made.radians.size(); ++p) {
      // Angles are exact for up to one radian per position.
      HEADWISE_TRY(
          check_at_least("scaling.factors", rule.factors[p], made.radians[p]));
      made.radians[p] /= rule.factors[p];
    }
    made.factor = rule.attention_factor;
    return made;
  }

  Status check_yarn(const YarnScaling& rule) const {
    HEADWISE_TRY(check_at_least("scaling.factor", rule.factor, 1));
    HEADWISE_TRY(check_length("scaling.original_length", rule.original_length));
    if (!(rule.beta_slow > 0 && rule.beta_slow <= rule.beta_fast &&
          std::isfinite(rule.beta_fast))) {
      return value_error(kRotaryFrequencies, "scaling.beta_fast",
                         number_text(rule.beta_fast),
                         message("at least beta_slow = {}, which is above 0",
                                 number_text(rule.beta_slow)));
    }
    if (config.base == 1) {
      return value_error(kRotaryFrequencies, "base", "1", "above 1 for YaRN");
    }
    return check_above_0("scaling.attention_factor",
                         rule.attention_factor.value_or(1));
  }
};

}  // namespace

Result<RotaryFrequencies> rotary_frequencies(const RotaryConfig& config) {
  if (config.rotary_dim == 0 || config.rotary_dim % 2 != 0) {
    return value_error(kRotaryFrequencies, "rotary_dim",
                       std::to_string(config.rotary_dim),
                       "an even number, 2 or greater");
  }
  HEADWISE_TRY(check_at_least("base", config.base, 1));
  return std::visit(Scale{config, natural_log(config.base)}, config.scaling);
}

}  // namespace headwise::inline HEADWISE_ABI
