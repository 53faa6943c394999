#include "pruned_times.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

namespace headwise::cli {
namespace {

constexpr std::size_t kRounds = 9;
constexpr std::size_t kSequences = 16;

double median(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

template <class Work>
Status timed(std::vector<double>& times, const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  const Status s = work();
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  times.push_back(took.count());
  return s;
}

// Sequences of words that are all there, whichever they are.
RaggedTokens tokens_of(std::size_t vocab_size, std::size_t length) {
  RaggedTokens ids(kSequences);
  for (std::size_t b = 0; b < ids.size(); ++b) {
    for (std::size_t t = 0; t < length; ++t) {
      ids[b].push_back(
          static_cast<TokenId>((7919 * (b * length + t)) % vocab_size));
    }
  }
  return ids;
}

struct MeasuredTimes {
  const Transformer& encoder;
  const RaggedTokens& ids;
  const Executor& executor;
  std::vector<std::int64_t> offsets = {0};
  Tensor<float, 3> x{};
  Tensor<float, 3> y{};

  Status attention() {
    AttentionOptions options;
    options.offsets = offsets;
    options.executor = &executor;
    const TensorView<const float, 3> in = x;
    for (std::size_t n = 0; n < encoder.shape().num_layers; ++n) {
      HEADWISE_TRY(encoder.attention(n).forward_into(in, in, in, y, options));
    }
    return ok();
  }

  Status model() {
    const auto done = encoder.hidden(ids, {.executor = &executor});
    return done ? ok() : Status(done.error());
  }
};

Result<MeasuredTimes> times_of(const Transformer& encoder,
                               const RaggedTokens& ids,
                               const Executor& executor) {
  MeasuredTimes measured{encoder, ids, executor};
  std::size_t rows = 0;
  for (const auto& sequence : ids) {
    rows += sequence.size();
    measured.offsets.push_back(static_cast<std::int64_t>(rows));
  }
  const std::size_t E = encoder.shape().hidden_size;
  HEADWISE_ASSIGN(auto x, Tensor<float, 3>::create({1, rows, E}));
  HEADWISE_ASSIGN(auto y, Tensor<float, 3>::create({1, rows, E}));
  RandomStream(Seed{1}, 1).fill_normal(x.elements());
  measured.x = std::move(x);
  measured.y = std::move(y);
  return measured;
}

}  // namespace

Result<PrunedTimes> measure_times(const Transformer& before,
                                  const Transformer& after, std::size_t tokens,
                                  const Executor& executor,
                                  const Progress& progress) {
  const RaggedTokens ids = tokens_of(before.shape().vocab_size, tokens);
  HEADWISE_ASSIGN(auto whole, times_of(before, ids, executor));
  HEADWISE_ASSIGN(auto pruned, times_of(after, ids, executor));
  const auto show = [&](std::size_t done) {
    if (progress) {
      progress(done, kRounds + 1);
    }
  };
  show(0);
  std::array<std::vector<double>, 4> times;
  for (std::size_t round = 0; round <= kRounds; ++round) {
    if (round == 1) {
      times = {};  // the first one takes its memory
    }
    for (const Status& s : {timed(times[0], [&] { return whole.attention(); }),
                            timed(times[1], [&] { return pruned.attention(); }),
                            timed(times[2], [&] { return whole.model(); }),
                            timed(times[3], [&] { return pruned.model(); })}) {
      HEADWISE_TRY(s);
    }
    show(round + 1);
  }
  return PrunedTimes{kSequences,
                     tokens,
                     kRounds,
                     {median(times[0]), median(times[1])},
                     {median(times[2]), median(times[3])}};
}

}  // namespace headwise::cli
