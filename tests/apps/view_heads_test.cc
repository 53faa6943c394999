// What view and stats say of heads that were pruned; of others the commands are
// asked, in view_test.py and stats_test.py.
#include "view/view_heads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/pruned_heads.h"
#include "support/errors.h"
#include "view/stats_lines.h"
#include "view/stats_text.h"
#include "view/view_json.h"
#include "view/view_picture.h"

namespace headwise::cli {
namespace {

using namespace testing_support;  // NOLINT(google-build-using-namespace)

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

using Json = nlohmann::json;

DrawnHeads drawn_of(std::optional<HeadId> whole = {}) {
  return compute_heads(PrunedHeads(), 0, whole).value();
}

std::vector<std::string> names_in(const Json& heads) {
  std::vector<std::string> names;
  for (const Json& head : heads) {
    names.push_back(std::to_string(head["layer"].get<int>()) + "." +
                    std::to_string(head["head"].get<int>()));
  }
  return names;
}

TEST(ViewHeadsTest, HeadsStandByTheirNumbersThePrunedAmongThem) {
  std::vector<std::string> names;
  for (const DrawnHead& head : drawn_of().heads) {
    names.push_back(std::to_string(head.name.layer) + "." +
                    std::to_string(head.name.head) + (head.pruned ? "-" : ""));
  }
  EXPECT_THAT(names, ElementsAre("0.0-", "0.1-", "0.2-", "0.3-", "2.0-", "2.1",
                                 "2.2-", "2.3", "5.0", "5.1", "5.2", "5.3"));
}

TEST(ViewHeadsTest, AHeadIsAskedForByTheNumberThatItHadBefore) {
  const PrunedHeads heads;
  const DrawnHeads drawn = drawn_of(HeadId{2, 3});
  ASSERT_TRUE(drawn.whole);
  // It is the second of the layer's tensors.
  std::vector<float> largest;
  for (std::size_t j = 0; j < 3; ++j) {
    largest.push_back(drawn.whole->attn_weights(0, 0, j));
  }
  EXPECT_EQ(drawn.heads[7].name, (HeadId{2, 3}));
  EXPECT_EQ(drawn.heads[7].kv_head, 3u);
  for (std::size_t j = 0; j < 3; ++j) {
    EXPECT_EQ(drawn.heads[7].map(0, j), largest[j]);
  }
  const auto is_refused = [](std::vector<std::string> given) {
    return HasError({.code = ErrorCode::invalid_argument,
                     .argument = "--head",
                     .given = std::move(given)});
  };
  EXPECT_THAT(compute_heads(heads, 0, HeadId{2, 2}),
              is_refused({"2.2", "pruned", "1, 3"}));
  EXPECT_THAT(compute_heads(heads, 0, HeadId{0, 1}),
              is_refused({"0.1", "pruned", "no head"}));
  EXPECT_THAT(compute_heads(heads, 0, HeadId{2, 4}), is_refused({"2.4"}));
}

TEST(ViewHeadsTest, TheJsonListsThemApart) {
  const Json all = Json::parse(view_json(PrunedHeads().text(), drawn_of(), {}));
  EXPECT_THAT(names_in(all["heads"]),
              ElementsAre("2.1", "2.3", "5.0", "5.1", "5.2", "5.3"));
  EXPECT_THAT(names_in(all["pruned"]),
              ElementsAre("0.0", "0.1", "0.2", "0.3", "2.0", "2.2"));
  const HeadId whole{5, 2};
  const Json one =
      Json::parse(view_json(PrunedHeads().text(), drawn_of(whole), whole));
  EXPECT_THAT(names_in(one["heads"]), ElementsAre("5.2"));
  EXPECT_EQ(one["heads"][0]["attn_weights"].size(), 3u);
}

TEST(ViewHeadsTest, ThePictureHatchesThemAndPutsThemLastWhereItSorts) {
  DrawnHeads drawn = drawn_of();
  const std::string grid =
      view_picture(PrunedHeads().text(), drawn, {}, {"heads", "", {}}, 1)
          .value();
  EXPECT_THAT(grid, HasSubstr("<title>layer 2, head 2: pruned</title>"));
  EXPECT_THAT(grid, HasSubstr("<title>layer 2, head 3: "));
  drawn.heads[5].pooled.mean = {};  // 2.1 has no numbers
  const std::string sorted = view_picture(PrunedHeads().text(), drawn, {},
                                          {"heads", "separator", {}}, 1)
                                 .value();
  EXPECT_LT(sorted.rfind("<image"), sorted.find("url(#pruned)\""));
}

TEST(ViewHeadsTest, ThePageHasEveryLayer) {
  const PrunedHeads heads;
  auto page = ViewPage::create({.title = "pruned",
                                .command = "none",
                                .query_labels = heads.text().query_labels,
                                .key_labels = heads.text().key_labels})
                  .value();
  ASSERT_TRUE(heads.visit({}, [&](const NumberedLayer& layer) {
    return add_to_page(page, layer, PageAttribution(), nullptr);
  }));
  const std::string html = page.html().value();
  EXPECT_THAT(html, HasSubstr("{\"number\":2,\"heads\":[{\"number\":0,"
                              "\"pruned\":true},{\"number\":1,\"kv_head\":1"));
  EXPECT_THAT(html, HasSubstr("{\"number\":0,\"heads\":[{\"number\":0,"
                              "\"pruned\":true},{\"number\":1,"
                              "\"pruned\":true}"));
}

// ---- headwise stats. ----

TEST(StatsTest, LinesAreOfTheHeadsThatStay) {
  HeadStats stats = compute_head_stats(PrunedHeads(), {}, {}).value();
  std::vector<std::string> names;
  for (const HeadLine& line : stats.lines) {
    names.push_back(std::to_string(line.layer) + "." +
                    std::to_string(line.head));
  }
  EXPECT_THAT(names, ElementsAre("2.1", "2.3", "5.0", "5.1", "5.2", "5.3"));
  EXPECT_THAT(stats_table(stats), EndsWith("layer 0: all 4 heads were pruned\n"
                                           "layer 2: pruned 0, 2\n"));
  EXPECT_THAT(stats_csv(stats), HasSubstr("\n2,3,3,0,"));
  EXPECT_THAT(stats_csv(stats), Not(HasSubstr("\n2,2,")));
  const Json json = Json::parse(stats_json({}, stats));
  EXPECT_THAT(names_in(json["heads"]),
              ElementsAre("2.1", "2.3", "5.0", "5.1", "5.2", "5.3"));
  EXPECT_THAT(names_in(json["pruned"]),
              ElementsAre("0.0", "0.1", "0.2", "0.3", "2.0", "2.2"));
}

}  // namespace
}  // namespace headwise::cli
