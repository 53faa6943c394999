// Rotary positions, as config.json says them: rope_parameters, or rope_scaling
// of old files.
#include <algorithm>
#include <array>
#include <cmath>

#include "interop/error_text.h"
#include "transformer/families/settings.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

// What scales the frequencies.
class ScalingReader {
 public:
  ScalingReader(Settings& settings, const JsonPart& part)
      : settings_(settings), part_(part) {
    longest_ = settings.size("max_position_embeddings", 2048);
    const std::string_view kOriginal = "original_max_position_embeddings";
    settings.keep(settings.config().get(kOriginal, outside_));
    original_ = outside_.value_or(longest_);
    get(kOriginal, original_);
    get("factor", factor_);
  }

  void linear(RotarySpec& made) {
    made.config.scaling = LinearScaling{factor_.value_or(1)};
  }

  void dynamic(RotarySpec& made) {
    made.limit = longest_;
    made.longer = NtkScaling{factor_.value_or(1)};
  }

  void llama3(RotarySpec& made) {
    Llama3Scaling scaling{.factor = factor_.value_or(1),
                          .original_length = original_};
    get("low_freq_factor", scaling.low_freq_factor);
    get("high_freq_factor", scaling.high_freq_factor);
    made.config.scaling = scaling;
  }

  void yarn(RotarySpec& made) {
    YarnScaling scaling{.factor = stretch(), .original_length = original_};
    get("beta_fast", scaling.beta_fast);
    get("beta_slow", scaling.beta_slow);
    get("truncate", scaling.truncate);
    double mscale = 0;
    double of_all = 0;
    get("mscale", mscale);
    get("mscale_all_dim", of_all);
    const auto magnitude = [&](double by) {
      return scaling.factor > 1 ? 0.1 * by * std::log(scaling.factor) + 1 : 1;
    };
    double attention_factor = mscale != 0 && of_all != 0
                                  ? magnitude(mscale) / magnitude(of_all)
                                  : magnitude(1);
    get("attention_factor", attention_factor);
    scaling.attention_factor = attention_factor;
    made.config.scaling = scaling;
  }

  void longrope(RotarySpec& made) {
    original_ = outside_.value_or(original_);
    const double s = stretch();
    double attention_factor =
        s > 1 ? std::sqrt(1 + std::log(s) /
                                  std::log(static_cast<double>(original_)))
              : 1;
    get("attention_factor", attention_factor);
    made.config.scaling =
        LongRopeScaling{numbers("short_factor"), attention_factor};
    made.limit = original_;
    made.longer = LongRopeScaling{numbers("long_factor"), attention_factor};
  }

 private:
  template <class T>
  void get(std::string_view key, T& into) {
    settings_.keep(part_.get(key, into));
  }

  double stretch() const {
    return factor_.value_or(static_cast<double>(longest_) /
                            static_cast<double>(original_));
  }

  std::vector<double> numbers(std::string_view key) {
    std::vector<double> values;
    const JsonPart part = part_.at(key);
    if (!part.exists()) {
      settings_.keep(part_.missing(key));
    } else if (!part.json().get(values)) {
      settings_.keep(part_.unexpected(key, "a list of numbers"));
    }
    return values;
  }

  Settings& settings_;
  const JsonPart& part_;
  std::size_t longest_ = 0;
  std::size_t original_ = 0;
  std::optional<std::size_t> outside_{};  // not in the part
  std::optional<double> factor_{};
};

struct ScalingKind {
  std::string_view name;
  void (ScalingReader::*read)(RotarySpec& made);
};
constexpr auto kKinds =
    std::to_array<ScalingKind>({{"default", nullptr},
                                {"linear", &ScalingReader::linear},
                                {"dynamic", &ScalingReader::dynamic},
                                {"llama3", &ScalingReader::llama3},
                                {"yarn", &ScalingReader::yarn},
                                {"longrope", &ScalingReader::longrope}});

}  // namespace

JsonPart Settings::rotary_settings() const {
  const JsonPart old = config_.at("rope_scaling");
  return old.exists() ? old : config_.at("rope_parameters");
}

std::size_t Settings::rotary_dim(std::size_t head_dim, double partial) {
  partial = number("partial_rotary_factor", partial);
  keep(rotary_settings().get("partial_rotary_factor", partial));
  return static_cast<std::size_t>(static_cast<double>(head_dim) * partial);
}

RotarySpec Settings::rotary(std::size_t rotary_dim, double theta) {
  return rotary_of(rotary_settings(), rotary_dim, number("rope_theta", theta));
}

RotarySpec Settings::rotary_of(const JsonPart& part, std::size_t rotary_dim,
                               double theta) {
  RotarySpec made{.config = {.rotary_dim = rotary_dim, .base = theta}};
  keep(part.get("rope_theta", made.config.base));
  std::string type = "default";
  keep(part.get("type", type));
  keep(part.get("rope_type", type));
  // Phi-3's first names of longrope.
  if (type == "su" || (type == "yarn" && part.at("long_factor").exists())) {
    type = "longrope";
  }
  const auto kind = std::ranges::find(kKinds, type, &ScalingKind::name);
  if (kind == kKinds.end()) {
    keep(part.unexpected(
        part.at("rope_type").exists() ? "rope_type" : "type",
        Message::verbatim(list_text(kKinds, ", ", &ScalingKind::name)),
        ErrorCode::unsupported));
  } else if (kind->read != nullptr) {
    ScalingReader reader(*this, part);
    (reader.*kind->read)(made);
  }
  return made;
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
