// A decoder over a cache beside a pass over whole sequences.
#include "headwise/transformer/model_cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "headwise/attention/statistics_options.h"
#include "models/family_models.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kLengths[] = {37, 5, 20};

// Which attention: of "3", "cross.3".
using Weights =
    std::map<std::pair<AttentionKind, std::size_t>, Tensor<float, 4>>;

class ModelCacheTest : public testing::TestWithParam<std::string> {
 protected:
  ModelCacheTest() : model_(read()) {
    for (const std::size_t length : kLengths) {
      ids_.push_back(drawn(length));
      encoder_ids_.push_back(drawn(3 + length % 7));
    }
  }

  bool has_encoder() const { return model_.shape().encoder_layers != 0; }

  std::vector<TokenId> drawn(std::size_t length) {
    if (const auto most = model_.shape().max_positions; most != 0) {
      length = std::min(length, most);
    }
    std::vector<TokenId> tokens(length);
    std::ranges::generate(tokens, [&] {
      return static_cast<TokenId>(random_() % model_.shape().vocab_size);
    });
    return tokens;
  }

  ModelPass seeing(Weights& weights) const {
    ModelPass pass;
    pass.see_attn_weights = [&](const AttentionPlace& at,
                                TensorView<const float, 4> seen) {
      auto copy = Tensor<float, 4>::create(seen.extents()).value();
      std::copy_n(seen.data(), copy.size(), copy.data());
      weights[{at.kind, at.layer}] = std::move(copy);
      return ok();
    };
    return pass;
  }

  // Of each sequence alone.
  Tensor<float, 2> whole(std::size_t b, Weights& weights) const {
    ModelPass pass = seeing(weights);
    const RaggedTokens decoder = {ids_[b]};
    pass.decoder_ids = has_encoder() ? &decoder : nullptr;
    return model_
        .hidden(has_encoder() ? RaggedTokens{encoder_ids_[b]} : decoder, pass)
        .value();
  }

  ModelCache cache(bool sums_received = false) const {
    return ModelCache::create(model_, {.max_tokens = 100,
                                       .max_sequences = 3,
                                       .sums_received = sums_received})
        .value();
  }
  SequenceId begin(ModelCache& cache, std::size_t b) const {
    return has_encoder() ? cache.begin(encoder_ids_[b]).value()
                         : cache.begin(ids_[b].size()).value();
  }

  // The next `counts` tokens of each sequence, from `given` on.
  RaggedTokens next(const std::vector<std::size_t>& given,
                    const std::vector<std::size_t>& counts) const {
    RaggedTokens part;
    for (std::size_t b = 0; b < ids_.size(); ++b) {
      const auto from = ids_[b].begin() + static_cast<std::ptrdiff_t>(given[b]);
      part.emplace_back(from, from + static_cast<std::ptrdiff_t>(counts[b]));
    }
    return part;
  }

  Transformer read() {
    put_family_model(folder_, GetParam());
    return Transformer::read(folder_.path()).value();
  }

  TempFolder folder_;
  Transformer model_;
  std::mt19937 random_{11};
  RaggedTokens ids_;
  RaggedTokens encoder_ids_;
};

TEST_P(ModelCacheTest, ARowHasTheBitsOfAPassOverItsWholeSequence) {
  ModelCache cache = this->cache();
  std::vector<Tensor<float, 2>> wanted;
  std::vector<Weights> of_whole(ids_.size());
  std::vector<SequenceId> sequences;
  for (std::size_t b = 0; b < ids_.size(); ++b) {
    wanted.push_back(whole(b, of_whole[b]));
    sequences.push_back(begin(cache, b));
  }
  std::vector<std::size_t> given(ids_.size());
  for (bool more = true; more;) {
    more = false;
    std::vector<std::size_t> counts;
    for (std::size_t b = 0; b < ids_.size(); ++b) {
      const std::size_t left = ids_[b].size() - given[b];
      counts.push_back(std::min<std::size_t>(left, random_() % 4));
      more |= left != 0;
    }
    Weights weights;
    ModelPass pass = seeing(weights);
    pass.cache = &cache;
    pass.sequences = sequences;
    const auto hidden = model_.hidden(next(given, counts), pass).value();
    std::size_t row = 0;
    for (std::size_t b = 0; b < ids_.size(); ++b) {
      for (std::size_t t = 0; t < counts[b]; ++t, ++row) {
        const std::size_t place = given[b] + t;
        ASSERT_TRUE(same_bits({&hidden(row, 0), hidden.extent(1)},
                              {&wanted[b](place, 0), hidden.extent(1)}))
            << "sequence " << b << " token " << place;
        for (const auto& [at, seen] : weights) {
          const auto& right = of_whole[b].at(at);
          for (std::size_t h = 0; h < seen.extent(1); ++h) {
            const std::size_t keys =
                at.first == AttentionKind::cross ? right.extent(3) : place + 1;
            ASSERT_TRUE(same_bits({&seen(b, h, t, 0), keys},
                                  {&right(0, h, place, 0), keys}))
                << at.second << "." << h;
          }
        }
      }
      given[b] += counts[b];
    }
  }
  for (std::size_t b = 0; b < ids_.size(); ++b) {
    EXPECT_EQ(cache.length(sequences[b]).value(), ids_[b].size());
  }
}

TEST_P(ModelCacheTest, StatisticsAreThoseOfTheWeights) {
  ModelCache cache = this->cache();
  const SequenceId id = begin(cache, 0);
  Weights weights;
  std::size_t compared = 0;
  ModelPass pass = seeing(weights);
  pass.cache = &cache;
  pass.sequences = {&id, 1};
  std::map<std::pair<AttentionKind, std::size_t>, Tensor<float, 4>> statistics;
  pass.see_statistics = [&](HookPlace at, TensorView<const float, 4> seen) {
    auto copy = Tensor<float, 4>::create(seen.extents()).value();
    std::copy_n(seen.data(), copy.size(), copy.data());
    statistics[{at.kind, at.layer}] = std::move(copy);
    return ok();
  };
  const RaggedTokens ids = {ids_[1]};
  ASSERT_TRUE(model_.hidden(ids, pass));
  for (const auto& [at, rows] : statistics) {
    const Tensor<float, 4>& w = weights.at(at);
    for (std::size_t h = 0; h < rows.extent(1); ++h) {
      for (std::size_t t = 0; t < rows.extent(2); ++t, ++compared) {
        float largest = 0;
        for (std::size_t j = 0; j < w.extent(3); ++j) {
          largest = std::max(largest, w(0, h, t, j));
        }
        EXPECT_NEAR(rows(0, h, t, index_of(Statistic::largest)), largest, 1e-6);
        EXPECT_NEAR(rows(0, h, t, index_of(Statistic::first)), w(0, h, t, 0),
                    1e-6);
      }
    }
  }
  EXPECT_GE(compared, model_.shape().num_layers * ids_[1].size());
}

TEST_P(ModelCacheTest, HooksSeeEveryKindOfAttention) {
  ModelCache cache = this->cache();
  std::map<AttentionKind, std::size_t> calls;
  ModelPass pass;
  pass.hooks.see = [&](HookPlace at, TensorView<const float, 4>) {
    ++calls[at.kind];
    return ok();
  };
  const SequenceId id = has_encoder()
                            ? cache.begin(encoder_ids_[0], pass).value()
                            : cache.begin().value();
  pass.cache = &cache;
  pass.sequences = {&id, 1};
  ASSERT_TRUE(model_.hidden({{1, 2}}, pass));
  EXPECT_EQ(calls[AttentionKind::self], model_.shape().num_layers);
  EXPECT_EQ(calls[AttentionKind::encoder], model_.shape().encoder_layers);
  EXPECT_EQ(calls[AttentionKind::cross],
            has_encoder() ? model_.shape().num_layers : 0);
}

TEST_P(ModelCacheTest, AFailedPassEndsItsSequencesAndARefusedOneDoesNot) {
  ModelCache cache = this->cache();
  const SequenceId id = begin(cache, 0);
  const SequenceId other = begin(cache, 1);
  ModelPass pass{.cache = &cache, .sequences = {&id, 1}};
  EXPECT_FALSE(model_.hidden(RaggedTokens{std::vector<TokenId>(1000)}, pass));
  EXPECT_FALSE(model_.hidden(RaggedTokens{{-1}}, pass));
  EXPECT_FALSE(model_.hidden(RaggedTokens{{1}, {1}}, pass));
  const SequenceId twice[] = {id, id};
  pass.sequences = twice;
  EXPECT_FALSE(model_.hidden(RaggedTokens{{1}, {1}}, pass));
  pass.sequences = {&id, 1};
  EXPECT_EQ(cache.length(id).value(), 0U);
  pass.hooks.see = [](HookPlace at, TensorView<const float, 4>) {
    return at.layer == 1 ? Status(Error{ErrorCode::io_error, {}}) : ok();
  };
  EXPECT_FALSE(model_.hidden(RaggedTokens{{1}}, pass));
  EXPECT_FALSE(cache.length(id));
  EXPECT_EQ(cache.length(other).value(), 0U);
  EXPECT_TRUE(cache.erase(other));
  EXPECT_FALSE(cache.erase(other));
}

std::vector<std::string> decoders() {
  std::vector<std::string> forms;
  for (std::size_t n = 0; n < family_shapes().size(); ++n) {
    const std::string& name = family_shapes().key(n);
    TempFolder folder;
    put_family_model(folder, name);
    if (Transformer::read_shape(folder.path()).value().causal) {
      forms.push_back(name);
    }
  }
  return forms;
}

INSTANTIATE_TEST_SUITE_P(Forms, ModelCacheTest, testing::ValuesIn(decoders()),
                         [](const auto& form) { return form.param; });

}  // namespace
}  // namespace headwise::testing_support
