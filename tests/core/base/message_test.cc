#include "headwise/base/message.h"

#include <gtest/gtest.h>

#include <string>

namespace headwise {
namespace {

TEST(MessageTest, ValuesTakeTheirPlaces) {
  const Message text = message("a multiple of {} = {}", "num_heads", 8);
  EXPECT_EQ(text.text(), "a multiple of num_heads = 8");
  EXPECT_EQ(text.form(), "a multiple of {} = {}");
  ASSERT_EQ(text.values().size(), 2u);
  EXPECT_EQ(text.values()[0].text(), "num_heads");
  EXPECT_EQ(text.values()[0].form(), "");
  EXPECT_TRUE(Message().empty());
}

TEST(MessageTest, ALiteralIsAFormAndAValueMayBeAMessage) {
  EXPECT_EQ(Message("is empty").form(), "is empty");
  const Message text = message("{}; {}", Message("is empty"), 'x');
  EXPECT_EQ(text.text(), "is empty; x");
  EXPECT_EQ(text.values()[0].form(), "is empty");
  EXPECT_EQ(text.values()[1].form(), "");
}

TEST(MessageTest, BracesInValuesStay) {
  EXPECT_EQ(message("has {} and {}", "{}", "b").text(), "has {} and b");
}

TEST(MessageTest, ArrivesAsBytes) {
  for (const Message& sent :
       {Message(), Message("is empty"), Message::verbatim("q.npy"),
        message("at {}", message("keys {} to {}", 0, 383))}) {
    const auto arrived = Message::unpacked(sent.packed());
    ASSERT_TRUE(arrived) << sent.packed();
    EXPECT_EQ(arrived->text(), sent.text());
    EXPECT_EQ(arrived->form(), sent.form());
    EXPECT_EQ(arrived->values().size(), sent.values().size());
  }
}

TEST(MessageTest, OtherBytesAreNoMessage) {
  const std::string packed = message("at {}", message("keys {}", 7)).packed();
  for (std::size_t size = 0; size < packed.size(); ++size) {
    EXPECT_FALSE(Message::unpacked(packed.substr(0, size))) << size;
  }
  EXPECT_FALSE(Message::unpacked(packed + "x"));
  EXPECT_FALSE(Message::unpacked("5:at {}f2:1:at0:1:bt0:"));
}

}  // namespace
}  // namespace headwise
