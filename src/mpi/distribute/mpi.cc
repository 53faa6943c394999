#include "headwise/distribute/mpi.h"

#include <mpi.h>

#include <algorithm>
#include <string>
#include <thread>

#include "base/out_of_memory.h"
#include "distribute/mpi_channel.h"
#include "distribute/mpi_transfer.h"
#include "distribute/mpi_worker.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kMpi = "mpi_ranks";

// While it lives, the others may hear that this rank computes.
class BusyWorker {
 public:
  explicit BusyWorker(MpiSigns& signs) : signs_(signs) {
    signs_.set_busy(true);
  }
  BusyWorker(const BusyWorker&) = delete;
  BusyWorker& operator=(const BusyWorker&) = delete;
  ~BusyWorker() { signs_.set_busy(false); }

 private:
  MpiSigns& signs_;
};

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(std::shared_ptr<MpiChannel> channel)
      : Communicator(channel->rank(), channel->ranks()),
        channel_(std::move(channel)) {}

 private:
  Result<std::unique_ptr<Pending>> begin_send(std::span<const std::byte> bytes,
                                              std::size_t to) override {
    return begun(std::make_unique<MpiSend>(channel_, bytes, to));
  }
  Result<std::unique_ptr<Pending>> begin_receive(std::span<std::byte> bytes,
                                                 std::size_t from) override {
    return begun(std::make_unique<MpiReceive>(channel_, bytes, from));
  }
  static std::unique_ptr<Pending> begun(std::unique_ptr<MpiTransfer> transfer) {
    transfer->advance();
    return transfer;
  }
  bool tell(const Error& reason) noexcept override {
    return channel_->tell(reason);
  }
  void start_waiting(std::size_t other) override {
    channel_->signs().start_waiting(other);
  }
  void stop_waiting() override { channel_->signs().stop_waiting(); }
  SignsOfLife signs_of(std::size_t other) override {
    return channel_->signs().of(other);
  }
  Status work_visibly(FunctionRef<Status()> work) override {
    if (ranks() == 1) {
      return work();
    }
    Status status;
    const BusyWorker busy(channel_->signs());
    worker_.run([&] { status = work(); }, [&] { return channel_->advance(); });
    return status;
  }

  std::shared_ptr<MpiChannel> channel_;
  MpiWorker worker_;
};

Status check_initialised() {
  int is_initialised = 0;
  int is_finalised = 0;
  MPI_Initialized(&is_initialised);
  MPI_Finalized(&is_finalised);
  if (is_initialised == 0 || is_finalised != 0) {
    return Error(ErrorCode::invalid_argument,
                 {.operation = kMpi,
                  .given = is_finalised != 0 ? "MPI is finalised already"
                                             : "MPI is not initialised",
                  .expected = "a call between MPI_Init_thread() and "
                              "MPI_Finalize()"});
  }
  int level = 0;
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_FUNNELED) {
    return Error(ErrorCode::unsupported,
                 {.operation = kMpi,
                  .given = "MPI allows no threads",
                  .expected = "MPI_Init_thread() with MPI_THREAD_FUNNELED"});
  }
  return ok();
}

// MPI_Comm_dup() would wait without end for a process that does not call it.
Result<MPI_Comm> duplicate_of(MPI_Comm communicator, milliseconds deadline) {
  auto duplicate = std::make_unique<MPI_Comm>(MPI_COMM_NULL);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_idup(communicator, duplicate.get(), &request);
  const auto begin = steady_clock::now();
  for (int is_done = 0;;) {
    MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
    if (is_done != 0) {
      return *duplicate;
    }
    if (steady_clock::now() - begin >= deadline) {
      (void)duplicate.release();  // MPI may still write it
      return Error(ErrorCode::rank_failure,
                   {.operation = kMpi,
                    .given = message("a rank did not answer within {} ms",
                                     deadline.count())});
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
}

Result<std::unique_ptr<Communicator>> ranks_of(MPI_Comm communicator,
                                               milliseconds deadline) {
  deadline = std::min(deadline, Communicator::kLongestDeadline);
  HEADWISE_ASSIGN(const auto duplicate, duplicate_of(communicator, deadline));
  std::unique_ptr<Communicator> group = std::make_unique<MpiCommunicator>(
      std::make_shared<MpiChannel>(duplicate));
  group->set_deadline(deadline);
  group->set_step(kMpi, "the start");
  HEADWISE_TRY(group->check_same("version", version()));
  group->set_step("", "");
  return group;
}

}  // namespace

Result<std::unique_ptr<Communicator>> mpi_ranks(milliseconds deadline) try {
  HEADWISE_TRY(check_initialised());
  return ranks_of(MPI_COMM_WORLD, deadline);
} catch (...) {
  return caught_out_of_memory();
}

Result<std::unique_ptr<Communicator>> mpi_ranks(int communicator,
                                                milliseconds deadline) try {
  HEADWISE_TRY(check_initialised());
  MPI_Comm const handle = MPI_Comm_f2c(communicator);
  if (handle == MPI_COMM_NULL) {
    return Error(ErrorCode::invalid_argument,
                 {.operation = kMpi,
                  .argument = "communicator",
                  .given = "is MPI_COMM_NULL",
                  .expected = "a communicator of this process"});
  }
  return ranks_of(handle, deadline);
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
