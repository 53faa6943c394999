// Generated tokens beside passes over whole sequences.
#include "headwise/generate/generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "models/family_models.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kSteps = 12;

// What a request came to.
struct Seen {
  std::vector<TokenId> ids{};
  std::vector<std::vector<float>> logits{};
  std::vector<std::vector<std::vector<float>>> attn_weights{};
  std::optional<EndReason> end{};
};

class GeneratorTest : public testing::TestWithParam<std::string> {
 protected:
  GeneratorTest() : model_(read()) {
    for (const std::size_t length : {17U, 1U, 6U}) {
      prompts_.push_back(drawn(length));
    }
  }

  bool has_encoder() const { return model_.shape().encoder_layers != 0; }
  std::size_t heads() const { return model_.shape().num_heads; }

  std::vector<TokenId> drawn(std::size_t length) {
    std::vector<TokenId> tokens(length);
    std::ranges::generate(tokens, [&] {
      return static_cast<TokenId>(random_() % model_.shape().vocab_size);
    });
    return tokens;
  }

  std::vector<AttentionPlace> places() const {
    std::vector<AttentionPlace> some = {{.layer = 1, .head = heads() - 1},
                                        {.layer = 0, .head = 0}};
    if (has_encoder()) {
      some.push_back({.kind = AttentionKind::cross, .layer = 1, .head = 0});
    }
    return some;
  }

  // Runs the requests; request n is added before step 2 n.
  std::map<std::size_t, Seen> run(const std::vector<std::size_t>& which,
                                  GeneratorOptions options,
                                  const GenerationRequest& like = {
                                      .max_new_tokens = kSteps}) {
    options.max_tokens = std::max<std::size_t>(options.max_tokens, 80);
    auto generator = Generator::create(model_, options).value();
    std::map<std::size_t, Seen> seen;
    std::map<std::size_t, std::size_t> names;
    std::size_t added = 0;
    for (std::size_t step = 0; added < which.size() || !generator.done();
         ++step) {
      if (added < which.size() && step >= 2 * added) {
        GenerationRequest request = like;
        request.prompt = prompts_[which[added]];
        request.stream = static_cast<std::uint32_t>(which[added]);
        names[generator.add(request).value()] = which[added];
        ++added;
      }
      const Status s =
          generator.step([&](const GeneratedToken& token) -> Result<bool> {
            Seen& one = seen[names.at(token.request)];
            EXPECT_EQ(token.number, one.ids.size());
            one.ids.push_back(token.id);
            one.logits.emplace_back(token.logits.begin(), token.logits.end());
            one.attn_weights.emplace_back(token.attn_weights.begin(),
                                          token.attn_weights.end());
            one.end = token.end;
            return true;
          });
      EXPECT_TRUE(s) << s.error().message();
      if (!s) {
        break;
      }
    }
    return seen;
  }

  // The tokens of a decoder before the last.
  std::vector<TokenId> decoder_tokens(std::size_t n, const Seen& seen) const {
    std::vector<TokenId> tokens =
        has_encoder() ? std::vector{model_.shape().decoder_start} : prompts_[n];
    tokens.insert(tokens.end(), seen.ids.begin(), seen.ids.end() - 1);
    return tokens;
  }

  Transformer read() {
    put_family_model(folder_, GetParam());
    return Transformer::read(folder_.path()).value();
  }

  TempFolder folder_;
  Transformer model_;
  std::mt19937 random_{23};
  RaggedTokens prompts_;
};

TEST_P(GeneratorTest, EachTokenIsTheLikeliestOfAPassOverAllBefore) {
  const auto seen =
      run({0, 1, 2}, {.max_sequences = 2, .chunk = 5, .heads = places()});
  for (const auto& [n, one] : seen) {
    ASSERT_EQ(one.ids.size(), kSteps);
    EXPECT_EQ(one.end, EndReason::max_new_tokens);
    const std::vector<TokenId> all = decoder_tokens(n, one);
    const std::size_t first = all.size() - kSteps;
    for (std::size_t step = 0; step < kSteps; ++step) {
      // The sequence as it is at this step: rotations may depend on its length.
      const RaggedTokens decoder = {
          {all.begin(),
           all.begin() + static_cast<std::ptrdiff_t>(first + step + 1)}};
      ModelPass pass{.heads = places()};
      pass.decoder_ids = has_encoder() ? &decoder : nullptr;
      std::vector<std::vector<float>> rows;
      pass.see_attn_weights = [&](const AttentionPlace& at,
                                  TensorView<const float, 4> weights) {
        const auto place = std::ranges::find(pass.heads, at);
        rows.resize(pass.heads.size());
        const float* const row = &weights(0, 0, first + step, 0);
        rows[static_cast<std::size_t>(place - pass.heads.begin())].assign(
            row, row + weights.extent(3));
        return ok();
      };
      const auto hidden =
          model_
              .hidden(has_encoder() ? RaggedTokens{prompts_[n]} : decoder, pass)
              .value();
      const auto logits =
          model_.logits({&hidden(first + step, 0), {1, hidden.extent(1)}})
              .value();
      ASSERT_TRUE(same_bits(logits.elements(), one.logits[step]))
          << "request " << n << " step " << step;
      EXPECT_EQ(one.ids[step], std::ranges::max_element(logits.elements()) -
                                   logits.elements().begin());
      ASSERT_EQ(rows.size(), one.attn_weights[step].size());
      for (std::size_t h = 0; h < rows.size(); ++h) {
        EXPECT_TRUE(same_bits(rows[h], one.attn_weights[step][h])) << h;
      }
    }
  }
}

TEST_P(GeneratorTest, ARequestDoesNotDependOnTheOthers) {
  const GenerationRequest drawn = {
      .max_new_tokens = kSteps, .sampling = {.temperature = 1, .top_p = 0.9}};
  const auto together = run({2, 0, 1}, {.max_sequences = 3, .chunk = 4}, drawn);
  const Executor executor = Executor::with_threads(3).value();
  for (const auto& [n, one] : together) {
    const auto alone = run({n}, {.executor = &executor}, drawn);
    EXPECT_EQ(one.ids, alone.at(n).ids);
    for (std::size_t step = 0; step < kSteps; ++step) {
      EXPECT_TRUE(same_bits(one.logits[step], alone.at(n).logits[step]));
    }
  }
}

TEST_P(GeneratorTest, ATokenOfTheEndsEndsARequest) {
  const auto whole = run({0}, {});
  const TokenId end = whole.at(0).ids[3];
  const auto place = std::ranges::find(whole.at(0).ids, end);
  const auto ended = run({0}, {}, {.max_new_tokens = kSteps, .end_ids = {end}});
  EXPECT_EQ(ended.at(0).ids,
            std::vector<TokenId>(whole.at(0).ids.begin(), place + 1));
  EXPECT_EQ(ended.at(0).end, EndReason::end_token);
}

TEST_P(GeneratorTest, KeptTokensAreThoseThatReceivedMost) {
  if (GetParam().find("dynamic") != std::string::npos ||
      GetParam().find("longrope") != std::string::npos) {
    auto generator =
        Generator::create(model_, {.max_tokens = 40, .keep_tokens = 4}).value();
    ASSERT_TRUE(generator.add({.prompt = {1, 2}, .max_new_tokens = kSteps}));
    EXPECT_FALSE(generator.step(
        [](const GeneratedToken&) -> Result<bool> { return true; }));
    return;
  }
  const auto many = run({0}, {.keep_tokens = 60});
  const auto whole = run({0}, {});
  EXPECT_EQ(many.at(0).ids, whole.at(0).ids);
  const auto few = run({0}, {.keep_tokens = 4, .heads = places()});
  const std::size_t first = has_encoder() ? 0 : 16;
  for (std::size_t step = 0; step < kSteps; ++step) {
    const auto& row = few.at(0).attn_weights[step][0];
    EXPECT_EQ(row.size(), first + step + 1);
    // Those that were kept after the step before, and the new one.
    const auto seen =
        std::ranges::count_if(row, [](float w) { return w != 0; });
    EXPECT_LE(seen, step == 0 ? 17 : 5);
    EXPECT_GE(seen, 1);
  }
}

TEST_P(GeneratorTest, RefusesWhatDoesNotFit) {
  auto generator = Generator::create(model_, {.max_tokens = 40}).value();
  EXPECT_THAT(generator.add({}), HasError({.code = ErrorCode::invalid_argument,
                                           .argument = "prompt"}));
  EXPECT_THAT(
      generator.add({.prompt = {-1}}),
      HasError({.code = ErrorCode::out_of_range, .argument = "prompt[0][0]"}));
  EXPECT_THAT(generator.add({.prompt = {1}, .max_new_tokens = 0}),
              HasError({.argument = "max_new_tokens"}));
  EXPECT_THAT(
      generator.add({.prompt = {1}, .max_new_tokens = 1000}),
      HasError({.code = ErrorCode::out_of_range, .argument = "request"}));
  EXPECT_THAT(generator.add({.prompt = {1}, .sampling = {.temperature = -1}}),
              HasError({.argument = "temperature"}));
  EXPECT_FALSE(Generator::create(
      model_, {.max_tokens = 40,
               .heads = {{.kind = AttentionKind::encoder, .head = 0}}}));
  EXPECT_FALSE(Generator::create(model_, {.max_tokens = 40, .chunk = 0}));
  EXPECT_TRUE(generator.done());
}

std::vector<std::string> generating_forms() {
  std::vector<std::string> forms;
  for (std::size_t n = 0; n < family_shapes().size(); ++n) {
    const std::string& name = family_shapes().key(n);
    TempFolder folder;
    put_family_model(folder, name);
    const auto model = Transformer::read(folder.path()).value();
    const auto& shape = model.shape();
    if (shape.causal && shape.has_logits &&
        (shape.max_positions == 0 || shape.max_positions >= 40)) {
      forms.push_back(name);
    }
  }
  return forms;
}

INSTANTIATE_TEST_SUITE_P(Forms, GeneratorTest,
                         testing::ValuesIn(generating_forms()),
                         [](const auto& form) { return form.param; });

}  // namespace
}  // namespace headwise::testing_support
