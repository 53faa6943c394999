// What a page refuses, and what it never does. What is in it is held against a
// second writer in viewer/written_test.py.
#include "headwise/inspect/view_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/random.h"
#include "headwise/base/tensor.h"

namespace headwise {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> labels(std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t n = 0; n < count; ++n) {
    all.push_back(std::to_string(n));
  }
  return all;
}

// Heads of one sequence or several.
struct Heads {
  Tensor<float, 4> query;
  Tensor<float, 4> key;

  Heads(std::size_t B, std::size_t Lq, std::size_t Lkv, std::size_t Hq = 2,
        std::size_t D = 4)
      : query(Tensor<float, 4>::create({B, Lq, Hq, D}).value()),
        key(Tensor<float, 4>::create({B, Lkv, 1, D}).value()) {
    RandomStream(Seed{3}, 0).fill_uniform(query.elements(), -1, 1);
    RandomStream(Seed{4}, 0).fill_uniform(key.elements(), -1, 1);
  }

  ViewedLayer layer(std::size_t number = 0) const {
    return {.number = number, .query = query, .key = key};
  }
  ViewPageSettings settings() const {
    return {.title = "heads",
            .command = "none",
            .query_labels = labels(query.extent(1)),
            .key_labels = labels(key.extent(1))};
  }
};

std::string page_of(const Heads& heads, ViewPageSettings settings) {
  ViewPage page = ViewPage::create(std::move(settings)).value();
  const Status s = page.add(heads.layer());
  EXPECT_TRUE(s) << (s ? "" : s.error().message());
  return page.html().value();
}

// The argument that the page refuses with this code.
std::string refusal(const Heads& heads, ViewPageSettings settings,
                    ErrorCode code) {
  ViewPage page = ViewPage::create(std::move(settings)).value();
  const Status s = page.add(heads.layer());
  EXPECT_FALSE(s);
  EXPECT_EQ(s.error().code(), code);
  EXPECT_EQ(s.error().details().operation, "view_page");
  return s.error().details().argument;
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(ViewPageTest, ThreadsChangeNoByte) {
  const Heads heads(1, 70, 70, 8);
  std::vector<std::string> pages;
  for (const std::size_t threads : {std::size_t{1}, std::size_t{2}}) {
    const Executor executor = Executor::with_threads(threads).value();
    ViewPageSettings settings = heads.settings();
    settings.attention.executor = &executor;
    pages.push_back(page_of(heads, std::move(settings)));
  }
  EXPECT_EQ(pages[0], pages[1]);
}

TEST(ViewPageTest, ASequenceOfABatchIsTheSameAsAlone) {
  const Heads batch(3, 9, 9);
  Heads alone(1, 9, 9);
  for (auto [from, to] :
       {std::pair(&batch.query, &alone.query), {&batch.key, &alone.key}}) {
    std::copy_n(from->data() + 2 * to->size(), to->size(), to->data());
  }
  ViewPageSettings settings = batch.settings();
  settings.sequence = 2;
  std::string page = page_of(batch, std::move(settings));
  constexpr std::string_view kBatch =
      R"("batch":{"sequence":2,"sequences":3},)";
  const std::size_t at = page.find(kBatch);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(page.erase(at, kBatch.size()), page_of(alone, alone.settings()));
}

TEST(ViewPageTest, SeveralDocumentsShareOnePage) {
  const Heads one(1, 5, 5);
  const Heads two(1, 9, 9);
  ViewPageSettings settings = one.settings();
  settings.variant = "whole";
  ViewPage page = ViewPage::create(settings).value();
  ASSERT_TRUE(page.add(one.layer()));
  settings.variant = "without 0.1";
  settings.title = "not that of the page";
  ASSERT_TRUE(page.next(settings));
  ASSERT_TRUE(page.add(one.layer()));
  ASSERT_TRUE(page.next(two.settings()));
  ASSERT_TRUE(page.add(two.layer()));
  const std::string html = page.html().value();
  EXPECT_THAT(html, HasSubstr("<title>heads</title>"));
  EXPECT_THAT(html, HasSubstr(R"("version":2)"));
  EXPECT_THAT(html, HasSubstr(R"("variant":"without 0.1","same_tokens":0)"));
  EXPECT_THAT(html, HasSubstr(R"("variant":null,"same_tokens":2)"));
  EXPECT_EQ(count(html, R"("heads":[[0,0],[0,1]])"), 3u);
  EXPECT_EQ(html, page.html().value());
}

TEST(ViewPageTest, ADocumentWithoutLayersIsNotLeft) {
  const Heads heads(1, 5, 5);
  ViewPage page = ViewPage::create(heads.settings()).value();
  const Status early = page.next(heads.settings());
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().details().argument, "layers");
  ASSERT_TRUE(page.add(heads.layer()));
  EXPECT_EQ(page.html().value(), page_of(heads, heads.settings()));
  ASSERT_TRUE(page.next(heads.settings()));
  EXPECT_FALSE(page.html());  // the second has no layer yet
}

TEST(ViewPageTest, AnErrorOfSizeCountsTheDocumentsThatFit) {
  const Heads heads(1, 50, 50);
  ViewPageSettings settings = heads.settings();
  settings.most_bytes = 45000;
  ViewPage page = ViewPage::create(settings).value();
  ASSERT_TRUE(page.add(heads.layer()));
  settings.most_bytes = kMostPageBytes;  // the page's limit stays
  Status s = page.next(settings);
  for (int n = 0; s && n < 100; ++n) {
    s = page.add(heads.layer());
    if (s) {
      s = page.next(settings);
    }
  }
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().code(), ErrorCode::out_of_range);
  EXPECT_THAT(s.error().message(), HasSubstr("fit"));
  EXPECT_THAT(s.error().message(), HasSubstr("document"));
}

TEST(ViewPageTest, NoTextLeavesItsPlace) {
  const Heads heads(1, 2, 2);
  ViewPageSettings settings = heads.settings();
  const std::size_t scripts = count(page_of(heads, settings), "</script");
  const std::string hostile = "</script><!--\xe2\x80\xa8&\xff";
  settings.title = settings.command = hostile;
  settings.model = settings.text = hostile;
  settings.query_labels = settings.key_labels = {hostile, hostile};
  const std::string html = page_of(heads, settings);
  EXPECT_EQ(count(html, "</script"), scripts);
  EXPECT_EQ(count(html, "<!--"), 0u);
  EXPECT_EQ(count(html, "\xe2\x80\xa8"), 1u);  // in the title, as text
}

// The test tools.translations looks for their translations.
TEST(ViewPageTest, EveryStatisticHasItsWord) {
  const Heads heads(1, 2, 2);
  const std::string html = page_of(heads, heads.settings());
  for (const auto& [name, offset] : kStatisticRows) {
    EXPECT_EQ(count(html, "'statistic." + std::string(name) + "': "), 1u)
        << name;
  }
}

TEST(ViewPageTest, HeadsWithMasksOfTheirOwnHaveTheirOwn) {
  const Heads heads(1, 2, 2);
  const std::array<bool, 8> may = {true, false, true, true,  // head 0
                                   true, true,  true, true};
  ViewPageSettings settings = heads.settings();
  settings.attention.mask =
      dense(TensorView<const bool, 3>(may.data(), {2, 2, 2}),
            {Axis::H, Axis::Lq, Axis::Lkv});
  const std::string html = page_of(heads, std::move(settings));
  EXPECT_THAT(html, HasSubstr("\"number\":0,\"kv_head\":0,\"pruned\":false,"
                              "\"mask\":0"));
  EXPECT_THAT(html, HasSubstr("\"number\":1,\"kv_head\":0,\"pruned\":false,"
                              "\"mask\":1"));
}

TEST(ViewPageTest, ALayerMayHaveAMaskOfItsOwnButNoOtherScale) {
  const Heads heads(1, 9, 9);
  ViewPageSettings settings = heads.settings();
  AttentionOptions own = settings.attention;
  own.mask = causal();
  settings.attention.mask = causal();
  const std::string expected = page_of(heads, settings);
  settings.attention.mask = {};
  ViewPage page = ViewPage::create(settings).value();
  ViewedLayer layer = heads.layer();
  layer.attention = std::make_shared<const AttentionOptions>(own);
  ASSERT_TRUE(page.add(layer));
  EXPECT_EQ(page.html().value(), expected);
  AttentionOptions other = settings.attention;
  other.scale = 0.25;
  layer.number = 1;
  layer.attention = std::make_shared<const AttentionOptions>(other);
  const Status s = page.add(layer);
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().details().argument, "scale");
  EXPECT_EQ(page.html().value(), expected);
}

TEST(ViewPageTest, HeadsOfUnevenGroupsNameTheirKeys) {
  Heads heads(1, 9, 9, 5);
  heads.key = Tensor<float, 4>::create({1, 9, 2, 4}).value();
  RandomStream(Seed{4}, 0).fill_uniform(heads.key.elements(), -1, 1);
  const std::array<std::size_t, 2> sizes = {1, 4};
  ViewPageSettings settings = heads.settings();
  settings.operation.kv_groups = HeadGroups::create(sizes).value();
  const std::string page = page_of(heads, std::move(settings));
  EXPECT_EQ(count(page, R"("kv_head":0)"), 1u);
  EXPECT_EQ(count(page, R"("kv_head":1)"), 4u);
}

TEST(ViewPageTest, CrossAttentionHasNoStatisticsOfPositions) {
  const Heads heads(1, 3, 5);
  ViewPageSettings settings = heads.settings();
  EXPECT_THAT(page_of(heads, settings), HasSubstr("\"name\":\"previous\""));
  settings.cross = true;
  const std::string html = page_of(heads, std::move(settings));
  for (const char* name : {"entropy", "largest", "first", "separator"}) {
    EXPECT_EQ(count(html, "\"name\":\"" + std::string(name) + "\""), 1u);
  }
  for (const char* name : {"distance", "previous", "self", "next"}) {
    EXPECT_EQ(count(html, "\"name\":\"" + std::string(name) + "\""), 0u);
  }
}

TEST(ViewPageTest, FormulasNameTheInputOfTheirLayer) {
  const Heads heads(1, 2, 2);
  std::vector<TracedStep> steps;
  for (const char* name : {"hidden", "q", "masked_scores", "attn_weights"}) {
    steps.emplace_back().name = name;
  }
  ViewedLayer layer = heads.layer();
  layer.steps = steps;
  ViewPage page = ViewPage::create(heads.settings()).value();
  ASSERT_TRUE(page.add(layer));
  const std::string html = page.html().value();
  EXPECT_THAT(html, HasSubstr("q = hidden @ w_q.weight^T + w_q.bias"));
  EXPECT_THAT(html, HasSubstr("softmax(masked_scores["));
}

// ---- Pruned heads. ----

// The JSON of the layers, without what tells one page's blocks from another's.
std::string layers_of(const std::string& html) {
  const std::size_t begin = html.find("\"layers\":");
  return html.substr(begin, html.find("\"trace\":", begin) - begin);
}

constexpr std::array<std::size_t, 2> kKept = {1, 3};

TEST(ViewPageTest, HeadsThatStayKeepTheirNumbersAndTheOthersArePruned) {
  const Heads heads(1, 3, 3);
  ViewedLayer layer = heads.layer(7);
  layer.head_numbers = kKept;
  layer.num_heads = 5;
  ViewPage page = ViewPage::create(heads.settings()).value();
  ASSERT_TRUE(page.add(layer));
  const std::string pruned = page.html().value();
  for (const char* gone : {"0", "2", "4"}) {
    const std::string entry =
        "{\"number\":" + std::string(gone) + ",\"pruned\":true}";
    EXPECT_EQ(count(pruned, entry), 1u) << gone;
  }
  // All else is that of the page on which both heads are all there are.
  std::string as_all = layers_of(pruned);
  for (const auto& [from, to] :
       {std::pair("{\"number\":0,\"pruned\":true},", ""),
        {"{\"number\":2,\"pruned\":true},", ""},
        {",{\"number\":4,\"pruned\":true}", ""},
        {"\"number\":1,\"kv_head\":0", "\"number\":0,\"kv_head\":0"},
        {"\"number\":3,\"kv_head\":0", "\"number\":1,\"kv_head\":0"},
        {"\"number\":7", "\"number\":0"}}) {
    const std::size_t at = as_all.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    as_all.replace(at, std::string_view(from).size(), to);
  }
  const std::string all = page_of(heads, heads.settings());
  EXPECT_EQ(as_all, layers_of(all));
  EXPECT_EQ(pruned.substr(pruned.find("<script type=\"text/plain\"")),
            all.substr(all.find("<script type=\"text/plain\"")));
}

TEST(ViewPageTest, HeadsWithKeysOfTheirOwnReadThoseOfTheirNumber) {
  Heads heads(1, 2, 2);
  heads.key = Tensor<float, 4>::create({1, 2, 2, 4}).value();
  ViewedLayer layer = heads.layer();
  layer.head_numbers = kKept;
  layer.num_heads = 4;
  ViewPage page = ViewPage::create(heads.settings()).value();
  ASSERT_TRUE(page.add(layer));
  EXPECT_THAT(page.html().value(), HasSubstr("\"number\":3,\"kv_head\":3"));
}

TEST(ViewPageTest, ALayerWithoutHeadsMayBeTheFirst) {
  const Heads heads(1, 3, 5);
  ViewPage page = ViewPage::create(heads.settings()).value();
  ASSERT_TRUE(page.add_pruned(0, 2));
  ASSERT_TRUE(page.add(heads.layer(1)));
  ASSERT_TRUE(page.add_pruned(2, 1));
  const std::string html = page.html().value();
  EXPECT_THAT(html,
              HasSubstr("\"layers\":[{\"number\":0,\"heads\":[{\"number\":"
                        "0,\"pruned\":true},{\"number\":1,\"pruned\":true"
                        "}]},{\"number\":1,"));
  EXPECT_THAT(html, HasSubstr("{\"number\":2,\"heads\":[{\"number\":0,"
                              "\"pruned\":true}]}]"));
  EXPECT_THAT(html,
              HasSubstr("\"num_queries\":3,\"num_keys\":5,\"head_dim\":4"));
  EXPECT_EQ(page.add(Heads(1, 4, 5).layer(3)).error().details().argument,
            "layer");
}

TEST(ViewPageTest, OnlyALayerOfNumbersHasNoHeadsLeft) {
  const Heads heads(1, 3, 5);
  EXPECT_TRUE((ViewedLayer{.num_heads = 2}).pruned());
  ViewedLayer empty = heads.layer();
  empty.num_heads = 2;
  empty.query = {nullptr, {1, 0, 2, 4}};
  EXPECT_FALSE(empty.pruned());
  ViewPage page = ViewPage::create(heads.settings()).value();
  EXPECT_EQ(page.add(empty).error().details().argument, "query");
}

// 200 tokens of heads of 64: the weights take less memory than q and k.
TEST(ViewPageTest, QueriesAndKeysAreLeftOutWhereTheyAreLargerUnlessAskedFor) {
  const Heads heads(1, 200, 200, 1, 64);
  ViewPageSettings settings = heads.settings();
  EXPECT_THAT(page_of(heads, settings), HasSubstr("\"query\":null"));
  settings.elements = true;
  EXPECT_THAT(page_of(heads, settings), Not(HasSubstr("\"query\":null")));
  const Heads few(1, 100, 100, 1, 64);
  settings = few.settings();
  EXPECT_THAT(page_of(few, settings), Not(HasSubstr("\"query\":null")));
  settings.elements = false;
  EXPECT_THAT(page_of(few, settings), HasSubstr("\"query\":null"));
}

// Attention weights of one sequence, 2 heads, 3 queries and 5 keys. Key 4 has
// no weight; a row of head 1 does not sum to 1.
Tensor<float, 4> some_weights() {
  auto weights = Tensor<float, 4>::create({1, 2, 3, 5}).value();
  for (std::size_t h = 0; h < 2; ++h) {
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 4; ++j) {
        weights(0, h, i, j) = 0.25F;
      }
    }
  }
  weights(0, 1, 2, 0) = 0.5F;
  return weights;
}

TEST(ViewPageTest, APageOfAttentionWeightsHasNoQueriesAndKeys) {
  const Heads heads(1, 3, 5);
  const Tensor<float, 4> weights = some_weights();
  ViewPage page = ViewPage::create(heads.settings()).value();
  ASSERT_TRUE(page.add({.number = 4, .attn_weights = weights}));
  const std::string html = page.html().value();
  EXPECT_THAT(html, HasSubstr("\"head_dim\":0"));
  EXPECT_THAT(html, HasSubstr("\"query\":null"));
  EXPECT_THAT(html, HasSubstr("\"lse\":null"));
  EXPECT_THAT(html, HasSubstr("\"row_statistics\":[\"entropy\",\"distance\","
                              "\"largest\",\"first\""));
  // The first head's rows sum to 1; one of the second does not.
  EXPECT_THAT(html, HasSubstr("\"uneven_rows\":0,\"farthest_sum\":1.0"));
  EXPECT_THAT(html, HasSubstr("\"uneven_rows\":1,\"farthest_sum\":1.25"));
  // A page has one kind of layers.
  EXPECT_EQ(page.add(heads.layer(5)).error().details().argument, "layer");
}

TEST(ViewPageTest, AttentionWeightsThatCannotBeShownAreRefused) {
  const Heads heads(1, 3, 5);
  const auto refused = [&](float weight, std::size_t sequence) {
    Tensor<float, 4> weights = some_weights();
    weights(0, 1, 2, 3) = weight;
    ViewPageSettings settings = heads.settings();
    settings.sequence = sequence;
    ViewPage page = ViewPage::create(std::move(settings)).value();
    const Status s = page.add({.attn_weights = weights});
    return s ? "" : s.error().message();
  };
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(refused(kNaN, 0), HasSubstr("attn_weights[0, 1, 2, 3] is nan"));
  EXPECT_THAT(refused(-1, 0), HasSubstr("attn_weights[0, 1, 2, 3] is -1"));
  EXPECT_THAT(refused(0, 1), HasSubstr("sequence is 1"));
  EXPECT_EQ(refused(0, 0), "");
  const auto large = Tensor<float, 4>::create({1, 1, 1025, 2}).value();
  ViewPage page = ViewPage::create(heads.settings()).value();
  EXPECT_EQ(page.add({.attn_weights = large}).error().code(),
            ErrorCode::unsupported);
}

TEST(ViewPageTest, APageThatCannotComputeItsNumbersHoldsThem) {
  const Heads heads(1, 3, 5);
  constexpr std::string_view kAll =
      "\"row_statistics\":[\"entropy\","
      "\"distance\",\"largest\",\"first\"";
  constexpr std::string_view kNoTop = "\"top\":{\"count\":8,\"block\":null";
  const std::string computed = page_of(heads, heads.settings());
  EXPECT_THAT(computed, Not(HasSubstr(kAll)));
  EXPECT_THAT(computed, HasSubstr(kNoTop));
  const auto bias = Tensor<float, 2>::create({3, 5}).value();
  ViewPageSettings settings = heads.settings();
  settings.attention.bias = dense(bias, {Axis::Lq, Axis::Lkv});
  const std::string biased = page_of(heads, std::move(settings));
  EXPECT_THAT(biased, HasSubstr(kAll));
  EXPECT_THAT(biased, Not(HasSubstr(kNoTop)));
}

// The page of the sequence, with norms in its layers.
Result<std::string> page_with(
    const Heads& heads, std::size_t sequence,
    const std::vector<const Tensor<float, 3>*>& norms) {
  ViewPageSettings settings = heads.settings();
  settings.sequence = sequence;
  ViewPage page = ViewPage::create(std::move(settings)).value();
  for (std::size_t n = 0; n < norms.size(); ++n) {
    ViewedLayer layer = heads.layer(n);
    if (norms[n] != nullptr) {
      layer.key_norms = *norms[n];
    }
    if (const Status s = page.add(layer); !s) {
      return s.error();
    }
  }
  return page.html();
}

TEST(ViewPageTest, NormsAreAMeasureIfAllLayersHaveThem) {
  const Heads heads(2, 5, 7);
  auto norms = Tensor<float, 3>::create({2, 2, 7}).value();
  RandomStream(Seed{5}, 0).fill_uniform(norms.elements(), 0, 3);
  const std::string with = page_with(heads, 1, {&norms, &norms}).value();
  EXPECT_THAT(with, HasSubstr("\"measures\":[\"norm\"]"));
  EXPECT_THAT(with, Not(HasSubstr("\"norms\":null")));
  for (const auto& layers :
       {std::vector<const Tensor<float, 3>*>{&norms, nullptr},
        {nullptr, &norms}}) {
    EXPECT_THAT(page_with(heads, 1, layers).value(),
                HasSubstr("\"measures\":[]"));
  }
  // Those of the other sequence do not matter.
  auto other = norms.clone().value();
  other(0, 1, 3) = 9;
  EXPECT_EQ(page_with(heads, 1, {&other, &other}).value(), with);
  other(1, 1, 3) = 9;
  EXPECT_NE(page_with(heads, 1, {&other, &other}).value(), with);
}

TEST(ViewPageTest, NormsThatDoNotFitAreRefused) {
  const Heads heads(2, 5, 7);
  const auto short_one = Tensor<float, 3>::create({2, 2, 6}).value();
  const auto wrong = page_with(heads, 1, {&short_one});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code(), ErrorCode::shape_mismatch);
  EXPECT_EQ(wrong.error().details().argument, "key_norms");
  for (const float bad : {-1.0F, std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()}) {
    auto norms = Tensor<float, 3>::create({2, 2, 7}).value();
    norms(1, 0, 6) = bad;
    const auto refused = page_with(heads, 1, {&norms});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::bad_data);
    EXPECT_EQ(refused.error().details().argument, "key_norms[1, 0, 6]");
  }
}

// Gradient times attention of two heads.
struct Gradients {
  Tensor<float, 4> d_context;
  Tensor<float, 4> value;
  Tensor<float, 3> columns;
  Tensor<double, 2> totals;
  Tensor<float, 4> map;

  Gradients(std::size_t Lq, std::size_t Lkv)
      : d_context(Tensor<float, 4>::create({1, Lq, 2, 3}).value()),
        value(Tensor<float, 4>::create({1, Lkv, 2, 3}).value()),
        columns(Tensor<float, 3>::create({1, 2, Lkv}).value()),
        totals(Tensor<double, 2>::create({1, 2}).value()),
        map(Tensor<float, 4>::create({1, 2, map_size(Lq), map_size(Lkv)})
                .value()) {
    RandomStream(Seed{6}, 0).fill_uniform(d_context.elements(), -1, 1);
    RandomStream(Seed{7}, 0).fill_uniform(value.elements(), -1, 1);
    totals(0, 1) = 0.625;
  }

  ViewedGradient view() const {
    return {d_context, value, columns, totals, map};
  }
};

Result<std::string> page_of_layers(const Heads& heads,
                                   const std::vector<ViewedLayer>& layers) {
  ViewPage page = ViewPage::create(heads.settings()).value();
  for (const ViewedLayer& layer : layers) {
    if (const Status s = page.add(layer); !s) {
      return s.error();
    }
  }
  return page.html();
}

TEST(ViewPageTest, GradientsAreAMeasureIfAllLayersHaveThem) {
  const Heads heads(1, 5, 7);
  const Gradients gradients(5, 7);
  const std::vector<double> gates = {0.5, -0.25};
  ViewedLayer with = heads.layer();
  with.gradient = gradients.view();
  with.integrated = gates;
  const std::string page = page_of_layers(heads, {with, with}).value();
  EXPECT_THAT(page, HasSubstr("\"measures\":[\"gradient\"]"));
  EXPECT_THAT(page, HasSubstr("\"gradient\":0.625"));
  EXPECT_THAT(page, HasSubstr("\"integrated\":-0.25"));
  EXPECT_THAT(page, Not(HasSubstr("integrated-by-layer\",\"unit")));
  const std::string some =
      page_of_layers(heads, {with, heads.layer(1)}).value();
  EXPECT_THAT(some, HasSubstr("\"measures\":[]"));
  EXPECT_THAT(some, Not(HasSubstr("integrated\",\"unit")));
}

TEST(ViewPageTest, GradientsThatDoNotFitAreRefused) {
  const Heads heads(1, 5, 7);
  const Gradients fitting(5, 7);
  const Gradients other(5, 6);
  const auto refused = [&](const ViewedGradient& gradient) {
    ViewedLayer layer = heads.layer();
    layer.gradient = gradient;
    return page_of_layers(heads, {layer}).error().details().argument;
  };
  for (const auto& [argument, change] : std::vector<
           std::pair<std::string, void (*)(ViewedGradient&, const Gradients&)>>{
           {"value", [](auto&g, const auto&o) { g.value = o.value; }},
           {"columns", [](auto&g, const auto&o) { g.columns = o.columns; }},
           {"totals", [](auto&g, const auto&) { g.totals = {}; }}}) {
    ViewedGradient gradient = fitting.view();
    change(gradient, other);
    EXPECT_EQ(refused(gradient), argument);
  }
  Gradients bad(5, 7);
  bad.d_context(0, 4, 1, 2) = std::numeric_limits<float>::infinity();
  EXPECT_EQ(refused(bad.view()), "d_context[0, 4, 1, 2]");
  Gradients sums(5, 7);
  sums.columns(0, 1, 6) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(refused(sums.view()), "columns[0, 1, 6]");
}

TEST(ViewPageTest, WhatThePageDoesNotPoolNeedsAMapOfGradients) {
  // Many pairs, and few whose attention weights the page computes.
  for (const auto& [Lq, Lkv] : std::vector<std::pair<std::size_t, std::size_t>>{
           {129, 129}, {2, kMostMapLength + 1}, {kMostMapLength + 1, 2}}) {
    const Heads heads(1, Lq, Lkv);
    const Gradients gradients(Lq, Lkv);
    ViewedLayer layer = heads.layer();
    layer.gradient = gradients.view();
    EXPECT_THAT(page_of_layers(heads, {layer}).value(),
                Not(HasSubstr("\"small\":null")));
    layer.gradient.map = {};
    const auto refused = page_of_layers(heads, {layer});
    ASSERT_FALSE(refused) << Lq << " queries";
    EXPECT_EQ(refused.error().details().argument, "map");
  }
}

TEST(ViewPageTest, NumbersThatAreNotFiniteAreRefused) {
  const Heads heads(1, 5, 7);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    const std::vector<double> gates = {0.5, bad};
    ViewedLayer layer = heads.layer();
    layer.integrated = gates;
    const Error all = page_of_layers(heads, {layer}).error();
    EXPECT_EQ(all.code(), ErrorCode::bad_data);
    EXPECT_EQ(all.details().argument, "integrated[1]");
    layer.integrated = {};
    layer.integrated_by_layer = gates;
    EXPECT_EQ(page_of_layers(heads, {layer}).error().details().argument,
              "integrated_by_layer[1]");
    ViewPageSettings settings = heads.settings();
    settings.target = ViewedTarget{.label = "a", .value = bad};
    EXPECT_EQ(ViewPage::create(settings).error().details().argument,
              "target.value");
    ViewPage page = ViewPage::create(heads.settings()).value();
    ASSERT_TRUE(page.add(heads.layer()));
    EXPECT_EQ(page.next(settings).error().details().argument, "target.value");
  }
}

TEST(ViewPageTest, WhatGoesThroughAllLayersFitsTheTokens) {
  const Heads heads(1, 5, 5);
  auto rollout = Tensor<float, 2>::create({5, 5}).value();
  const auto other = Tensor<float, 2>::create({5, 4}).value();
  const auto page_with_shares = [&](TensorView<const float, 2> flow,
                                    std::size_t token) -> Result<std::string> {
    ViewPageSettings settings = heads.settings();
    settings.through = {rollout, flow, token};
    auto page = ViewPage::create(std::move(settings));
    if (!page) {
      return page.error();
    }
    EXPECT_TRUE(page->add(heads.layer()));
    return page->html();
  };
  EXPECT_THAT(page_with_shares({}, 4).value(), HasSubstr("\"flow\":null"));
  EXPECT_EQ(page_with_shares(other, 4).error().details().argument, "flow");
  EXPECT_EQ(page_with_shares({}, 5).error().details().argument, "output_token");
  rollout(2, 3) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(page_with_shares({}, 4).error().details().argument,
            "rollout[2, 3]");
}

TEST(ViewPageTest, WithManyTokensNormsNeedTheirMap) {
  const Heads heads(1, 2, kMostMapLength + 1);
  const auto norms =
      Tensor<float, 3>::create({1, 2, kMostMapLength + 1}).value();
  EXPECT_THAT(page_with(heads, 0, {&norms}).value(),
              HasSubstr("\"measures\":[]"));
  const auto map = Tensor<float, 4>::create({1, 2, 2, 64}).value();
  ViewedLayer layer = heads.layer();
  layer.key_norms = norms;
  layer.norm_map = map;
  EXPECT_THAT(page_of_layers(heads, {layer}).value(),
              HasSubstr("\"measures\":[\"norm\"]"));
  const auto other = Tensor<float, 4>::create({1, 2, 2, 63}).value();
  layer.norm_map = other;
  EXPECT_EQ(page_of_layers(heads, {layer}).error().details().argument,
            "norm_map");
}

TEST(ViewPageTest, APageOfLayersWithoutHeadsHasTheSizesOfItsLabels) {
  const Heads heads(1, 3, 5);
  ViewPage page = ViewPage::create(heads.settings()).value();
  ASSERT_TRUE(page.add_pruned(0, 2));
  EXPECT_THAT(page.html().value(), HasSubstr("\"num_queries\":3,\"num_keys\":5,"
                                             "\"head_dim\":0"));
  ViewPageSettings settings = heads.settings();
  settings.key_labels.clear();
  ViewPage empty = ViewPage::create(std::move(settings)).value();
  ASSERT_TRUE(empty.add_pruned(0, 2));
  EXPECT_EQ(empty.html().error().details().argument, "key_labels");
  EXPECT_EQ(empty.add_pruned(1, 0).error().details().argument, "num_heads");
}

TEST(ViewPageTest, HeadNumbersThatDoNotFitAreRefused) {
  const Heads heads(1, 3, 3);
  ViewPage page = ViewPage::create(heads.settings()).value();
  const auto refused = [&](std::vector<std::size_t> numbers,
                           std::size_t num_heads) {
    ViewedLayer layer = heads.layer();
    layer.head_numbers = numbers;
    layer.num_heads = num_heads;
    const Status s = page.add(layer);
    return s ? "" : s.error().details().argument;
  };
  EXPECT_EQ(refused({0, 1, 2}, 3), "head_numbers");
  EXPECT_EQ(refused({}, 3), "head_numbers");
  EXPECT_EQ(refused({2, 2}, 3), "head_numbers[1]");
  EXPECT_EQ(refused({0, 3}, 3), "head_numbers[1]");
  EXPECT_EQ(refused({0, 1}, 0), "head_numbers[0]");
  EXPECT_FALSE(page.html());  // the page has not changed
  EXPECT_EQ(refused({}, 2), "");
}

TEST(ViewPageTest, WithoutALayerThereIsNoPage) {
  const auto html = ViewPage::create({}).value().html();
  ASSERT_FALSE(html);
  EXPECT_EQ(html.error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(html.error().details().operation, "view_page");
  EXPECT_EQ(html.error().details().argument, "layers");
}

TEST(ViewPageTest, LabelsAndLayersThatDoNotFitAreRefused) {
  const Heads heads(1, 3, 5);
  ViewPageSettings settings = heads.settings();
  settings.key_labels.pop_back();
  EXPECT_EQ(refusal(heads, settings, ErrorCode::shape_mismatch), "key_labels");
  ViewPage page = ViewPage::create(heads.settings()).value();
  ASSERT_TRUE(page.add(heads.layer()));
  const std::string before = page.html().value();
  const Heads longer(1, 4, 5);
  EXPECT_EQ(page.add(longer.layer(1)).error().details().argument, "layer");
  EXPECT_EQ(page.html().value(), before);
}

TEST(ViewPageTest, WhatIsNotFiniteOrBeyondBinary16IsNamed) {
  Heads heads(1, 3, 5);
  heads.query(0, 2, 1, 3) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(refusal(heads, heads.settings(), ErrorCode::bad_data),
            "query[0, 2, 1, 3]");
  heads.query(0, 2, 1, 3) = 0;
  heads.key(0, 4, 0, 0) = -65536;
  EXPECT_EQ(refusal(heads, heads.settings(), ErrorCode::bad_data),
            "key[0, 4, 0, 0]");
  ViewPageSettings settings = heads.settings();
  settings.elements = false;
  EXPECT_FALSE(page_of(heads, std::move(settings)).empty());
}

TEST(ViewPageTest, AnElementOfALaterSequenceIsNamedByItsPlaceInTheTensor) {
  Heads heads(2, 3, 5);
  heads.query(1, 2, 1, 3) = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(page_of(heads, heads.settings()).empty());
  ViewPageSettings settings = heads.settings();
  settings.sequence = 1;
  EXPECT_EQ(refusal(heads, settings, ErrorCode::bad_data), "query[1, 2, 1, 3]");
}

TEST(ViewPageTest, WhatThePageCannotComputeIsRefused) {
  const Heads heads(1, 2, kMostMapLength + 1, 1);
  const std::vector<float> bias(kMostMapLength + 1);
  ViewPageSettings settings = heads.settings();
  settings.attention.bias = dense(
      TensorView<const float, 1>(bias.data(), {bias.size()}), {Axis::Lkv});
  EXPECT_EQ(refusal(heads, settings, ErrorCode::unsupported), "bias");
  settings.attention.bias = {};
  settings.attention.softcap = 3;
  EXPECT_THAT(page_of(heads, settings), HasSubstr("\"kind\":\"tiles\""));
}

TEST(ViewPageTest, APageThatWouldBeTooLargeSaysWhatWouldFit) {
  const Heads heads(1, 64, 64, 4, 64);
  ViewPageSettings settings = heads.settings();
  settings.most_bytes = std::size_t{110} << 10;
  ViewPage page = ViewPage::create(settings).value();
  ASSERT_TRUE(page.add(heads.layer()));
  const std::string before = page.html().value();
  const Status s = page.add(heads.layer(1));
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().code(), ErrorCode::out_of_range);
  EXPECT_EQ(s.error().details().argument, "page");
  EXPECT_THAT(s.error().details().given.text(), HasSubstr("layer 1"));
  EXPECT_THAT(s.error().details().expected.text(), HasSubstr("1 layer fits"));
  EXPECT_EQ(page.html().value(), before);
}

}  // namespace
}  // namespace headwise
