// Causal attention by the processes of mpirun, one thread each, and by rank 0
// alone:
//   mpirun -n P rank_bench LENGTH ROUNDS forward|backward [PIECES [CHUNK_KEYS]]
//
// 8 heads of 64 features; `backward` is the forward and the backward pass
// together. PIECES of tokens per rank: 0 is the default of plan_shards(). In
// each round first rank 0 computes the whole call while the others wait
// (`alone`), then all compute their parts (`together`), then each computes the
// whole call for itself, all at the same time (`each`): a group of one, with
// chunks of the same size, so these are the rates of the kernels with which
// bench/scaling.py predicts `together`. Rank 0 prints one line of JSON with the
// seconds of every round and the rates of the links (link_rates.h), or an
// error.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "link_rates.h"
#include "mpi_main.h"
#include "rank_call.h"

namespace headwise {
namespace {

struct Settings {
  CallSettings call;
  std::size_t rounds;
};

// The seconds of `work` until all ranks are done.
template <class Work>
Status time_round(Communicator& group, std::vector<double>& seconds,
                  const Work& work) {
  HEADWISE_TRY(group.barrier());
  const auto begin = std::chrono::steady_clock::now();
  HEADWISE_TRY(work());
  HEADWISE_TRY(group.barrier());
  seconds.push_back(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count());
  return ok();
}

// Of every round.
struct Seconds {
  std::vector<double> alone, together, each;
};

Result<Seconds> measure(Communicator& group, const Settings& settings) {
  const bool backward = settings.call.backward;
  const Executor one_thread = Executor::with_threads(1).value();
  const AttentionOptions options = {.mask = causal(), .executor = &one_thread};
  const auto call = call_of(group.ranks(), settings.call, options);
  const auto call_of_one = call_of(1, settings.call, options);
  HEADWISE_TRY(call);
  HEADWISE_TRY(call_of_one);
  auto own = make_tensors(rows_of(call->plan.ranks[group.rank()]), backward);
  auto whole = make_tensors(settings.call.length, backward);
  HEADWISE_TRY(own);
  HEADWISE_TRY(whole);
  const auto self = Communicator::self();
  Seconds seconds;
  for (std::size_t round = 0; round < settings.rounds; ++round) {
    HEADWISE_TRY(time_round(group, seconds.alone, [&] {
      return group.rank() == 0 ? alone(*whole, options, backward) : ok();
    }));
    HEADWISE_TRY(time_round(group, seconds.together, [&] {
      return together(group, *call, *own, backward);
    }));
    HEADWISE_TRY(time_round(group, seconds.each, [&] {
      return together(*self, *call_of_one, *whole, backward);
    }));
  }
  return seconds;
}

std::string list_of(const std::vector<double>& seconds) {
  std::string list;
  for (const double second : seconds) {
    list += (list.empty() ? "" : ", ") + std::to_string(second);
  }
  return "[" + list + "]";
}

double median_speedup(const Seconds& seconds) {
  std::vector<double> speedups;
  for (std::size_t round = 0; round < seconds.alone.size(); ++round) {
    speedups.push_back(seconds.alone[round] / seconds.together[round]);
  }
  std::ranges::sort(speedups);
  return speedups[speedups.size() / 2];
}

Status run(Communicator& group, const Settings& settings) {
  const auto link = measure_links(group);
  HEADWISE_TRY(link);
  const auto seconds = measure(group, settings);
  HEADWISE_TRY(seconds);
  if (group.rank() == 0) {
    std::printf(
        "{\"ranks\": %zu, \"length\": %zu, \"heads\": %zu, \"head_dim\": %zu, "
        "\"pass\": \"%s\", \"pieces\": %zu, \"chunk_keys\": %zu, "
        "\"bytes_per_second\": %.4g, \"latency_seconds\": %.3g, "
        "\"speedup\": %.3f, \"alone\": %s, \"together\": %s, \"each\": %s}\n",
        group.ranks(), settings.call.length, kHeads, kHeadDim,
        settings.call.backward ? "backward" : "forward", settings.call.pieces,
        settings.call.chunk_keys, link->bytes_per_second, link->latency_seconds,
        median_speedup(*seconds), list_of(seconds->alone).c_str(),
        list_of(seconds->together).c_str(), list_of(seconds->each).c_str());
  }
  return ok();
}

}  // namespace
}  // namespace headwise

int main(int argc, char** argv) {
  if (argc < 4 || argc > 6) {
    std::fputs(
        "expected LENGTH ROUNDS forward|backward [PIECES [CHUNK_KEYS]]\n",
        stderr);
    return 2;
  }
  const auto number = [&](int n, std::size_t otherwise) {
    return n < argc ? std::strtoull(argv[n], nullptr, 10) : otherwise;
  };
  const headwise::Settings settings = {
      .call = {.length = number(1, 0),
               .backward = std::string_view(argv[3]) == "backward",
               .pieces = number(4, 0),
               .chunk_keys = number(5, 3072)},
      .rounds = std::max<std::size_t>(number(2, 1), 1)};
  return headwise::mpi_main(argc, argv, [&](headwise::Communicator& group) {
    return headwise::run(group, settings);
  });
}
