#include "golden/golden_onnx.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "headwise/attention/forward.h"
#include "headwise/attention/reference.h"
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

struct OnnxCall {
  explicit OnnxCall(const GoldenCase& golden)
      : query(heads_of(golden, "Q", "q_num_heads")),
        key(heads_of(golden, "K", "kv_num_heads")),
        value(heads_of(golden, "V", "kv_num_heads")) {
    const auto& attributes = golden.json().at("attributes");
    if (golden.has("past_key")) {
      const auto past = heads_of(golden, "past_key", "");
      options.query_start = static_cast<std::int64_t>(past.extent(1));
      key = joined(past, key);
      value = joined(heads_of(golden, "past_value", ""), value);
    }
    if (attributes.value("is_causal", 0) != 0) {
      options.mask = causal();
    }
    const auto side = [&](const char* name) {
      const auto keys = attributes.value(name, std::int64_t{-1});
      return keys < 0 ? std::optional<std::int64_t>() : keys;
    };
    options.mask = options.mask &
                   window(side("left_window_size"), side("right_window_size"));
    if (const double softcap = attributes.value("softcap", 0.0); softcap != 0) {
      options.softcap = softcap;
    }
    if (golden.has("attn_mask")) {
      add_mask(golden);
    }
    constexpr std::array kStages = {ScoresStage::raw, ScoresStage::softcap,
                                    ScoresStage::bias, ScoresStage::softmax};
    options.scores =
        kStages.at(attributes.value("qk_matmul_output_mode", std::size_t{0}));
  }

  // (Lq, Lkv), or with axes in front: booleans mask, numbers are added.
  void add_mask(const GoldenCase& golden) {
    const auto& tensor = golden.json().at("tensors").at("attn_mask");
    Extents<4> extents = {1, 1, 1, 1};
    std::ranges::copy_backward(
        tensor.at("shape").get<std::vector<std::size_t>>(), extents.end());
    constexpr std::array kAxes = {Axis::B, Axis::H, Axis::Lq, Axis::Lkv};
    std::array<Axis, 4> axes = kAxes;
    for (std::size_t n = 0; n < axes.size(); ++n) {
      axes[n] = extents[n] == 1 ? Axis::one : axes[n];
    }
    const bool square = golden.rank("attn_mask") == 2;
    if (tensor.at("dtype") == "bool") {
      allowed = square ? golden.bools<2>("attn_mask").with_extents(extents)
                       : golden.bools<4>("attn_mask");
      options.mask = options.mask & dense(view_of(allowed), axes);
    } else {
      bias = square ? golden.floats<2>("attn_mask").with_extents(extents)
                    : golden.floats<4>("attn_mask");
      options.bias = dense(view_of(bias), axes);
    }
  }

  Tensor<float, 4> query;  // (B, Lq, Hq, D)
  Tensor<float, 4> key;
  Tensor<float, 4> value;
  Tensor<bool, 4> allowed;
  Tensor<float, 4> bias;
  AttentionOptions options;
};

}  // namespace

std::vector<Computed> compute_onnx(const GoldenCase& golden) {
  const OnnxCall call(golden);
  const auto [B, Lq, Hq, D] = call.query.extents();
  const std::size_t Dv = call.value.extent(3);
  auto output = Tensor<float, 4>::create({B, Lq, Hq, Dv}).value();
  auto scores =
      Tensor<float, 4>::create({B, Hq, Lq, call.key.extent(1)}).value();
  const AttentionOutputs outputs = {.output = output.view(),
                                    .scores = scores.view()};
  const bool heads_first = golden.rank("Q") == 4;
  const auto computed = [&](const std::string& way) {
    Got got = got_of(
        copy_of(heads_first ? as_bhld(view_of(output)) : view_of(output)));
    if (!heads_first) {
      const auto& blhd = output.extents();
      got.extents = {blhd[0], blhd[1], blhd[2] * blhd[3]};
    }
    return Computed{way, {{"Y", got}, {"qk_matmul_output", got_of(scores)}}};
  };
  std::vector<Computed> all;
  attention(call.query, call.key, call.value, outputs, call.options).value();
  all.push_back(computed("plain"));
  reference_attention<float>(call.query, call.key, call.value, outputs,
                             call.options)
      .value();
  all.push_back(computed("reference"));
  return all;
}

}  // namespace headwise::testing_support
