#include "golden/onnx_call.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// (B, L, H, D) of a tensor (B, H, L, D) or, with 3 axes, (B, L, H * D).
Tensor<float, 4> heads_of(const GoldenCase& golden, const std::string& name,
                          const char* heads) {
  if (golden.rank(name) == 4) {
    const auto bhld = golden.floats<4>(name);
    return copy_of(as_blhd(view_of(bhld)));
  }
  auto tokens = golden.floats<3>(name);
  const auto H = golden.json().at("attributes").at(heads).get<std::size_t>();
  const auto [B, L, features] = tokens.extents();
  return std::move(tokens).with_extents(Extents<4>{B, L, H, features / H});
}

// The past tokens in front of the present ones.
Tensor<float, 4> joined(const Tensor<float, 4>& past,
                        const Tensor<float, 4>& present) {
  const auto [B, L, H, D] = present.extents();
  const std::size_t before = past.extent(1);
  auto all = Tensor<float, 4>::create({B, before + L, H, D}).value();
  float* to = all.data();
  for (std::size_t b = 0; b < B; ++b) {
    to = std::copy_n(&past(b, 0, 0, 0), before * H * D, to);
    to = std::copy_n(&present(b, 0, 0, 0), L * H * D, to);
  }
  return all;
}

// A mask of fewer keys than the call excludes the others.
template <class T>
Tensor<T, 4> widened_to(std::size_t keys, T excluded, Tensor<T, 4> mask) {
  const auto [B, H, L, given] = mask.extents();
  if (given == 1 || given == keys) {
    return mask;
  }
  auto wide = filled<T, 4>({B, H, L, keys}, excluded);
  for (std::size_t row = 0; row < B * H * L; ++row) {
    std::copy_n(mask.data() + row * given, given, wide.data() + row * keys);
  }
  return wide;
}

// The first `keys` columns, and the axes that are not shared.
template <class T>
auto dense_columns(const Tensor<T, 4>& mask, std::size_t keys) {
  constexpr std::array kAxes = {Axis::B, Axis::H, Axis::Lq, Axis::Lkv};
  Extents<4> extents = mask.extents();
  extents[3] = std::min(extents[3], keys);
  std::array<Axis, 4> axes = kAxes;
  for (std::size_t n = 0; n < axes.size(); ++n) {
    axes[n] = extents[n] == 1 ? Axis::one : axes[n];
  }
  return dense(
      TensorView<const T, 4>(mask.data(), extents, mask.view().strides()),
      axes);
}

std::optional<std::int64_t> window_side(const GoldenCase& golden,
                                        const char* name) {
  const auto keys =
      golden.json().at("attributes").value(name, std::int64_t{-1});
  return keys < 0 ? std::optional<std::int64_t>() : keys;
}

}  // namespace

OnnxCall::OnnxCall(const GoldenCase& golden)
    : query_(heads_of(golden, "Q", "q_num_heads")),
      key_(heads_of(golden, "K", "kv_num_heads")),
      value_(heads_of(golden, "V", "kv_num_heads")) {
  const auto& attributes = golden.json().at("attributes");
  std::int64_t before = 0;
  if (golden.has("past_key")) {
    const auto past = heads_of(golden, "past_key", "");
    before = static_cast<std::int64_t>(past.extent(1));
    key_ = joined(past, key_);
    value_ = joined(heads_of(golden, "past_value", ""), value_);
  }
  const std::size_t B = key_.extent(0);
  starts_ = filled<std::int64_t, 1>({B}, before);
  lengths_ =
      filled<std::int64_t, 1>({B}, static_cast<std::int64_t>(key_.extent(1)));
  if (golden.has("nonpad_kv_seqlen")) {
    lengths_ = golden.ints<1>("nonpad_kv_seqlen");
    for (std::size_t b = 0; b < B; ++b) {
      starts_(b) = lengths_(b) - static_cast<std::int64_t>(query_.extent(1));
    }
  }
  const auto left = window_side(golden, "left_window_size");
  const auto right = window_side(golden, "right_window_size");
  given_.mask = window(left, right);
  if (attributes.value("is_causal", 0) != 0) {
    given_.mask = given_.mask & causal();
    looks_at_positions_ = true;
  }
  looks_at_positions_ = looks_at_positions_ || left || right;
  if (attributes.contains("scale")) {
    given_.scale = attributes["scale"].get<double>();
  }
  if (const double softcap = attributes.value("softcap", 0.0); softcap != 0) {
    given_.softcap = softcap;
  }
  constexpr std::array kStages = {ScoresStage::raw, ScoresStage::softcap,
                                  ScoresStage::bias, ScoresStage::softmax};
  given_.scores =
      kStages.at(attributes.value("qk_matmul_output_mode", std::size_t{0}));
  if (golden.has("attn_mask")) {
    read_mask(golden);
  }
}

// (Lq, Lkv), or with axes in front: booleans mask, numbers are added.
void OnnxCall::read_mask(const GoldenCase& golden) {
  const auto& tensor = golden.json().at("tensors").at("attn_mask");
  Extents<4> extents = {1, 1, 1, 1};
  std::ranges::copy_backward(tensor.at("shape").get<std::vector<std::size_t>>(),
                             extents.end());
  const bool square = golden.rank("attn_mask") == 2;
  const std::size_t keys = key_.extent(1);
  if (tensor.at("dtype") == "bool") {
    allowed_ =
        widened_to(keys, false,
                   square ? golden.bools<2>("attn_mask").with_extents(extents)
                          : golden.bools<4>("attn_mask"));
  } else {
    bias_ =
        widened_to(keys, -std::numeric_limits<float>::infinity(),
                   square ? golden.floats<2>("attn_mask").with_extents(extents)
                          : golden.floats<4>("attn_mask"));
  }
}

AttentionOptions OnnxCall::options(std::size_t keys) const {
  AttentionOptions options = given_;
  if (allowed_.size() != 0) {
    options.mask = options.mask & dense_columns(allowed_, keys);
  }
  if (bias_.size() != 0) {
    options.bias = dense_columns(bias_, keys);
  }
  return options;
}

AttentionOptions OnnxCall::options() const {
  AttentionOptions all = options(key_.extent(1));
  all.mask = all.mask & key_lengths(lengths_);
  all.query_start = starts_;
  return all;
}

bool OnnxCall::fits_cache() const {
  const auto queries = static_cast<std::int64_t>(query_.extent(1));
  for (std::size_t b = 0; b < lengths_.size(); ++b) {
    if (lengths_(b) < queries ||
        (looks_at_positions_ && starts_(b) != lengths_(b) - queries)) {
      return false;
    }
  }
  return true;
}

AttentionOptions OnnxCall::cached_options() const {
  AttentionOptions cached =
      options(static_cast<std::size_t>(std::ranges::max(lengths_.elements())));
  cached.scores = ScoresStage::none;
  return cached;
}

}  // namespace headwise::testing_support
