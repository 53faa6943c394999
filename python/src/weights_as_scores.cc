#include "weights_as_scores.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "headwise/inspect/view_page.h"
#include "headwise/steps/mask.h"

namespace headwise::python {
namespace {

// Its exponential is 0 next to that of any logarithm of a weight.
constexpr float kNoWeight = -1e30F;

constexpr std::array<Axis, 2> kPairAxes = {Axis::Lq, Axis::Lkv};

Error weights_error(ErrorCode code, std::string given, std::string expected,
                    std::string argument = "attn_weights") {
  return {code,
          {.operation = "ViewPage.add_attn_weights",
           .argument = std::move(argument),
           .given = std::move(given),
           .expected = std::move(expected)}};
}

std::string place_text(std::size_t h, std::size_t i) {
  return "head " + std::to_string(h) + ", query " + std::to_string(i);
}

}  // namespace

Result<WeightsAsScores> WeightsAsScores::create(std::size_t Lq,
                                                std::size_t Lkv) {
  if (std::max(Lq, Lkv) > kMostMapLength) {
    return weights_error(ErrorCode::unsupported,
                         "has " + std::to_string(Lq) + " queries and " +
                             std::to_string(Lkv) + " keys",
                         "at most " + std::to_string(kMostMapLength) +
                             "; give query and key instead");
  }
  WeightsAsScores made;
  auto key = Tensor<float, 4>::create({1, Lkv, 1, Lkv});
  HEADWISE_TRY(key);
  for (std::size_t j = 0; j < Lkv; ++j) {
    (*key)(0, j, 0, j) = 1;
  }
  made.key_ = *std::move(key);
  auto mask = Tensor<bool, 2>::create({Lq, Lkv});
  HEADWISE_TRY(mask);
  made.mask_ = *std::move(mask);
  return made;
}

Status WeightsAsScores::set(TensorView<const float, 4> weights,
                            std::size_t sequence) {
  const auto [batch, heads, Lq, Lkv] = weights.extents();
  if (sequence >= batch) {
    return weights_error(
        ErrorCode::out_of_range, "is " + std::to_string(sequence),
        "less than the batch's " + std::to_string(batch), "sequence");
  }
  if (Lq != mask_.extent(0) || Lkv != mask_.extent(1)) {
    return weights_error(ErrorCode::shape_mismatch,
                         "has " + std::to_string(Lq) + " queries and " +
                             std::to_string(Lkv) + " keys",
                         "the " + std::to_string(mask_.extent(0)) + " and " +
                             std::to_string(mask_.extent(1)) +
                             " that have labels");
  }
  const TensorView<const float, 3> of_sequence(
      weights.data() +
          static_cast<std::ptrdiff_t>(sequence) * weights.stride(0),
      {heads, Lq, Lkv},
      {weights.stride(1), weights.stride(2), weights.stride(3)});
  auto query =
      Tensor<float, 4>::create_unset_in(std::move(query_), {1, Lq, heads, Lkv});
  HEADWISE_TRY(query);
  query_ = *std::move(query);
  std::ranges::fill(mask_.elements(), false);
  for (std::size_t i = 0; i < Lq; ++i) {
    HEADWISE_TRY(set_query(i, of_sequence));
  }
  return ok();
}

Status WeightsAsScores::set_query(std::size_t i,
                                  TensorView<const float, 3> weights) {
  std::optional<std::size_t> empty;  // a head that has no weight here
  bool any = false;                  // whether one has
  for (std::size_t h = 0; h < weights.extent(0); ++h) {
    bool has_weight = false;
    for (std::size_t j = 0; j < weights.extent(2); ++j) {
      const float weight = weights(h, i, j);
      if (!(weight >= 0) || std::isinf(weight)) {
        return weights_error(ErrorCode::bad_data,
                             "is " + std::to_string(weight) + " at " +
                                 place_text(h, i) + ", key " +
                                 std::to_string(j),
                             "weights from 0 to 1");
      }
      query_(0, i, h, j) = weight > 0 ? std::log(weight) : kNoWeight;
      mask_(i, j) |= weight > 0;
      has_weight |= weight > 0;
    }
    any |= has_weight;
    if (!has_weight) {
      empty = h;
    }
  }
  if (any && empty) {
    return weights_error(ErrorCode::bad_data,
                         "is 0 for every key at " + place_text(*empty, i),
                         "rows that add up to 1, or 0 in all heads");
  }
  return ok();
}

AttentionOptions WeightsAsScores::options() const {
  return {.mask = dense(mask_.view(), kPairAxes), .scale = 1};
}

}  // namespace headwise::python
