#include "inspect/page/through_layers.h"

#include "base/check.h"
#include "inspect/page/head_numbers.h"
#include "inspect/page/view_head.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Nothing if there are no shares.
Result<std::optional<std::string>> encode_shares(
    const char* name, TensorView<const float, 2> shares,
    const ViewPageSettings& settings) {
  if (shares.data() == nullptr) {
    return std::optional<std::string>();
  }
  HEADWISE_TRY(check_shape(
      kViewPage, name, shares.extents(), "(queries, keys)",
      {{settings.query_labels.size(), settings.key_labels.size()}}));
  for (std::size_t i = 0; i < shares.extent(0); ++i) {
    for (std::size_t j = 0; j < shares.extent(1); ++j) {
      HEADWISE_TRY(
          check_finite(name, {i, j}, static_cast<double>(shares(i, j))));
    }
  }
  return std::optional(encode_rows_of(shares));
}

}  // namespace

Result<EncodedThroughLayers> encode_through_layers(
    const ViewPageSettings& settings) {
  const ViewedThroughLayers& given = settings.through;
  HEADWISE_ASSIGN(auto rollout,
                  encode_shares("rollout", given.rollout, settings));
  HEADWISE_ASSIGN(auto flow, encode_shares("flow", given.flow, settings));
  EncodedThroughLayers encoded{given.output_token, std::move(rollout),
                               std::move(flow)};
  const std::size_t tokens = settings.query_labels.size();
  if (encoded.any() && given.output_token >= tokens) {
    return value_error(
        kViewPage, "output_token", std::to_string(given.output_token),
        message("less than {}", tokens), ErrorCode::out_of_range);
  }
  return encoded;
}

}  // namespace headwise::inline HEADWISE_ABI
