// Heads taken out of an encoder, by the numbers that they had before any was.

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "headwise/models/text_model.h"
#include "headwise/models/write_model.h"
#include "headwise/prune/remove_heads.h"
#include "models/bert_reference.h"
#include "models/small_model.h"
#include "prune/full_size.h"
#include "prune/pruned_layer.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

using HeadIds = std::vector<HeadId>;

const RaggedTokens kIds = {{2, 5, 9, 3}, {2, 3}, {2, 13, 0, 1, 5, 6, 7, 8, 3}};
constexpr std::size_t kRows = 15;
constexpr std::size_t kHeadSize = 4;

// Every parameter's elements, by name.
const HeadsLeft kAllHeads = {{0, 1, 2}, {0, 1, 2}};

using Elements = std::map<std::string, std::vector<float>>;
Elements elements_of(const Transformer& encoder) {
  Elements elements;
  for (const auto& [name, view] : encoder.params()) {
    std::size_t size = 1;
    for (const std::size_t extent : view.extents()) {
      size *= extent;
    }
    const auto* data = static_cast<const float*>(view.data());
    elements[name] = std::vector<float>(data, data + size);
  }
  return elements;
}

class PrunedEncoderTest : public testing::TestWithParam<SmallFamily> {
 protected:
  PrunedEncoderTest() {
    EXPECT_TRUE(write_params(folder_ / "model.safetensors", params_));
  }
  static Transformer read_from(const TempFolder& folder,
                               ModelUse use = ModelUse::training) {
    auto read = read_small(folder, small_config(GetParam()), {.use = use});
    EXPECT_TRUE(read) << read.error().message();
    return *std::move(read);
  }
  Transformer without(const HeadIds& heads,
                      ConstantPart constant = ConstantPart::dropped) const {
    Transformer encoder = read_from(folder_);
    const Status s = remove_heads(encoder, heads, constant);
    EXPECT_TRUE(s) << s.error().message();
    return encoder;
  }
  static BertReference::Rows gates_without(const HeadIds& heads) {
    BertReference::Rows gates(2, std::vector<double>(3, 1));
    for (const HeadId& id : heads) {
      gates[id.layer][id.head] = 0;
    }
    return gates;
  }
  static Tensor<float, 2> hidden_of(const Transformer& encoder) {
    return std::move(encoder.hidden(kIds).value());
  }
  // Those of the encoder in double under gates.
  static Tensor<double, 2> reference(const Params& params,
                                     const HeadIds& heads) {
    const SmallConfig config = small_config(GetParam());
    BertReference encoder(config, params);
    encoder.set_gates(gates_without(heads));
    auto hidden = Tensor<double, 2>::create({kRows, 12}).value();
    double* to = hidden.data();
    for (const auto& ids : kIds) {
      for (const auto& row : encoder.forward(ids)) {
        to = std::ranges::copy(row, to).out;
      }
    }
    return hidden;
  }
  // What the settings' readers ask for beside the parameters.
  void put_settings() {
    put_file(folder_ / "vocab.txt", bytes_of(kSmallVocabulary));
    const bool bert = GetParam() == SmallFamily::bert;
    auto fields = bert ? bert_fields() : distilbert_fields();
    fields["vocab_size"] = "14";
    fields["max_position_embeddings"] = "9";
    fields[bert ? "hidden_size" : "dim"] = "12";
    fields[bert ? "num_hidden_layers" : "n_layers"] = "2";
    fields[bert ? "num_attention_heads" : "n_heads"] = "3";
    fields[bert ? "intermediate_size" : "hidden_dim"] = "20";
    put_file(folder_ / "config.json", bytes_of(json(fields)));
  }

  TempFolder folder_;
  Params params_ = small_params(small_config(GetParam()));
};

const std::vector<HeadIds> kRemovals = {
    {},
    {{0, 1}},
    {{0, 0}, {1, 2}},
    {{1, 2}, {0, 2}, {1, 0}},
    {{1, 0}, {1, 1}, {1, 2}},
    {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}};

TEST_P(PrunedEncoderTest, HiddenStatesAreThoseOfGatesOfZero) {
  const Transformer whole = read_from(folder_);
  for (const HeadIds& heads : kRemovals) {
    const auto got = hidden_of(without(heads));
    EXPECT_TRUE(all_near(got, reference(params_, heads), 1e-5));
    std::vector<Tensor<float, 1>> gates;
    for (const auto& layer : gates_without(heads)) {
      gates.push_back(tensor_of<float, 1>({3}, {layer.begin(), layer.end()}));
    }
    EXPECT_TRUE(
        all_near(got, whole.hidden(kIds, {.head_gates = gates}).value(), 1e-5));
  }
}

TEST_P(PrunedEncoderTest, WhatTheHeadsAlwaysAddedStays) {
  for (const HeadIds& heads : kRemovals) {
    Params params = small_params(small_config(GetParam()));
    for (const HeadId& id : heads) {
      const auto names = part_names(GetParam(), id.layer);
      const auto& w_o = params.at(names.o + ".weight");
      for (std::size_t e = 0; e < 12; ++e) {
        for (std::size_t d = 0; d < kHeadSize; ++d) {
          const std::size_t at = id.head * kHeadSize + d;
          params.at(names.o + ".bias")(0, e) +=
              w_o(e, at) * params.at(names.v + ".bias")(0, at);
        }
      }
    }
    EXPECT_TRUE(all_near(hidden_of(without(heads, ConstantPart::into_bias)),
                         reference(params, heads), 1e-5));
  }
}

// ---- At the original shapes. ----

TEST_P(PrunedEncoderTest, AtFullSizeItComputesTheSame) {
  for (const HeadIds& heads : kRemovals) {
    const Transformer encoder = without(heads, ConstantPart::into_bias);
    const auto full = full_size_attention(encoder).value();
    Params params = small_params(small_config(GetParam()));
    for (const auto& [name, weight] : full.weights) {
      ASSERT_EQ(weight.extents(), params.at(name).extents()) << name;
      std::ranges::copy(weight.elements(), params.at(name).data());
    }
    for (const auto& [name, bias] : full.biases) {
      ASSERT_EQ(bias.size(), params.at(name).size()) << name;
      std::ranges::copy(bias.elements(), params.at(name).data());
    }
    EXPECT_EQ(full.params().size(), encoder.attention_params().size());
    const TempFolder folder;
    ASSERT_TRUE(write_params(folder / "model.safetensors", params));
    EXPECT_TRUE(
        all_near(hidden_of(read_from(folder)), hidden_of(encoder), 1e-5));
  }
}

TEST_P(PrunedEncoderTest, AtFullSizeARemovedHeadIsZeroAndTheRestIsNot) {
  const auto full = full_size_attention(without({{0, 1}})).value();
  const auto names = part_names(GetParam(), 0);
  const auto is_zero = [](std::size_t feature) {
    return feature / kHeadSize == 1;
  };
  for (std::size_t row = 0; row < 12; ++row) {
    for (const auto& name : {names.q, names.k, names.v}) {
      EXPECT_EQ(full.biases.at(name + ".bias")(row) == 0, is_zero(row));
      for (std::size_t e = 0; e < 12; ++e) {
        EXPECT_EQ(full.weights.at(name + ".weight")(row, e) == 0, is_zero(row));
      }
    }
    for (std::size_t e = 0; e < 12; ++e) {
      EXPECT_EQ(full.weights.at(names.o + ".weight")(row, e) == 0, is_zero(e));
    }
  }
}

TEST_P(PrunedEncoderTest, AtFullSizeIsForEncodersReadForTraining) {
  const auto full =
      full_size_attention(read_from(folder_, ModelUse::inference));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code(), ErrorCode::unsupported);
}

TEST_P(PrunedEncoderTest, NoneRemovedIsTheSameEncoder) {
  const Transformer same = without({});
  EXPECT_EQ(heads_left(same), kAllHeads);
  EXPECT_EQ(elements_of(same), elements_of(read_from(folder_)));
}

TEST_P(PrunedEncoderTest, NumbersAreThoseBeforeAnyWasRemoved) {
  Transformer encoder = without({{0, 0}});
  EXPECT_THAT(heads_left(encoder),
              ElementsAre(ElementsAre(1, 2), ElementsAre(0, 1, 2)));
  ASSERT_TRUE(
      remove_heads(encoder, HeadIds{{0, 2}, {1, 1}}, ConstantPart::dropped));
  EXPECT_THAT(heads_left(encoder),
              ElementsAre(ElementsAre(1), ElementsAre(0, 2)));
  const HeadIds all = {{0, 0}, {0, 2}, {1, 1}};
  EXPECT_EQ(elements_of(encoder), elements_of(without(all)));
  EXPECT_TRUE(same_bits(hidden_of(encoder), hidden_of(without(all))));
}

TEST_P(PrunedEncoderTest, AnErrorChangesNothing) {
  Transformer encoder = without({{0, 1}});
  const Elements before = elements_of(encoder);
  const auto kept = heads_left(encoder);
  struct Fault {
    HeadIds heads;
    ErrorCode code;
    std::string argument;
    std::vector<std::string> given;
    std::vector<std::string> expected;
  };
  for (const auto& [heads, code, argument, given, expected] :
       std::vector<Fault>{{{{0, 0}, {0, 1}},
                           ErrorCode::out_of_range,
                           "heads",
                           {"0.1"},
                           {"layer 0: 0, 2"}},
                          {{{0, 0}, {1, 3}},
                           ErrorCode::out_of_range,
                           "heads",
                           {"1.3"},
                           {"layer 1: 0-2"}},
                          {{{0, 0}, {2, 0}},
                           ErrorCode::out_of_range,
                           "heads",
                           {"2.0"},
                           {"0.0 to 1.2"}},
                          {{{0, 0}, {1, 2}, {1, 2}},
                           ErrorCode::invalid_argument,
                           "heads",
                           {"1.2", "twice"},
                           {"once"}},
                          {{{0, 2}, {0, 2}},
                           ErrorCode::invalid_argument,
                           "heads",
                           {"0.2", "twice"},
                           {"once"}}}) {
    EXPECT_THAT(remove_heads(encoder, heads),
                HasError({.code = code,
                          .operation = "remove_heads",
                          .argument = argument,
                          .given = given,
                          .expected = expected}));
    EXPECT_EQ(elements_of(encoder), before);
    EXPECT_EQ(heads_left(encoder), kept);
  }
}

TEST_P(PrunedEncoderTest, AnEncoderReadForInferenceIsAnError) {
  Transformer encoder = read_from(folder_, ModelUse::inference);
  const auto before = hidden_of(encoder);
  EXPECT_THAT(remove_heads(encoder, HeadIds{{1, 0}}),
              HasError({.code = ErrorCode::unsupported,
                        .operation = "remove_heads",
                        .argument = "layer",
                        .expected = {"trained"}}));
  EXPECT_TRUE(same_bits(hidden_of(encoder), before));
  EXPECT_EQ(heads_left(encoder), kAllHeads);
}

TEST_P(PrunedEncoderTest, WrittenAndReadItHasTheSameBits) {
  put_settings();
  for (const HeadIds& heads : kRemovals) {
    const Transformer encoder = without(heads, ConstantPart::into_bias);
    const TempFolder written;
    const Status s = write_model(folder_.path(), written.path(),
                                 {.params = encoder.attention_params(),
                                  .kept_heads = heads_left(encoder)});
    ASSERT_TRUE(s) << s.error().message();
    for (const ModelUse use : {ModelUse::inference, ModelUse::training}) {
      const Transformer again = read_from(written, use);
      EXPECT_EQ(heads_left(again), heads_left(encoder));
      EXPECT_TRUE(same_bits(hidden_of(again), hidden_of(encoder)));
    }
    EXPECT_EQ(elements_of(read_from(written)), elements_of(encoder));
  }
}

TEST_P(PrunedEncoderTest, WhatWasReadCanLoseMoreHeads) {
  put_settings();
  const Transformer once = without({{0, 1}});
  const TempFolder written;
  ASSERT_TRUE(write_model(
      folder_.path(), written.path(),
      {.params = once.attention_params(), .kept_heads = heads_left(once)}));
  Transformer again = read_from(written);
  ASSERT_TRUE(
      remove_heads(again, HeadIds{{0, 2}, {1, 0}}, ConstantPart::dropped));
  EXPECT_EQ(elements_of(again), elements_of(without({{0, 1}, {0, 2}, {1, 0}})));
}

// ---- Training on. ----

// Where the elements of a pruned encoder's parameter were before.
std::vector<std::size_t> places_before(SmallFamily family, const Params& params,
                                       const std::string& name,
                                       const std::vector<Heads>& kept) {
  auto number = Tensor<float, 2>::create(params.at(name).extents()).value();
  for (std::size_t n = 0; n < number.size(); ++n) {
    number.data()[n] = static_cast<float>(n);  // exact: there are few
  }
  for (std::size_t layer = 0; layer < kept.size(); ++layer) {
    const auto names = part_names(family, layer);
    for (const auto& part : {names.q, names.k, names.v}) {
      if (name == part + ".weight") {
        number = picked(number, 0, kept[layer], kHeadSize);
      } else if (name == part + ".bias") {
        number = picked(number, 1, kept[layer], kHeadSize);
      }
    }
    if (name == names.o + ".weight") {
      number = picked(number, 1, kept[layer], kHeadSize);
    }
  }
  return {number.elements().begin(), number.elements().end()};
}

TEST_P(PrunedEncoderTest, GradientsAreThoseOfTheEncoderInDoubleUnderGates) {
  const HeadIds heads = {{0, 1}, {1, 0}, {1, 2}};
  const Transformer encoder = without(heads);
  const auto d_hidden = uniform<2>({kRows, 12}, 90);
  auto saved = encoder.forward_for_backward(kIds).value();
  const ModelGradients got = encoder.backward(saved, d_hidden).value();
  EXPECT_EQ(got.params.size(), params_.size());
  const auto loss = [&] {
    const auto hidden = reference(params_, heads);
    double sum = 0;
    for (std::size_t n = 0; n < hidden.size(); ++n) {
      sum += hidden.data()[n] * static_cast<double>(d_hidden.data()[n]);
    }
    return sum;
  };
  for (const auto& [name, gradient] : got.params) {
    const auto places =
        places_before(GetParam(), params_, name, heads_left(encoder));
    ASSERT_EQ(gradient.size(), places.size()) << name;
    for (std::size_t n = 0; n < places.size(); n += 1 + places.size() / 5) {
      constexpr float kStep = 0x1p-9f;
      float& x = params_.at(name).elements()[places[n]];
      const float was = x;
      x = was + kStep;
      const double high = loss();
      const double up = x;
      x = was - kStep;
      const double g = (high - loss()) / (up - static_cast<double>(x));
      x = was;
      EXPECT_NEAR(gradient(n), g, 1e-4 * std::max(1.0, std::abs(g)))
          << name << " " << n;
    }
  }
}

TEST_P(PrunedEncoderTest, AnUpdateReachesTheHeadsThatStay) {
  Transformer encoder = without({{0, 0}, {0, 1}, {0, 2}, {1, 1}});
  const auto d_hidden = uniform<2>({kRows, 12}, 91);
  const auto loss = [&] {
    const auto hidden = hidden_of(encoder);
    double sum = 0;
    for (std::size_t n = 0; n < hidden.size(); ++n) {
      sum += static_cast<double>(hidden.data()[n]) *
             static_cast<double>(d_hidden.data()[n]);
    }
    return sum;
  };
  const double before = loss();
  auto saved = encoder.forward_for_backward(kIds).value();
  const auto gradients =
      encoder.backward(saved, d_hidden.view()).value().params;
  ASSERT_TRUE(
      encoder.update([&](std::string_view name, std::span<float> values) {
        const auto& gradient = gradients.find(name)->second;
        for (std::size_t n = 0; n < values.size(); ++n) {
          values[n] -= 1e-4f * gradient(n);
        }
        return ok();
      }));
  EXPECT_LT(loss(), before);
}

INSTANTIATE_TEST_SUITE_P(Families, PrunedEncoderTest, both_families(),
                         family_name);

}  // namespace
}  // namespace headwise::testing_support
