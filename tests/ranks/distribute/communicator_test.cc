// Every operation, in a group of one and in groups of 1 to 8 threads.
#include "headwise/distribute/communicator.h"

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "headwise/distribute/thread_ranks.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kMostRanks = 8;

// What rank `from` sends to rank `to`; every pair has another size.
Bytes message(std::size_t from, std::size_t to) {
  Bytes bytes(1 + 100 * from + 7 * to);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(from + 31 * to + i);
  }
  return bytes;
}

// How each rank has ended.
std::vector<Status> ended_of(std::size_t ranks,
                             FunctionRef<Status(Communicator&)> work) {
  return run_ranks(ranks, work).value();
}

// Runs the ranks of groups of every size; each must succeed.
void run_all(FunctionRef<Status(Communicator&)> work) {
  for (std::size_t ranks = 1; ranks <= kMostRanks; ++ranks) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    const auto ended = ended_of(ranks, work);
    ASSERT_EQ(ended.size(), ranks);
    for (const Status& status : ended) {
      EXPECT_TRUE(status) << status.error().message();
    }
  }
}

TEST(CommunicatorTest, RanksKnowTheirNumbers) {
  for (std::size_t ranks = 1; ranks <= kMostRanks; ++ranks) {
    std::vector<int> seen(ranks);
    for (const Status& status :
         ended_of(ranks, [&](Communicator& group) -> Status {
           EXPECT_EQ(group.ranks(), ranks);
           ++seen[group.rank()];
           return ok();
         })) {
      EXPECT_TRUE(status);
    }
    EXPECT_THAT(seen, testing::Each(1));
  }
}

TEST(CommunicatorTest, BytesArriveInTheOrderInWhichTheyWereSent) {
  run_all([](Communicator& group) -> Status {
    const std::size_t to = (group.rank() + 1) % group.ranks();
    const std::size_t from = (group.rank() + group.ranks() - 1) % group.ranks();
    std::vector<Communicator::Transfer> transfers;
    std::vector<Bytes> sent;
    std::vector<Bytes> received;
    for (std::size_t i = 0; i < 5; ++i) {
      sent.push_back(message(i, 0));
      received.emplace_back(sent.back().size());
    }
    for (std::size_t i = 0; i < 5; ++i) {
      transfers.push_back(group.start_receive(received[i], from).value());
      transfers.push_back(group.start_send(sent[i], to).value());
    }
    for (auto& transfer : transfers) {
      HEADWISE_TRY(group.finish(transfer));
    }
    EXPECT_EQ(received, sent);
    return ok();
  });
}

TEST(CommunicatorTest, SendAndReceiveMeet) {
  run_all([](Communicator& group) -> Status {
    Bytes token(3);
    if (group.rank() != 0) {
      HEADWISE_TRY(group.receive(token, group.rank() - 1));
      EXPECT_EQ(token[0], static_cast<std::byte>(group.rank() - 1));
    }
    token[0] = static_cast<std::byte>(group.rank());
    return group.rank() + 1 < group.ranks()
               ? group.send(token, group.rank() + 1)
               : ok();
  });
}

TEST(CommunicatorTest, NobodyLeavesABarrierBeforeAllHaveCome) {
  for (std::size_t ranks = 1; ranks <= kMostRanks; ++ranks) {
    std::atomic<std::size_t> came = 0;
    for (const Status& status :
         ended_of(ranks, [&](Communicator& group) -> Status {
           for (std::size_t round = 1; round <= 20; ++round) {
             ++came;
             HEADWISE_TRY(group.barrier());
             EXPECT_GE(came, round * ranks);
             HEADWISE_TRY(group.barrier());
           }
           return ok();
         })) {
      EXPECT_TRUE(status);
    }
  }
}

TEST(CommunicatorTest, AllGetWhatOneBroadcasts) {
  run_all([](Communicator& group) -> Status {
    for (std::size_t from = 0; from < group.ranks(); ++from) {
      const Bytes sent = message(from, 3);
      Bytes bytes = group.rank() == from ? sent : Bytes(sent.size());
      HEADWISE_TRY(group.broadcast(bytes, from));
      EXPECT_EQ(bytes, sent);
    }
    return ok();
  });
}

TEST(CommunicatorTest, OneGathersWhatAllHave) {
  run_all([](Communicator& group) -> Status {
    for (std::size_t to = 0; to < group.ranks(); ++to) {
      std::vector<Bytes> parts;
      std::vector<std::span<std::byte>> views;
      for (std::size_t from = 0; from < group.ranks(); ++from) {
        parts.emplace_back(message(from, to).size());
      }
      views.assign(parts.begin(), parts.end());
      if (group.rank() != to) {
        views.clear();
      }
      HEADWISE_TRY(group.gather(message(group.rank(), to), views, to));
      for (std::size_t from = 0; from < views.size(); ++from) {
        EXPECT_EQ(parts[from], message(from, to));
      }
    }
    return ok();
  });
}

TEST(CommunicatorTest, AllExchange) {
  run_all([](Communicator& group) -> Status {
    std::vector<Bytes> sent;
    std::vector<Bytes> received;
    for (std::size_t other = 0; other < group.ranks(); ++other) {
      sent.push_back(message(group.rank(), other));
      received.emplace_back(message(other, group.rank()).size());
    }
    const std::vector<std::span<const std::byte>> out(sent.begin(), sent.end());
    const std::vector<std::span<std::byte>> in(received.begin(),
                                               received.end());
    HEADWISE_TRY(group.exchange(out, in));
    for (std::size_t other = 0; other < group.ranks(); ++other) {
      EXPECT_EQ(received[other], message(other, group.rank()));
    }
    return ok();
  });
}

TEST(CommunicatorTest, EqualTextsAreTheSame) {
  run_all([](Communicator& group) -> Status {
    HEADWISE_TRY(group.check_same("--causal", "yes"));
    return group.check_same("--name", "");
  });
}

TEST(CommunicatorTest, TheFirstTextThatDiffersIsNamedOnEveryRank) {
  for (std::size_t ranks = 3; ranks <= kMostRanks; ++ranks) {
    for (const Status& status :
         ended_of(ranks, [&](Communicator& group) -> Status {
           group.set_step("attention", "");
           return group.check_same("--window",
                                   group.rank() < 2 ? "128,0" : "64,0");
         })) {
      EXPECT_THAT(status, HasError({.code = ErrorCode::invalid_argument,
                                    .operation = "attention",
                                    .argument = "--window",
                                    .given = {"64,0", "rank 2"},
                                    .expected = {"128,0", "rank 0"}}));
    }
  }
}

TEST(CommunicatorTest, AllAgreeOnTheErrorOfTheLowestRank) {
  for (std::size_t ranks = 3; ranks <= kMostRanks; ++ranks) {
    for (const Status& status :
         ended_of(ranks, [&](Communicator& group) -> Status {
           HEADWISE_TRY(group.agree(ok()));
           if (group.rank() == 0) {
             return group.agree(ok());
           }
           return group.agree(
               Error(ErrorCode::io_error,
                     {.file = std::to_string(group.rank()) + ".npy",
                      .system_error = 2,
                      .given = "No such file"}));
         })) {
      EXPECT_THAT(status, HasError({.code = ErrorCode::io_error,
                                    .file = "1.npy",
                                    .system_error = 2}));
      EXPECT_THAT(status.error().message(), HasSubstr("on rank 1"));
    }
  }
}

TEST(CommunicatorTest, AgreedErrorsWithoutDetailsKeepTheirMeaning) {
  for (const Status& status : ended_of(2, [&](Communicator& group) -> Status {
         return group.agree(group.rank() == 0 ? ok()
                                              : Error::no_memory_for(1000));
       })) {
    EXPECT_THAT(status, IsError(ErrorCode::out_of_memory, ""));
    EXPECT_THAT(status.error().message(), HasSubstr("1000 bytes"));
    EXPECT_THAT(status.error().message(), HasSubstr("on rank 1"));
  }
}

// ---- Alone. ----

TEST(CommunicatorTest, ADeadlineMayBeTheLargestNumber) {
  run_all([](Communicator& group) -> Status {
    group.set_deadline(std::chrono::milliseconds::max());
    HEADWISE_TRY(group.barrier());
    return group.agree(ok());
  });
}

TEST(CommunicatorTest, ARankAloneHasEveryOperation) {
  const auto self = Communicator::self();
  EXPECT_EQ(self->rank(), 0u);
  EXPECT_EQ(self->ranks(), 1u);
  const Bytes sent = message(1, 2);
  Bytes bytes(sent.size());
  const std::span<std::byte> in = bytes;
  const std::span<const std::byte> out = sent;
  self->barrier().value();
  self->broadcast(bytes, 0).value();
  self->gather(sent, {&in, 1}, 0).value();
  EXPECT_EQ(bytes, sent);
  bytes.assign(bytes.size(), {});
  self->exchange({&out, 1}, {&in, 1}).value();
  EXPECT_EQ(bytes, sent);
  self->check_same("x", "y").value();
  self->agree(ok()).value();
}

TEST(CommunicatorTest, ASendToItselfMeetsItsOwnReceive) {
  const auto self = Communicator::self();
  const Bytes sent = message(1, 2);
  Bytes bytes(sent.size());
  auto send = self->start_send(sent, 0).value();
  auto receive = self->start_receive(bytes, 0).value();
  self->finish(send).value();
  self->finish(receive).value();
  EXPECT_EQ(bytes, sent);
}

TEST(CommunicatorTest, ARankThatWaitsForItselfIsToldSoAtOnce) {
  const auto self = Communicator::self();
  const Status status = self->send(message(1, 2), 0);
  EXPECT_THAT(status,
              HasError({.code = ErrorCode::rank_failure, .given = {"rank 0"}}));
}

// ---- Mistakes of the caller. ----

TEST(CommunicatorTest, ARankOutsideOfTheGroupIsAnError) {
  const auto self = Communicator::self();
  Bytes bytes(1);
  EXPECT_THAT(self->send(bytes, 1), IsError(ErrorCode::out_of_range, "to"));
  EXPECT_THAT(self->receive(bytes, 1),
              IsError(ErrorCode::out_of_range, "from"));
  EXPECT_THAT(self->broadcast(bytes, 1),
              IsError(ErrorCode::out_of_range, "from"));
  EXPECT_THAT(self->gather(bytes, {}, 1),
              IsError(ErrorCode::out_of_range, "to"));
  // The group goes on.
  EXPECT_TRUE(self->broadcast(bytes, 0));
}

TEST(CommunicatorTest, PartsOfAnotherNumberOfRanksAreAnError) {
  const auto self = Communicator::self();
  Bytes bytes(1);
  const std::span<std::byte> in = bytes;
  const std::span<const std::byte> out = bytes;
  EXPECT_THAT(self->gather(bytes, {}, 0),
              IsError(ErrorCode::shape_mismatch, "parts"));
  EXPECT_THAT(self->exchange({}, {&in, 1}),
              IsError(ErrorCode::shape_mismatch, "out"));
  EXPECT_THAT(self->exchange({&out, 1}, {}),
              IsError(ErrorCode::shape_mismatch, "in"));
}

TEST(CommunicatorTest, ATransferIsFinishedOnce) {
  const auto self = Communicator::self();
  Bytes bytes(1);
  auto send = self->start_send(bytes, 0).value();
  auto copy = send;
  auto receive = self->start_receive(bytes, 0).value();
  self->finish(receive).value();
  self->finish(send).value();
  EXPECT_TRUE(self->finish(send));
  EXPECT_THAT(self->finish(copy),
              IsError(ErrorCode::invalid_argument, "transfer"));
  Communicator::Transfer none;
  EXPECT_TRUE(self->finish(none));
}

TEST(CommunicatorTest, AReceiveOfAnotherSizeIsAnErrorOnEveryRank) {
  const auto ended = ended_of(3, [](Communicator& group) -> Status {
    Bytes bytes(group.rank() == 1 ? 7 : 8);
    group.set_step("attention", "keys 0 to 383");
    if (group.rank() == 1) {
      HEADWISE_TRY(group.send(bytes, 0));
      return group.barrier();
    }
    if (group.rank() == 0) {
      HEADWISE_TRY(group.receive(bytes, 1));
    }
    return group.barrier();
  });
  EXPECT_THAT(ended[0], HasError({.code = ErrorCode::shape_mismatch,
                                  .operation = "attention",
                                  .given = {"rank 1", "7"},
                                  .expected = {"8"}}));
  for (const Status& status : ended) {
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message(), HasSubstr("rank 1 sent 7 bytes"));
    EXPECT_THAT(status.error().message(), HasSubstr("keys 0 to 383"));
  }
}

// ---- Failures. ----

TEST(CommunicatorTest, AnErrorOfOneRankEndsTheWaitsOfAll) {
  const auto ended =
      run_ranks(4, [](Communicator& group) -> Status {
        group.set_step("attention", "keys 0 to 383");
        if (group.rank() == 2) {
          return Error(ErrorCode::invalid_argument,
                       {.argument = "query", .given = "has a NaN"});
        }
        return group.barrier();
      }).value();
  EXPECT_THAT(ended[2], IsError(ErrorCode::invalid_argument, "query"));
  for (const std::size_t rank : {0u, 1u, 3u}) {
    EXPECT_THAT(ended[rank], IsError(ErrorCode::rank_failure, "query"));
    EXPECT_EQ(ended[rank].error().message(),
              "attention: query has a NaN; on rank 2, at keys 0 to 383");
  }
}

TEST(CommunicatorTest, AfterAFailureEveryCallFailsAtOnce) {
  for (const Status& status : ended_of(2, [](Communicator& group) -> Status {
         group.abort(Error(ErrorCode::unsupported, {.given = "no"}));
         Bytes bytes(1);
         EXPECT_FALSE(group.start_send(bytes, group.rank()));
         EXPECT_FALSE(group.receive(bytes, 1 - group.rank()));
         EXPECT_FALSE(group.agree(ok()));
         EXPECT_FALSE(group.check_same("x", "y"));
         return group.barrier();
       })) {
    EXPECT_THAT(status.error().message(), HasSubstr("no"));
  }
}

TEST(CommunicatorTest, AnErrorOfAnAbortWithoutDetailsKeepsItsMeaning) {
  const auto ended = ended_of(2, [](Communicator& group) -> Status {
    return group.rank() == 0 ? group.barrier()
                             : Status(ErrorCode::out_of_memory);
  });
  EXPECT_THAT(ended[0], IsError(ErrorCode::rank_failure, ""));
  EXPECT_THAT(ended[0].error().message(), HasSubstr("out of memory"));
  EXPECT_THAT(ended[0].error().message(), HasSubstr("on rank 1"));
}

}  // namespace
}  // namespace headwise::testing_support
