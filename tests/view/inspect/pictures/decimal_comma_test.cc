// Pictures, messages and JSON have decimal points where the program's locale
// has decimal commas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "headwise/attention/forward.h"
#include "headwise/inspect/pictures.h"
#include "headwise/json/json.h"
#include "inspect/pictures/svg_writer.h"
#include "interop/files.h"
#include "support/tensors.h"

namespace headwise {
namespace {

using testing::HasSubstr;

constexpr const char* kGerman = "de_DE.UTF-8";

// German numbers while it lives: the machine's locale, or one that localedef
// makes in a temporary folder.
class German {
 public:
  German() {
    if (std::setlocale(LC_ALL, kGerman) == nullptr && make()) {
      ::setenv("LOCPATH", folder_.path().c_str(), 1);
      std::setlocale(LC_ALL, kGerman);
    }
  }
  ~German() {
    std::setlocale(LC_ALL, "C");
    ::unsetenv("LOCPATH");
  }
  German(const German&) = delete;
  German& operator=(const German&) = delete;

  bool has_comma() const {
    return std::string(std::localeconv()->decimal_point) == ",";
  }

 private:
  bool make() const {
    const std::string command = "localedef -i de_DE -f UTF-8 '" +
                                (folder_ / kGerman) + "' >/dev/null 2>&1";
    return std::system(command.c_str()) == 0;
  }

  TempFolder folder_;
};

// Everything that the library writes with fractions in it.
std::string written() {
  std::string text =
      head_scores_svg({.title = "scores",
                       .scores = {{0.5, 0.0123456, 2}, {1.25, 1.234e-5}}})
          .value();
  text +=
      accuracy_curve_svg(
          {.title = "curve",
           .series = {.name = "a",
                      .range = "b",
                      .points = {{0, 90.25, 89.5, 91.125}, {3, 70.5, 60, 80}}}})
          .value();
  const auto weights = testing_support::uniform<3>({1, 3, 3}, 1, 0, 1);
  const auto picture = heads_svg({.attn_weights = weights,
                                  .query_labels = {"a", "b", "c"},
                                  .key_labels = {"a", "b", "c"},
                                  .title = "heads"});
  text += picture ? *picture : picture.error().message();
  const auto x = testing_support::uniform<4>({1, 2, 1, 4}, 2);
  auto y = testing_support::filled<float, 4>({1, 2, 1, 4}, 0);
  const Status s =
      attention(x, x, x, y, {.dropout = {.p = 1.5, .training = true}});
  text += s.error().message();
  return text + Json{{"number", 0.125}, {"small", 1.5e-9}}.dump();
}

TEST(DecimalCommaTest, NothingWrittenHasOne) {
  const std::string expected = written();
  EXPECT_THAT(expected, HasSubstr("dropout.p is 1.5, expected"));
  const German german;
  if (!german.has_comma()) {
    GTEST_SKIP() << "there is neither a locale " << kGerman
                 << " nor a localedef that makes it";
  }
  std::array<char, 8> plain{};
  std::snprintf(plain.data(), plain.size(), "%g", 1.5);
  EXPECT_STREQ(plain.data(), "1,5");
  EXPECT_EQ(written(), expected);
}

TEST(DecimalCommaTest, NothingReadWantsOne) {
  const German german;
  if (!german.has_comma()) {
    GTEST_SKIP() << "there is neither a locale " << kGerman
                 << " nor a localedef that makes it";
  }
  const auto json = Json::parse("[0.125, 1.5e-9]", 100, 2).value();
  double number = 0;
  EXPECT_TRUE(json[0].get(number));
  EXPECT_EQ(number, 0.125);
}

}  // namespace
}  // namespace headwise
