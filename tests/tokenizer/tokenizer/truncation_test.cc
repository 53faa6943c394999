#include "tokenizer/truncation.h"

#include <gtest/gtest.h>

#include <string>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using Check = Status (*)(const JsonPart&);

std::string fault_of(Check check, std::string_view text) {
  const auto json = Json::parse(text, 10000, 50);
  const Status status =
      check(JsonPart(&*json, FileSubject{.file = "t.json"}, "state"));
  return status ? "none" : status.error().message();
}

TEST(SavedTruncationTest, HasItsForm) {
  const std::string good =
      R"("max_length":3,"strategy":"OnlyFirst","stride":0})";
  EXPECT_EQ(fault_of(check_saved_truncation, "null"), "none");
  EXPECT_EQ(fault_of(check_saved_truncation, "{" + good), "none");
  EXPECT_EQ(fault_of(check_saved_truncation, R"({"direction":"left",)" + good),
            "t.json: state.direction is left, expected Left, Right");
  EXPECT_EQ(fault_of(check_saved_truncation, R"({"max_length":3})"),
            "t.json: state has no strategy");
}

TEST(SavedPaddingTest, HasItsForm) {
  const std::string good =
      R"("direction":"Left","pad_id":0,"pad_type_id":0,"pad_token":"p"})";
  EXPECT_EQ(fault_of(check_saved_padding, "null"), "none");
  EXPECT_EQ(
      fault_of(check_saved_padding, R"({"strategy":"BatchLongest",)" + good),
      "none");
  EXPECT_EQ(fault_of(check_saved_padding, R"({"strategy":{"Fixed":3},)" + good),
            "none");
  EXPECT_EQ(
      fault_of(check_saved_padding, R"({"strategy":{"Fixed":"a"},)" + good),
      "t.json: state.strategy.Fixed is a, expected a whole number of at least "
      "0");
  EXPECT_EQ(fault_of(check_saved_padding, "{" + good),
            "t.json: state has no strategy");
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
