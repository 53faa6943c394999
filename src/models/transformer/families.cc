#include "transformer/families.h"

#include <cmath>

#include "interop/error_text.h"

namespace headwise::inline HEADWISE_ABI::transformer {

namespace {

// What no family computes, and settings that do not fit together.
Status check_settings(const JsonPart& config, const StackSpec& stack) {
  if (const JsonPart part = config.at("quantization_config"); part.exists()) {
    std::string method = "unknown";
    HEADWISE_TRY(part.get("quant_method", method));
    return config.fault(
        message("has quantization_config, {}", printable(method)),
        "a model that is not quantised", ErrorCode::unsupported);
  }
  if (config.at("auto_map").exists()) {
    return config.fault("has auto_map", "a model without code of its own",
                        ErrorCode::unsupported);
  }
  const HeadsSpec& heads = stack.heads;
  if (heads.head_dim == 0 || heads.head_dim > kMostHeads ||
      heads.num_heads > kMostHeads ||
      heads.num_heads % heads.num_kv_heads != 0) {
    return config.fault(
        message("has {} heads of size {}, and {} of keys", heads.num_heads,
                heads.head_dim, heads.num_kv_heads),
        message("numbers from 1 to {}, and a divisor of the heads",
                kMostHeads));
  }
  if (!(stack.norm.eps > 0 && stack.norm.eps < 1 && heads.scale > 0 &&
        std::isfinite(heads.scale))) {
    return config.fault("has settings of norms or scores that do not fit",
                        "an eps between 0 and 1, and a positive scale");
  }
  for (const RotarySpec& rotary : stack.rotary) {
    for (const std::size_t length : {std::size_t{0}, rotary.limit + 1}) {
      const auto made = Rotary::create(rotary.config_of(length));
      if (!made) {
        return config.subject().blame(made.error());
      }
    }
    if (rotary.config.rotary_dim > heads.head_dim) {
      return config.fault(
          message("rotates {} features of a head", rotary.config.rotary_dim),
          message("at most {}", heads.head_dim));
    }
  }
  return ok();
}

}  // namespace

Result<Description> describe_model(const JsonPart& config) {
  std::string type;
  HEADWISE_TRY(config.require("model_type", type));
  std::vector<Family> known;
  for (const std::span<const Family> families :
       {kBertFamilies, kModernBertFamilies, kDebertaFamilies, kGpt2Families,
        kGptNeoxFamilies, kLlamaFamilies, kGemmaFamilies, kT5Families,
        kBartFamilies, kCausalFamilies}) {
    known.insert(known.end(), families.begin(), families.end());
  }
  for (const Family& family : known) {
    if (family.model_type == type) {
      HEADWISE_ASSIGN(auto made, family.describe(config));
      HEADWISE_TRY(check_settings(config, made.stack));
      if (made.encoder) {
        HEADWISE_TRY(check_settings(config, made.encoder->stack));
      }
      made.family = type;
      return made;
    }
  }
  return config.unexpected(
      "model_type",
      Message::verbatim(list_text(known, ", ", &Family::model_type)),
      ErrorCode::unsupported);
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
