// Causal attention by the processes of mpirun, one thread each, and by rank 0
// alone:
//   mpirun -n P rank_bench LENGTH ROUNDS forward|backward [PIECES [CHUNK_KEYS]]
//
// 8 heads of 64 features; `backward` is the forward and the backward pass
// together. PIECES of tokens per rank: 0 is the default of plan_shards(). In
// each round first rank 0 computes the whole call while the others wait, then
// all compute their parts. Rank 0 prints one line of JSON with the seconds of
// every round, or an error.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/headwise.h"
#include "headwise/io.h"

// After io.h: of a library of its own.
#include "headwise/distribute/mpi.h"

namespace headwise {
namespace {

constexpr std::size_t kHeads = 8;
constexpr std::size_t kHeadDim = 64;

struct Settings {
  std::size_t length;
  std::size_t rounds;
  bool backward;
  std::size_t pieces;
  std::size_t chunk_keys;
};

struct Tensors {
  Tensor<float, 4> query, key, value, output, d_output;
  Tensor<float, 4> rows;
  Tensor<float, 4> d_query, d_key, d_value;
};

Result<Tensor<float, 4>> random_rows(std::size_t rows, float seed) {
  auto tensor = Tensor<float, 4>::create({1, rows, kHeads, kHeadDim});
  HEADWISE_TRY(tensor);
  // Numbers without a rule: speed does not depend on them.
  std::uint64_t state = static_cast<std::uint64_t>(seed * 1000) + 1;
  for (float& x : tensor->elements()) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    x = static_cast<float>(state >> 40U) / 8388608.0F - 1;
  }
  return tensor;
}

Result<Tensors> make_tensors(std::size_t rows) {
  auto query = random_rows(rows, 1);
  auto key = random_rows(rows, 2);
  auto value = random_rows(rows, 3);
  auto d_output = random_rows(rows, 4);
  auto output = random_rows(rows, 0);
  auto d_query = random_rows(rows, 0);
  auto d_key = random_rows(rows, 0);
  auto d_value = random_rows(rows, 0);
  auto softmax_rows = Tensor<float, 4>::create({1, kHeads, rows, 2});
  for (const auto* tensor : {&query, &key, &value, &d_output, &output, &d_query,
                             &d_key, &d_value, &softmax_rows}) {
    HEADWISE_TRY(*tensor);
  }
  return Tensors{
      *std::move(query),   *std::move(key),      *std::move(value),
      *std::move(output),  *std::move(d_output), *std::move(softmax_rows),
      *std::move(d_query), *std::move(d_key),    *std::move(d_value)};
}

AttentionInputsOf<float> inputs_of(const Tensors& own) {
  return {own.query, own.key, own.value};
}
AttentionOutputs outputs_of(Tensors& own) {
  return {.output = own.output, .softmax_rows = own.rows};
}
BackwardInputs backward_inputs_of(const Tensors& own) {
  return {own.query, own.key, own.value, own.output, own.rows, own.d_output};
}
AttentionGradients gradients_of(Tensors& own) {
  return {.query = own.d_query, .key = own.d_key, .value = own.d_value};
}

Status alone(Tensors& whole, const AttentionOptions& options, bool backward) {
  HEADWISE_TRY(attention(whole.query, whole.key, whole.value, outputs_of(whole),
                         options));
  return backward ? attention_backward(backward_inputs_of(whole),
                                       gradients_of(whole), options)
                  : ok();
}

Status together(Communicator& group, const ContextCall& call, Tensors& own,
                bool backward) {
  HEADWISE_TRY(context_attention(group, call, inputs_of(own), outputs_of(own)));
  return backward ? context_attention_backward(
                        group, call, backward_inputs_of(own), gradients_of(own))
                  : ok();
}

// The seconds until all ranks are done.
template <class Work>
Result<double> timed(Communicator& group, const Work& work) {
  HEADWISE_TRY(group.barrier());
  const auto begin = std::chrono::steady_clock::now();
  HEADWISE_TRY(work());
  HEADWISE_TRY(group.barrier());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

Status measure(Communicator& group, const Settings& settings) {
  const Executor one_thread = Executor::with_threads(1).value();
  const AttentionOptions options = {.mask = causal(), .executor = &one_thread};
  auto plan = plan_shards({.ranks = group.ranks(),
                           .parallel = Parallel::context,
                           .sequences = {{settings.length, settings.length}},
                           .heads = kHeads,
                           .kv_heads = kHeads,
                           .band = KeyBand::causal(),
                           .pieces_per_rank = settings.pieces});
  HEADWISE_TRY(plan);
  std::size_t rows = 0;
  for (const TokenPiece& piece : plan->ranks[group.rank()].queries) {
    rows += piece.range.tokens;
  }
  auto own = make_tensors(rows);
  HEADWISE_TRY(own);
  auto whole = make_tensors(group.rank() == 0 ? settings.length : 0);
  HEADWISE_TRY(whole);
  const ContextCall call = {.tensors = {.B = 1,
                                        .Hq = kHeads,
                                        .Hkv = kHeads,
                                        .Lq = settings.length,
                                        .Lkv = settings.length,
                                        .D = kHeadDim,
                                        .Dv = kHeadDim},
                            .plan = *std::move(plan),
                            .options = options,
                            .keys = KeyTransport::chunks,
                            .chunk_keys = settings.chunk_keys};
  std::string alone_seconds;
  std::string together_seconds;
  std::vector<double> speedups;
  for (std::size_t round = 0; round < settings.rounds; ++round) {
    const auto one = timed(group, [&] {
      return group.rank() == 0 ? alone(*whole, options, settings.backward)
                               : ok();
    });
    HEADWISE_TRY(one);
    const auto all = timed(
        group, [&] { return together(group, call, *own, settings.backward); });
    HEADWISE_TRY(all);
    const char* const comma = round == 0 ? "" : ", ";
    alone_seconds += comma + std::to_string(*one);
    together_seconds += comma + std::to_string(*all);
    speedups.push_back(*one / *all);
  }
  std::ranges::sort(speedups);
  if (group.rank() == 0) {
    std::printf(
        "{\"ranks\": %zu, \"length\": %zu, \"pass\": \"%s\", \"pieces\": %zu, "
        "\"chunk_keys\": %zu, \"speedup\": %.3f, \"alone\": [%s], "
        "\"together\": [%s]}\n",
        group.ranks(), settings.length,
        settings.backward ? "backward" : "forward", settings.pieces,
        settings.chunk_keys, speedups[speedups.size() / 2],
        alone_seconds.c_str(), together_seconds.c_str());
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
      number(1, 0), std::max<std::size_t>(number(2, 1), 1),
      std::string_view(argv[3]) == "backward", number(4, 0), number(5, 3072)};
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  auto group = headwise::mpi_ranks();
  const headwise::Status status = group ? headwise::measure(**group, settings)
                                        : headwise::Status(group.error());
  if (!status) {
    std::fprintf(stderr, "%s\n", status.error().message().c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  group = std::unique_ptr<headwise::Communicator>();
  MPI_Finalize();
}
