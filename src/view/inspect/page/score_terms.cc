#include "inspect/page/score_terms.h"

#include <cmath>
#include <cstdlib>

namespace headwise::inline HEADWISE_ABI {
namespace {

// The offsets at which another bucket begins.
Json t5_steps_json(const BoundT5Bias& bias) {
  if (!bias.given()) {
    return nullptr;
  }
  Json steps = Json::array();
  for (const BoundT5Bias::Piece& piece : bias.pieces().subspan(1)) {
    steps.push_back(piece.first);
  }
  return steps;
}

// What T5's bias adds from each of them on.
Json t5_json(const BoundT5Bias& bias, std::size_t h) {
  if (!bias.given()) {
    return nullptr;
  }
  Json values = Json::array();
  for (const BoundT5Bias::Piece& piece : bias.pieces()) {
    values.push_back(bias.table()(piece.bucket, h));
  }
  return values;
}

}  // namespace

void add_shared_terms(const AttentionSpec& spec, Json& json) {
  json["scale"] = spec.scale;
  json["softcap"] = spec.softcap ? Json(*spec.softcap) : Json(nullptr);
  json["t5_steps"] = t5_steps_json(spec.t5_bias);
}

void add_head_terms(const AttentionSpec& spec, std::size_t h, Json& json) {
  json["t5"] = t5_json(spec.t5_bias, h);
  json["alibi"] =
      spec.alibi.given() ? Json(spec.alibi.slope(h)) : Json(nullptr);
  json["sink"] = spec.sinks.has(h) ? Json(spec.sinks.of(h)) : Json(nullptr);
}

double page_score(const AttentionSpec& spec, std::size_t h, double dot,
                  std::int64_t offset) {
  double score = spec.scale * dot;
  if (spec.softcap) {
    score = *spec.softcap * std::tanh(score / *spec.softcap);
  }
  if (spec.t5_bias.given()) {
    score += static_cast<double>(spec.t5_bias(h, offset));
  }
  if (spec.alibi.given()) {
    score -= static_cast<double>(spec.alibi.slope(h)) *
             static_cast<double>(std::abs(offset));
  }
  return score;
}

}  // namespace headwise::inline HEADWISE_ABI
