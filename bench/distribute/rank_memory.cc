// The memory of a rank beside that of one process, with all tensors of the
// call:
//   mpirun -n P rank_memory LENGTH forward|backward [PIECES [CHUNK_KEYS]]
//
// Rank 0 prints a line of JSON: the largest peak of any rank, the peak of one
// process that computes the whole call, and the size of two chunks of the pass
// that has larger ones, in bytes. What a process had before its tensors is left
// out: a small call first loads the code and makes MPI's own memory.
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mpi_main.h"
#include "rank_call.h"

namespace headwise {
namespace {

// Of /proc/self/status, in bytes.
std::uint64_t memory_of(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) {
      return 1024 * std::strtoull(line.c_str() + name.size(), nullptr, 10);
    }
  }
  return 0;
}

// The most memory that the process has while it works, beyond what it has now.
template <class Work>
Result<std::uint64_t> peak_of(const Work& work) {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
  const std::uint64_t before = memory_of("VmRSS:");
  HEADWISE_TRY(work());
  return memory_of("VmHWM:") - before;
}

Result<std::uint64_t> largest(Communicator& group, std::uint64_t own) {
  std::vector<std::uint64_t> all(group.rank() == 0 ? group.ranks() : 0);
  std::vector<std::span<std::byte>> parts;
  for (std::uint64_t& one : all) {
    parts.push_back(std::as_writable_bytes(std::span(&one, 1)));
  }
  HEADWISE_TRY(group.gather(std::as_bytes(std::span(&own, 1)), parts, 0));
  return all.empty() ? 0 : *std::ranges::max_element(all);
}

Status run_together(Communicator& group, const CallSettings& settings,
                    const ContextCall& call) {
  auto tensors =
      make_tensors(rows_of(call.plan.ranks[group.rank()]), settings.backward);
  HEADWISE_TRY(tensors);
  return together(group, call, *tensors, settings.backward);
}

Status run_alone(const CallSettings& settings,
                 const AttentionOptions& options) {
  auto tensors = make_tensors(settings.length, settings.backward);
  HEADWISE_TRY(tensors);
  return alone(*tensors, options, settings.backward);
}

Status warm_up(Communicator& group, CallSettings settings,
               const AttentionOptions& options) {
  settings.length = 2 * 384 * group.ranks();
  const auto call = call_of(group.ranks(), settings, options);
  HEADWISE_TRY(call);
  HEADWISE_TRY(run_together(group, settings, *call));
  return run_alone(settings, options);
}

// The larger of two chunks of keys and values, and of queries with what the
// backward pass needs of them. A chunk is not larger than a piece of the plan.
std::size_t two_chunks(const CallSettings& settings, const ShardPlan& plan) {
  constexpr std::size_t kKeyBytes = kHeads * 2 * kHeadDim * sizeof(float);
  constexpr std::size_t kQueryBytes =
      kHeads * (3 * kHeadDim + 2) * sizeof(float);
  std::size_t piece = 0;
  for (const RankShare& rank : plan.ranks) {
    for (const TokenPiece& of_rank : rank.queries) {
      piece = std::max(piece, of_rank.range.tokens);
    }
  }
  const std::size_t keys = std::min(piece, settings.chunk_keys) * kKeyBytes;
  // In whole blocks of 48, and no more bytes than chunk_keys keys.
  const std::size_t queries = settings.chunk_keys * kKeyBytes / kQueryBytes;
  return 2 *
         (settings.backward
              ? std::max(keys, std::min(piece, queries / 48 * 48) * kQueryBytes)
              : keys);
}

Status measure(Communicator& group, const CallSettings& settings) {
  const Executor one_thread = Executor::with_threads(1).value();
  const AttentionOptions options = {.mask = causal(), .executor = &one_thread};
  const auto call = call_of(group.ranks(), settings, options);
  HEADWISE_TRY(call);
  HEADWISE_TRY(warm_up(group, settings, options));
  const auto own =
      peak_of([&] { return run_together(group, settings, *call); });
  HEADWISE_TRY(own);
  const auto most = largest(group, *own);
  HEADWISE_TRY(most);
  if (group.rank() != 0) {
    return ok();
  }
  const auto one = peak_of([&] { return run_alone(settings, options); });
  HEADWISE_TRY(one);
  const std::size_t chunks = two_chunks(settings, call->plan);
  const double share =
      static_cast<double>(*most - std::min<std::uint64_t>(chunks, *most)) *
      static_cast<double>(group.ranks()) / static_cast<double>(*one);
  std::printf(
      "{\"ranks\": %zu, \"length\": %zu, \"pass\": \"%s\", "
      "\"rank_bytes\": %llu, \"one_process_bytes\": %llu, "
      "\"two_chunks_bytes\": %zu, \"share_without_chunks\": %.3f}\n",
      group.ranks(), settings.length,
      settings.backward ? "backward" : "forward",
      static_cast<unsigned long long>(*most),
      static_cast<unsigned long long>(*one), chunks, share);
  return ok();
}

}  // namespace
}  // namespace headwise

int main(int argc, char** argv) {
  if (argc < 3 || argc > 5) {
    std::fputs("expected LENGTH forward|backward [PIECES [CHUNK_KEYS]]\n",
               stderr);
    return 2;
  }
  const auto number = [&](int n, std::size_t otherwise) {
    return n < argc ? std::strtoull(argv[n], nullptr, 10) : otherwise;
  };
  const headwise::CallSettings settings = {
      .length = number(1, 0),
      .backward = std::string_view(argv[2]) == "backward",
      .pieces = number(3, 0),
      .chunk_keys = number(4, 3072)};
  return headwise::mpi_main(argc, argv, [&](headwise::Communicator& group) {
    return headwise::measure(group, settings);
  });
}
