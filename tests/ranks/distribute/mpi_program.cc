// What mpi_test.py runs under mpirun: a process of the group for each rank.
//
//   mpi_program SCENARIO [RANK]
//
// Every process says its id first. Ranks that succeed end with 0; one that
// fails prints its error and ends all.
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "headwise/distribute/communicator.h"
#include "headwise/distribute/mpi.h"

namespace {

int large_sends = 0;  // pieces of this process, but the first of a message

}  // namespace

// The one of MPI, which lets itself be replaced.
extern "C" int MPI_Isend(const void* bytes, int count, MPI_Datatype type,
                         int to, int tag, MPI_Comm group,
                         MPI_Request* request) {
  large_sends += count > 4096 ? 1 : 0;
  return PMPI_Isend(bytes, count, type, to, tag, group, request);
}

namespace headwise {
namespace {

using Bytes = std::vector<std::byte>;
using std::chrono::milliseconds;

constexpr milliseconds kDeadline{1000};
// Of ranks that all answer, however busy the machine is.
constexpr milliseconds kPatience{60'000};

void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

Status check(bool is_right, const std::string& what) {
  return is_right ? ok() : Status(Error(ErrorCode::bad_data, {.given = what}));
}

Bytes message(std::size_t size, std::size_t from) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(i * 7 + i / 251 + from);
  }
  return bytes;
}

// ---- Ranks that succeed. ----

// Around a ring: no bytes, the last size that fits one piece, the first that
// does not, and some that are many pieces; several are on their way at a time.
Status ring(Communicator& group) {
  const std::size_t to = (group.rank() + 1) % group.ranks();
  const std::size_t from = (group.rank() + group.ranks() - 1) % group.ranks();
  std::vector<Bytes> sent;
  std::vector<Bytes> received;
  for (const std::size_t size :
       {0u, 1u, 2048u, 2049u, 100'000u, 30'000'001u, 3u}) {
    sent.push_back(message(size, group.rank()));
    received.emplace_back(size);
  }
  std::vector<Communicator::Transfer> transfers;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    HEADWISE_ASSIGN(auto send, group.start_send(sent[i], to));
    transfers.push_back(send);
  }
  for (Bytes& bytes : received) {
    HEADWISE_ASSIGN(auto receive, group.start_receive(bytes, from));
    transfers.push_back(receive);
  }
  // The last one first: it ends although nobody waits for those before it yet.
  while (!transfers.empty()) {
    HEADWISE_TRY(group.finish(transfers.back()));
    transfers.pop_back();
  }
  for (std::size_t i = 0; i < received.size(); ++i) {
    HEADWISE_TRY(check(received[i] == message(received[i].size(), from),
                       "bytes of message " + std::to_string(i)));
  }
  return ok();
}

Status collectives(Communicator& group) {
  for (std::size_t root = 0; root < group.ranks(); ++root) {
    HEADWISE_TRY(group.barrier());
    Bytes bytes(50'000);
    if (group.rank() == root) {
      bytes = message(bytes.size(), root);
    }
    HEADWISE_TRY(group.broadcast(bytes, root));
    HEADWISE_TRY(check(bytes == message(bytes.size(), root), "a broadcast"));

    std::vector<Bytes> parts(group.rank() == root ? group.ranks() : 0,
                             Bytes(5000));
    const std::vector<std::span<std::byte>> views(parts.begin(), parts.end());
    HEADWISE_TRY(group.gather(message(5000, group.rank()), views, root));
    for (std::size_t from = 0; from < parts.size(); ++from) {
      HEADWISE_TRY(check(parts[from] == message(5000, from), "a gather"));
    }
  }
  std::vector<Bytes> in(group.ranks());
  std::vector<Bytes> out(group.ranks());
  for (std::size_t other = 0; other < group.ranks(); ++other) {
    out[other] = message(1000 * (other + 1), group.rank());
    in[other].resize(1000 * (group.rank() + 1));
  }
  const std::vector<std::span<const std::byte>> sent(out.begin(), out.end());
  const std::vector<std::span<std::byte>> received(in.begin(), in.end());
  HEADWISE_TRY(group.exchange(sent, received));
  for (std::size_t other = 0; other < group.ranks(); ++other) {
    HEADWISE_TRY(
        check(in[other] == message(in[other].size(), other), "an exchange"));
  }
  return ok();
}

Status operations(Communicator& group, std::size_t /*rank*/) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  HEADWISE_TRY(
      check(group.ranks() == static_cast<std::size_t>(size), "ranks()"));
  HEADWISE_TRY(ring(group));
  HEADWISE_TRY(collectives(group));
  HEADWISE_TRY(group.check_same("text", "same"));
  return group.agree(ok());
}

// Messages of the caller, with any tag, do not meet those of the group; nor do
// those of another group, of some of the processes.
Status groups(Communicator& group, std::size_t /*rank*/) {
  const auto none = mpi_ranks(MPI_Comm_c2f(MPI_COMM_NULL));
  HEADWISE_TRY(check(!none && none.error().details().argument == "communicator",
                     "the group of MPI_COMM_NULL"));
  const int rank = static_cast<int>(group.rank());
  int arrived = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&arrived, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
            &request);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  {
    HEADWISE_ASSIGN(auto other, mpi_ranks(MPI_Comm_c2f(half), kPatience));
    HEADWISE_TRY(ring(group));
    HEADWISE_TRY(ring(*other));
    HEADWISE_TRY(check(other->ranks() <= group.ranks() / 2 + 1, "ranks()"));
  }
  MPI_Comm_free(&half);
  int has_arrived = 0;
  MPI_Test(&request, &has_arrived, MPI_STATUS_IGNORE);
  HEADWISE_TRY(check(has_arrived == 0, "a message of the group"));
  MPI_Send(&rank, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return check(arrived == rank, "the caller's message");
}

// ---- One that fails. ----

Status after_fault(Communicator& group, std::size_t rank,
                   Status (*fault)(Communicator& group)) {
  group.set_step("attention", "keys 0 to 383");
  HEADWISE_TRY(group.barrier());
  if (group.rank() == rank) {
    return fault(group);
  }
  return group.barrier();
}

Status stopped(Communicator& group, std::size_t rank) {
  return after_fault(group, rank, [](Communicator& /*group*/) {
    (void)std::raise(SIGSTOP);
    return ok();
  });
}

Status killed(Communicator& group, std::size_t rank) {
  return after_fault(group, rank, [](Communicator& /*group*/) {
    (void)std::raise(SIGKILL);
    return ok();
  });
}

Status leaves(Communicator& group, std::size_t rank) {
  return after_fault(group, rank,
                     [](Communicator& /*group*/) -> Status { std::_Exit(0); });
}

Status fails(Communicator& group, std::size_t rank) {
  return after_fault(group, rank, [](Communicator& /*group*/) -> Status {
    return Error(ErrorCode::invalid_argument,
                 {.argument = "query", .given = "has a NaN"});
  });
}

// What the others wait for is less than they have room for.
Status sends_short(Communicator& group, std::size_t rank) {
  group.set_step("attention", "keys 0 to 383");
  Bytes bytes(group.rank() == rank ? 9'999'999 : 10'000'000);
  return group.broadcast(bytes, rank);
}

// In the middle of large messages in a ring.
Status stops_in_a_ring(Communicator& group, std::size_t rank) {
  group.set_step("attention", "keys 0 to 383");
  HEADWISE_TRY(ring(group));
  if (group.rank() == rank) {
    Bytes bytes(1 << 26);
    auto started = group.start_send(bytes, (rank + 1) % group.ranks());
    (void)std::raise(SIGSTOP);
  }
  return ring(group);
}

// ---- Signs of life. ----

constexpr milliseconds kShortDeadline{500};

// Each rank waits for the next; `last` is what the last one does first.
Status chain(Communicator& group, Status (*last)(Communicator& group)) {
  group.set_step("chain", "the start");
  Bytes bytes(8);
  if (group.rank() + 1 < group.ranks()) {
    HEADWISE_TRY(group.receive(bytes, group.rank() + 1));
  } else {
    HEADWISE_TRY(last(group));
  }
  return group.rank() == 0 ? ok() : group.send(bytes, group.rank() - 1);
}

const auto long_work = [] {
  std::this_thread::sleep_for(3 * kShortDeadline);
  return ok();
};

Status works(Communicator& group, std::size_t /*rank*/) {
  group.set_deadline(kShortDeadline);
  HEADWISE_TRY(chain(
      group, [](Communicator& last) { return last.busy_with(long_work); }));
  for (const std::size_t working : {0u, 1u}) {
    if (group.rank() == working) {
      HEADWISE_TRY(group.busy_with(long_work));
    }
    HEADWISE_TRY(group.barrier());
  }
  const Status failed = group.busy_with(
      [] { return Status(Error(ErrorCode::bad_data, {.given = "none"})); });
  HEADWISE_TRY(check(!failed && failed.error().code() == ErrorCode::bad_data,
                     "the error of busy_with()"));
  try {
    (void)group.busy_with(
        []() -> Status { throw std::runtime_error("an exception"); });
    return check(false, "the exception of busy_with()");
  } catch (const std::runtime_error&) {
    return group.agree(ok());
  }
}

Status stops_at_work(Communicator& group, std::size_t /*rank*/) {
  return chain(group, [](Communicator& last) {
    return last.busy_with([] {
      std::this_thread::sleep_for(kDeadline);
      (void)std::raise(SIGSTOP);
      return ok();
    });
  });
}

// The last one waits for rank 0, which works, and answers others until it is
// stopped.
Status stops_while_it_waits(Communicator& group, std::size_t /*rank*/) {
  if (group.rank() == 0) {
    HEADWISE_TRY(group.busy_with([] {
      std::this_thread::sleep_for(3 * kDeadline);
      return ok();
    }));
    return group.barrier();
  }
  return chain(group, [](Communicator& last) {
    std::thread([] {
      std::this_thread::sleep_for(kDeadline);
      (void)std::raise(SIGSTOP);
    }).detach();
    Bytes bytes(8);
    return last.receive(bytes, 0);
  });
}

Status wait_for_each_other(Communicator& group, std::size_t /*rank*/) {
  Bytes bytes(8);
  return group.receive(bytes, (group.rank() + 1) % group.ranks());
}

// Both ranks work until what the other one sends has arrived.
Status arrives_during_work(Communicator& group, std::size_t /*rank*/) {
  const Bytes sent(50'000'000, std::byte{1});
  Bytes received(sent.size());
  const std::size_t other = 1 - group.rank();
  HEADWISE_ASSIGN(auto send, group.start_send(sent, other));
  HEADWISE_ASSIGN(auto receive, group.start_receive(received, other));
  HEADWISE_TRY(group.busy_with([&] {
    const volatile std::byte& last = received.back();
    for (int n = 0; n < 3000 && last != std::byte{1}; ++n) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    return check(last == std::byte{1}, "nothing during the work");
  }));
  HEADWISE_TRY(group.finish(send));
  return group.finish(receive);
}

// Receives that wait for their first piece leave a send its room.
Status sends_beside_receives(Communicator& group, std::size_t /*rank*/) {
  const Bytes large = message(4'000'000, 0);
  if (group.rank() == 0) {
    std::vector<Bytes> small(8, Bytes(8));
    std::vector<Communicator::Transfer> transfers;
    for (Bytes& bytes : small) {
      HEADWISE_ASSIGN(auto receive, group.start_receive(bytes, 2));
      transfers.push_back(receive);
    }
    HEADWISE_ASSIGN(auto send, group.start_send(large, 1));
    HEADWISE_TRY(check(large_sends > 1, "one piece at a time"));
    MPI_Barrier(MPI_COMM_WORLD);
    for (Communicator::Transfer& transfer : transfers) {
      HEADWISE_TRY(group.finish(transfer));
    }
    return group.finish(send);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (group.rank() == 1) {
    Bytes received(large.size());
    HEADWISE_TRY(group.receive(received, 0));
    return check(received == large, "the bytes of a large message");
  }
  for (int n = 0; n < 8; ++n) {
    HEADWISE_TRY(group.send(message(8, 2), 0));
  }
  return ok();
}

// ---- Without a group. ----

int without_mpi() {
  say(mpi_ranks().error().message());
  MPI_Init(nullptr, nullptr);
  int level = 0;
  MPI_Query_thread(&level);
  const auto group = mpi_ranks();
  say(group ? "level " + std::to_string(level) : group.error().message());
  MPI_Finalize();
  say(mpi_ranks().error().message());
  return 0;
}

// One process does not take part.
int late() {
  int level = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) {
    ::sleep(60);
  }
  const auto group = mpi_ranks(kDeadline);
  say(group.error().message());
  MPI_Abort(MPI_COMM_WORLD, 3);
  return 3;
}

int run(Status (*scenario)(Communicator&, std::size_t), std::size_t rank) {
  const bool all_answer = scenario == operations || scenario == groups;
  int level = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
  {
    const auto group = mpi_ranks(all_answer ? kPatience : kDeadline).value();
    const Status status = scenario(*group, rank);
    if (!status) {
      say("rank " + std::to_string(group->rank()) +
          " failed: " + status.error().message());
      group->abort(status.error());
      if (group->was_told()) {
        say("rank " + std::to_string(group->rank()) + " was told");
      }
      // Time for the others to say what they have heard.
      ::usleep(500'000);
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
  }
  MPI_Finalize();
  return 0;
}

}  // namespace
}  // namespace headwise

int main(int argc, char** argv) {
  using namespace headwise;
  const std::map<std::string_view, Status (*)(Communicator&, std::size_t)>
      scenarios = {{"operations", operations},
                   {"groups", groups},
                   {"stopped", stopped},
                   {"killed", killed},
                   {"leaves", leaves},
                   {"fails", fails},
                   {"sends_short", sends_short},
                   {"stops_in_a_ring", stops_in_a_ring},
                   {"works", works},
                   {"stops_at_work", stops_at_work},
                   {"stops_while_it_waits", stops_while_it_waits},
                   {"wait_for_each_other", wait_for_each_other},
                   {"arrives_during_work", arrives_during_work},
                   {"sends_beside_receives", sends_beside_receives}};
  const std::string_view name = argc > 1 ? argv[1] : "";
  const std::size_t rank = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;
  if (name == "without_mpi") {
    return without_mpi();
  }
  if (name == "late") {
    return late();
  }
  const auto found = scenarios.find(name);
  return found == scenarios.end() ? 2 : run(found->second, rank);
}
