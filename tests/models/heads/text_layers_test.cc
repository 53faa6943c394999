#include "heads/text_layers.h"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/copy_of.h"
#include "heads/stub_model.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

// Several batches, two of them of one text; texts 0 and 4 have no token.
RaggedTokens texts() {
  RaggedTokens texts(40);
  for (std::size_t n = 1; n < texts.size(); ++n) {
    texts[n].assign(n == 4 ? 0 : 1 + n * 17 % 60,
                    static_cast<TokenId>(2 + n % 30));
  }
  return texts;
}

using Place = std::pair<std::size_t, std::size_t>;  // text, layer
using Seen = std::map<Place, std::pair<Tensor<float, 4>, Tensor<float, 4>>>;

Seen seen_by(const StubModel& model, const RaggedTokens& texts,
             const Executor& executor,
             const std::vector<std::size_t>& layers = {}) {
  Seen seen;
  std::mutex mutex;
  EXPECT_TRUE(visit_text_layers(
      model, texts, {.layers = layers, .executor = &executor},
      [&](const TextLayer& at) {
        const std::scoped_lock lock(mutex);
        seen[{at.text, at.layer}] = {headwise::copy_of(at.query).value(),
                                     headwise::copy_of(at.key).value()};
        return ok();
      }));
  return seen;
}

TEST(TextLayersTest, ATextHasTheBitsThatItHasAlone) {
  const StubModel model(true);
  const RaggedTokens all = texts();
  const Executor one = Executor::with_threads(1).value();
  const Executor three = Executor::with_threads(3).value();
  const Seen seen = seen_by(model, all, three);
  EXPECT_EQ(seen.size(), 38u * 2);
  for (const auto& [place, heads] : seen) {
    const auto [text, layer] = place;
    const Seen alone = seen_by(model, {all[text]}, one, {layer});
    const auto& [query, key] = alone.at({0, layer});
    EXPECT_EQ(query.extent(1), all[text].size());
    EXPECT_TRUE(same_bits(heads.first.elements(), query.elements()));
    EXPECT_TRUE(same_bits(heads.second.elements(), key.elements()));
  }
}

TEST(TextLayersTest, OnlyLayersThatAreWantedAreSeen) {
  const StubModel model(false);
  const Executor one = Executor::with_threads(1).value();
  for (const std::size_t layer : {0U, 1U}) {
    const Seen seen = seen_by(model, {{2, 3}}, one, {layer});
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_EQ(seen.begin()->first, Place(0, layer));
  }
}

TEST(TextLayersTest, AnErrorEndsTheVisitAndIsThatOfTheFirstText) {
  const StubModel model(true);
  const RaggedTokens all = texts();
  for (const std::size_t threads : {1U, 2U}) {
    const Executor executor = Executor::with_threads(threads).value();
    std::atomic<std::size_t> calls = 0;
    const Status done = visit_text_layers(
        model, all, {.executor = &executor}, [&](const TextLayer& at) {
          ++calls;
          return Status(
              value_error("see", "text", std::to_string(at.text), "none"));
        });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().details().given, "is 1");
    EXPECT_LE(calls, threads);
  }
}

TEST(TextLayersTest, ProgressCountsTextsWithTokens) {
  const StubModel model(true);
  std::vector<std::pair<std::size_t, std::size_t>> said;
  EXPECT_TRUE(visit_text_layers(
      model, {{2, 3}, {}, {4}},
      {.progress = [&](std::size_t done,
                       std::size_t total) { said.emplace_back(done, total); }},
      [](const TextLayer&) { return ok(); }));
  EXPECT_THAT(said, ElementsAre(std::pair(0u, 2u), std::pair(2u, 2u)));
}

TEST(TextLayersTest, SeparatorsAreTheTokensWithSuchNames) {
  const StubModel model(false);
  const std::vector<TokenId> ids = {0, 5, 1, 1};
  const auto separators = separators_in(model, ids).value();
  EXPECT_THAT(separators.elements(), ElementsAre(false, false, true, true));
}

}  // namespace
}  // namespace headwise::testing_support
