// Ranks that fail: all others end in time, with a message that names the rank.
#include "headwise/distribute/thread_ranks.h"

#include <array>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

using Bytes = std::vector<std::byte>;
using Kind = RankFault::Kind;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kDeadline{1000};

// A ring of several steps: each rank sends on what it has received, and all
// meet at its end.
Status ring(Communicator& group) {
  Bytes mine(100, static_cast<std::byte>(group.rank()));
  Bytes next(mine.size());
  for (std::size_t step = 0; step < 4; ++step) {
    group.set_step("ring", "step " + std::to_string(step));
    HEADWISE_ASSIGN(auto receive, group.start_receive(
                                      next, (group.rank() + group.ranks() - 1) %
                                                group.ranks()));
    HEADWISE_ASSIGN(auto send,
                    group.start_send(mine, (group.rank() + 1) % group.ranks()));
    HEADWISE_TRY(group.finish(receive));
    HEADWISE_TRY(group.finish(send));
    std::swap(mine, next);
  }
  return group.barrier();
}

Status broadcast(Communicator& group) {
  Bytes bytes(1000);
  group.set_step("broadcast", "step 0");
  return group.broadcast(bytes, 0);
}

Status agreements(Communicator& group) {
  for (std::size_t i = 0; i < 3; ++i) {
    group.set_step("agree", "step " + std::to_string(i));
    HEADWISE_TRY(group.agree(ok()));
  }
  return ok();
}

struct Ended {
  std::vector<Status> statuses;
  milliseconds after;
};

Ended run_with(std::size_t ranks, Status (*work)(Communicator&),
               std::vector<RankFault> faults) {
  const auto begin = steady_clock::now();
  auto statuses =
      run_ranks(ranks, [&](Communicator& group) { return work(group); },
                {.deadline = kDeadline, .faults = std::move(faults)});
  return {std::move(statuses).value(), std::chrono::duration_cast<milliseconds>(
                                           steady_clock::now() - begin)};
}

// All fail, and each of the others names the rank.
void expect_blamed(const Ended& ended, std::size_t blamed) {
  EXPECT_LT(ended.after, 2 * kDeadline);
  for (std::size_t rank = 0; rank < ended.statuses.size(); ++rank) {
    const Status& status = ended.statuses[rank];
    ASSERT_FALSE(status) << "rank " << rank;
    EXPECT_EQ(status.error().code(), ErrorCode::rank_failure);
    EXPECT_THAT(status.error().message(),
                HasSubstr("rank " + std::to_string(blamed)))
        << "on rank " << rank;
  }
}

TEST(ThreadRanksTest, ARankThatEndsEarlyIsNamed) {
  for (std::size_t ranks = 2; ranks <= 8; ++ranks) {
    for (std::size_t at = 0; at < 8; at += 3) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, at " + std::to_string(at));
      const Ended ended = run_with(
          ranks, ring, {{.kind = Kind::ends, .rank = ranks - 1, .at = at}});
      expect_blamed(ended, ranks - 1);
      EXPECT_LT(ended.after, kDeadline);
      EXPECT_THAT(ended.statuses[0].error().message(),
                  HasSubstr("ring: rank " + std::to_string(ranks - 1) +
                            " has ended; at step "));
    }
  }
}

TEST(ThreadRanksTest, ARankThatReturnsEarlyIsNamed) {
  const auto ended = run_ranks(3, [](Communicator& group) -> Status {
                       return group.rank() == 1 ? ok() : group.barrier();
                     }).value();
  EXPECT_TRUE(ended[1]);
  for (const std::size_t rank : {0u, 2u}) {
    EXPECT_THAT(ended[rank].error().message(), HasSubstr("rank 1 has ended"));
  }
}

TEST(ThreadRanksTest, ARankThatHangsInABarrierIsNamedByAll) {
  for (const std::size_t hanging : {0u, 1u, 3u}) {
    const Ended ended =
        run_with(4, [](Communicator& group) { return group.barrier(); },
                 {{.kind = Kind::hangs, .rank = hanging}});
    expect_blamed(ended, hanging);
    EXPECT_GE(ended.after, kDeadline);
  }
}

TEST(ThreadRanksTest, ARankThatHangsInAnAgreementIsNamedByAll) {
  for (const std::size_t hanging : {0u, 1u, 3u}) {
    expect_blamed(run_with(4, agreements,
                           {{.kind = Kind::hangs, .rank = hanging, .at = 2}}),
                  hanging);
  }
}

TEST(ThreadRanksTest, ARankThatHangsInABroadcastIsNamedByThoseBehindIt) {
  // Rank 4 of 8 has 5 and 6 behind it, and 6 has 7.
  const Ended ended =
      run_with(8, broadcast, {{.kind = Kind::hangs, .rank = 4}});
  EXPECT_LT(ended.after, 2 * kDeadline);
  for (const std::size_t rank : {0u, 5u, 6u, 7u}) {
    ASSERT_FALSE(ended.statuses[rank]) << "rank " << rank;
    EXPECT_THAT(ended.statuses[rank].error().message(), HasSubstr("rank 4"))
        << "on rank " << rank;
  }
}

TEST(ThreadRanksTest, ARankThatHangsInARingEndsAllInTime) {
  const Ended ended =
      run_with(4, ring, {{.kind = Kind::hangs, .rank = 2, .at = 4}});
  EXPECT_LT(ended.after, 2 * kDeadline);
  for (const Status& status : ended.statuses) {
    EXPECT_THAT(status, IsError(ErrorCode::rank_failure, ""));
  }
  EXPECT_THAT(ended.statuses[3].error().message(), HasSubstr("; at step "));
}

TEST(ThreadRanksTest, SeveralRanksThatHangEnd) {
  const Ended ended = run_with(
      4, ring,
      {{.kind = Kind::hangs, .rank = 0}, {.kind = Kind::hangs, .rank = 2}});
  EXPECT_LT(ended.after, 2 * kDeadline);
}

TEST(ThreadRanksTest, ALinkThatIsLostEndsAllInTime) {
  for (const std::size_t at : {0u, 5u}) {
    const Ended ended = run_with(
        3, ring, {{.kind = Kind::loses_link, .rank = 1, .at = at, .other = 2}});
    EXPECT_LT(ended.after, 2 * kDeadline);
    for (const Status& status : ended.statuses) {
      EXPECT_THAT(status, IsError(ErrorCode::rank_failure, ""));
      EXPECT_THAT(status.error().message(),
                  testing::ContainsRegex("within 1(\\.5)? s; at step"));
    }
  }
}

TEST(ThreadRanksTest, ASlowRankIsWaitedFor) {
  const Ended ended = run_with(
      4, ring, {{.kind = Kind::is_slow, .rank = 1, .delay = milliseconds(20)}});
  EXPECT_GE(ended.after, milliseconds(160));
  for (const Status& status : ended.statuses) {
    EXPECT_TRUE(status) << status.error().message();
  }
}

// ---- Signs of life. ----

constexpr milliseconds kShortDeadline{200};

const auto long_work = [] {
  std::this_thread::sleep_for(3 * kShortDeadline);
  return ok();
};

// Each rank waits for the next; `last` is what the last one does first.
Ended chain(std::size_t ranks, milliseconds deadline,
            FunctionRef<Status(Communicator&)> last) {
  const auto begin = steady_clock::now();
  auto statuses = run_ranks(
      ranks,
      [&](Communicator& group) -> Status {
        group.set_step("chain", "the start");
        Bytes bytes(8);
        if (group.rank() + 1 < ranks) {
          HEADWISE_TRY(group.receive(bytes, group.rank() + 1));
        } else {
          HEADWISE_TRY(last(group));
        }
        return group.rank() == 0 ? ok() : group.send(bytes, group.rank() - 1);
      },
      {.deadline = deadline});
  return {std::move(statuses).value(), std::chrono::duration_cast<milliseconds>(
                                           steady_clock::now() - begin)};
}

void expect_success(const std::vector<Status>& statuses) {
  for (const Status& status : statuses) {
    EXPECT_TRUE(status) << status.error().message();
  }
}

TEST(ThreadRanksTest, RanksThatWorkVisiblyAreWaitedFor) {
  expect_success(run_ranks(4,
                           [](Communicator& group) -> Status {
                             if (group.rank() % 2 == 0) {
                               HEADWISE_TRY(group.busy_with(long_work));
                             }
                             HEADWISE_TRY(group.barrier());
                             return group.agree(ok());
                           },
                           {.deadline = kShortDeadline})
                     .value());
}

TEST(ThreadRanksTest, AChainOfRanksWaitsForOneThatWorks) {
  expect_success(chain(5, kShortDeadline, [](Communicator& group) {
                   return group.busy_with(long_work);
                 }).statuses);
}

TEST(ThreadRanksTest, ASilentRankAtTheEndOfAChainIsNamedByAll) {
  expect_blamed(chain(4, kDeadline,
                      [](Communicator& group) -> Status {
                        std::this_thread::sleep_for(kDeadline * 5 / 4);
                        return group.barrier();
                      }),
                3);
}

TEST(ThreadRanksTest, ARankThatFallsSilentAfterItsWorkIsNamed) {
  const Ended ended = chain(3, kDeadline, [](Communicator& group) -> Status {
    HEADWISE_TRY(group.busy_with(long_work));
    std::this_thread::sleep_for(kDeadline * 5 / 4);
    return group.barrier();
  });
  for (const Status& status : ended.statuses) {
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message(),
                HasSubstr("chain: rank 2 did not answer within 1 s"));
  }
  EXPECT_GE(ended.after, 3 * kShortDeadline + kDeadline);
  EXPECT_LT(ended.after, 3 * kShortDeadline + 2 * kDeadline);
}

TEST(ThreadRanksTest, ARankThatFallsSilentAfterAnExceptionIsNamed) {
  const Ended ended =
      chain(3, kShortDeadline, [](Communicator& group) -> Status {
        EXPECT_THROW((void)group.busy_with(
                         []() -> Status { throw std::runtime_error("no"); }),
                     std::runtime_error);
        std::this_thread::sleep_for(kShortDeadline * 3);
        return group.barrier();
      });
  for (const Status& status : ended.statuses) {
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message(), HasSubstr("rank 2 did not answer"));
  }
}

TEST(ThreadRanksTest, RanksThatWaitForEachOtherEnd) {
  const Ended ended =
      run_with(3,
               [](Communicator& group) -> Status {
                 Bytes bytes(8);
                 return group.receive(bytes, (group.rank() + 1) % 3);
               },
               {});
  EXPECT_LT(ended.after, 2 * kDeadline);
  for (const Status& status : ended.statuses) {
    EXPECT_THAT(status, IsError(ErrorCode::rank_failure, ""));
  }
}

TEST(ThreadRanksTest, VisibleWorkReturnsItsErrorAndFailsAfterAFailure) {
  const auto self = Communicator::self();
  EXPECT_THAT(self->busy_with([] {
    return Status(Error(ErrorCode::bad_data, {.argument = "query"}));
  }),
              IsError(ErrorCode::bad_data, "query"));
  self->abort(ErrorCode::unsupported);
  EXPECT_THAT(self->busy_with([]() -> Status {
    ADD_FAILURE() << "work of a group that has ended";
    return ok();
  }),
              IsError(ErrorCode::unsupported, ""));
}

// ---- Other sizes, lost bytes, mistakes. ----

TEST(ThreadRanksTest, ARankThatSendsAnotherSizeIsNamed) {
  const Ended ended =
      run_with(4, ring, {{.kind = Kind::sends_short, .rank = 1, .at = 2}});
  EXPECT_LT(ended.after, kDeadline);
  EXPECT_THAT(ended.statuses[2], HasError({.code = ErrorCode::shape_mismatch,
                                           .operation = "ring",
                                           .given = {"rank 1", "99"},
                                           .expected = {"100"}}));
  for (const Status& status : ended.statuses) {
    EXPECT_FALSE(status);
  }
}

// So one of them reports it, and the others know that it does.
TEST(ThreadRanksTest, AllButTheRankThatFailsAreTold) {
  std::array<bool, 3> was_told{};
  const auto ended =
      run_ranks(3, [&](Communicator& group) -> Status {
        const Status failed = Error(ErrorCode::io_error, {.given = "full"});
        const Status status = group.rank() == 1 ? failed : group.barrier();
        group.abort(status.error());
        was_told[group.rank()] = group.was_told();
        return status;
      }).value();
  EXPECT_THAT(was_told, testing::ElementsAre(true, false, true));
  EXPECT_THAT(ended[0].error().message(), HasSubstr("full; on rank 1"));
}

// Nobody was told of an error that all have found together.
TEST(ThreadRanksTest, AnErrorOfAllRanksIsToldToNone) {
  const auto ended =
      run_ranks(3, [&](Communicator& group) -> Status {
        Status status = group.check_same("rank", std::to_string(group.rank()));
        EXPECT_FALSE(group.was_told());
        return status;
      }).value();
  EXPECT_FALSE(ended[0]);
}

TEST(ThreadRanksTest, ARankThatIsBusyLearnsOfAFailureAtItsNextCall) {
  const Ended ended = run_with(2,
                               [](Communicator& group) -> Status {
                                 if (group.rank() == 1) {
                                   std::this_thread::sleep_for(kDeadline / 4);
                                 }
                                 return ring(group);
                               },
                               {{.kind = Kind::ends, .rank = 0}});
  expect_blamed(ended, 0);
}

TEST(ThreadRanksTest, BytesOfAFailedTransferAreNotTouched) {
  // Rank 0 gives up before rank 1 receives.
  const auto ended = run_ranks(2,
                               [](Communicator& group) -> Status {
                                 if (group.rank() == 0) {
                                   auto bytes = std::make_unique<Bytes>(1000);
                                   return group.send(*bytes, 1);
                                 }
                                 std::this_thread::sleep_for(milliseconds(60));
                                 Bytes bytes(1000);
                                 return group.receive(bytes, 0);
                               },
                               {.deadline = milliseconds(20)})
                         .value();
  for (const Status& status : ended) {
    EXPECT_THAT(status, IsError(ErrorCode::rank_failure, ""));
  }
}

TEST(ThreadRanksTest, ATransferThatIsNeverFinishedIsGivenUp) {
  Bytes sent(8);
  const auto ended = run_ranks(2, [&](Communicator& group) -> Status {
                       if (group.rank() == 0) {
                         return group.start_send(sent, 1) ? ok() : ok();
                       }
                       std::this_thread::sleep_for(milliseconds(20));
                       Bytes bytes(8);
                       return group.receive(bytes, 0);
                     }).value();
  EXPECT_TRUE(ended[0]);
  EXPECT_THAT(ended[1].error().message(), HasSubstr("rank 0 has ended"));
}

TEST(ThreadRanksTest, AnExceptionReachesTheCaller) {
  EXPECT_THROW(run_ranks(3,
                         [](Communicator& group) -> Status {
                           if (group.rank() == 1) {
                             throw std::runtime_error("no");
                           }
                           return group.barrier();
                         })
                   .value(),
               std::runtime_error);
}

TEST(ThreadRanksTest, NoRanksAndFaultsOfUnknownRanksAreErrors) {
  const auto work = [](Communicator& /*group*/) { return ok(); };
  EXPECT_THAT(run_ranks(0, work),
              IsError(ErrorCode::invalid_argument, "ranks"));
  EXPECT_THAT(run_ranks(2, work, {.faults = {{.rank = 2}}}),
              IsError(ErrorCode::out_of_range, "faults.rank"));
}

}  // namespace
}  // namespace headwise::testing_support
