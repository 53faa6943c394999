#include "words/catalogue.h"

#include <gtest/gtest.h>

#include <string_view>

namespace headwise {
namespace {

TEST(CatalogueTest, FindsItsIds) {
  // Two texts, as msgfmt writes them.
  using namespace std::string_view_literals;
  constexpr std::string_view kFile =
      "\xDE\x12\x04\x95\0\0\0\0\2\0\0\0\x1C\0\0\0\x2C\0\0\0"
      "\0\0\0\0\0\0\0\0"
      "\1\0\0\0\x3C\0\0\0\1\0\0\0\x3E\0\0\0"
      "\3\0\0\0\x40\0\0\0\0\0\0\0\x44\0\0\0"
      "a\0c\0one\0\0"sv;
  const Catalogue catalogue(std::as_bytes(std::span(kFile)));
  EXPECT_EQ(catalogue.size(), 2u);
  EXPECT_EQ(catalogue.find("a"), "one");
  EXPECT_EQ(catalogue.find("c"), "");
  EXPECT_EQ(catalogue.find("b"), std::nullopt);
  EXPECT_EQ(catalogue.find("d"), std::nullopt);
  EXPECT_EQ(catalogue.place_of("b"), 1u);
}

TEST(CatalogueTest, ALanguageWithoutAFileHasAnEmptyOne) {
  EXPECT_EQ(catalogue_of("xx").size(), 0u);
  EXPECT_EQ(catalogue_of("xx").find("a"), std::nullopt);
  EXPECT_GT(catalogue_of("ko").size(), 1000u);
}

}  // namespace
}  // namespace headwise
