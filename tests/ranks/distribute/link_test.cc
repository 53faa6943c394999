#include "distribute/link.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "headwise/base/result.h"

namespace headwise {
namespace {

using Bytes = std::vector<std::byte>;
using std::chrono::steady_clock;

TEST(LinkTest, ATransferThatIsGivenUpMeetsNothing) {
  Link link(0);
  const Bytes first = {std::byte{1}};
  const Bytes second = {std::byte{2}};
  Bytes unused(1);
  Bytes received(1);
  link.send(first).reset();
  EXPECT_FALSE(link.receive(unused)->wait(steady_clock::now()).value());
  const auto send = link.send(second);
  const auto receive = link.receive(received);
  EXPECT_TRUE(send->wait(steady_clock::now()).value());
  EXPECT_TRUE(receive->wait(steady_clock::now()).value());
  EXPECT_EQ(received, second);
  EXPECT_EQ(unused, Bytes(1));
}

}  // namespace
}  // namespace headwise
