// Steps of training a sentence classifier by the processes of mpirun, one
// thread each, and by rank 0 alone:
//   mpirun -n P train_bench FOLDER ROUNDS STEPS [TOKENS]
//
// Rank 0 writes a model of random parameters to FOLDER, of the sizes of
// all-MiniLM-L6-v2. Batches of 16 texts have TOKENS (32) each on average, from
// half to one and a half of that. In each round first rank 0 takes STEPS steps
// while the others wait, then all take the same steps together. Rank 0 prints
// one line of JSON with the seconds of every round, or an error; losses that
// differ are an error.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headwise/headwise.h"
#include "headwise/io.h"
#include "mpi_main.h"

namespace headwise {
namespace {

constexpr std::size_t kVocabulary = 30522;
constexpr std::size_t kPositions = 512;
constexpr std::size_t kHidden = 384;
constexpr std::size_t kIntermediate = 1536;
constexpr std::size_t kLayers = 6;
constexpr std::size_t kBatch = 16;

struct Settings {
  std::string folder;
  std::size_t rounds;
  std::size_t steps;
  std::size_t tokens;
};

class RandomModel {
 public:
  RandomModel() {
    const std::string embeddings = "embeddings.";
    add(embeddings + "word_embeddings.weight", {kVocabulary, kHidden});
    add(embeddings + "position_embeddings.weight", {kPositions, kHidden});
    add(embeddings + "token_type_embeddings.weight", {2, kHidden});
    add_norm(embeddings + "LayerNorm");
    for (std::size_t n = 0; n < kLayers; ++n) {
      const std::string layer = "encoder.layer." + std::to_string(n) + ".";
      for (const char* const name : {"query", "key", "value"}) {
        add_linear(layer + "attention.self." + name, kHidden, kHidden);
      }
      add_linear(layer + "attention.output.dense", kHidden, kHidden);
      add_norm(layer + "attention.output.LayerNorm");
      add_linear(layer + "intermediate.dense", kIntermediate, kHidden);
      add_linear(layer + "output.dense", kHidden, kIntermediate);
      add_norm(layer + "output.LayerNorm");
    }
  }

  Status write(const std::string& folder) const {
    std::ofstream(folder + "/config.json")
        << R"({"model_type": "bert", "vocab_size": 30522, "hidden_size": 384,
               "num_hidden_layers": 6, "num_attention_heads": 12,
               "intermediate_size": 1536, "max_position_embeddings": 512,
               "type_vocab_size": 2, "layer_norm_eps": 1e-12,
               "hidden_act": "gelu"})";
    std::ofstream(folder + "/vocab.txt")
        << "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    std::map<std::string, AnyView> views;
    for (const auto& [name, param] : params_) {
      if (param.extent(0) == 1) {
        views.emplace(
            name, TensorView<const float, 1>(param.data(), {param.extent(1)}));
      } else {
        views.emplace(name, param.view());
      }
    }
    return write_safetensors(folder + "/model.safetensors", views);
  }

 private:
  void add(const std::string& name, Extents<2> extents, double around = 0) {
    auto param = Tensor<float, 2>::create(extents).value();
    RandomStream(Seed{1}, ++stream_)
        .fill_uniform(param.elements(), around - 0.06, around + 0.06);
    params_.emplace(name, std::move(param));
  }
  void add_norm(const std::string& name) {
    add(name + ".weight", {1, kHidden}, 1);
    add(name + ".bias", {1, kHidden});
  }
  void add_linear(const std::string& name, std::size_t out, std::size_t in) {
    add(name + ".weight", {out, in});
    add(name + ".bias", {1, out});
  }

  std::map<std::string, Tensor<float, 2>> params_;
  std::uint32_t stream_ = 100;
};

ClassifierExamples random_examples(const Settings& settings) {
  ClassifierExamples examples;
  std::uint64_t state = 7;
  const auto below = [&](std::size_t most) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state >> 33U) % most;
  };
  for (std::size_t n = 0; n < settings.rounds * settings.steps * kBatch; ++n) {
    auto& ids = examples.ids.emplace_back();
    ids.resize(settings.tokens / 2 + below(settings.tokens + 1));
    for (TokenId& id : ids) {
      id = static_cast<TokenId>(below(kVocabulary));
    }
    examples.targets.push_back(static_cast<std::int64_t>(n % 2));
  }
  return examples;
}

Result<ClassifierRun> start(const Settings& settings, Communicator* group) {
  auto encoder =
      SentenceEncoder::read(settings.folder, {.use = ModelUse::training});
  HEADWISE_TRY(encoder);
  auto probe = LabelProbe::create(encoder->embedding_size(), {"a", "b"});
  HEADWISE_TRY(probe);
  return ClassifierRun::create({.batch = kBatch, .epochs = 1},
                               *std::move(encoder), *std::move(probe),
                               random_examples(settings), group);
}

// The seconds of the steps, until all ranks are done.
Result<double> timed(Communicator& group, ClassifierRun* run,
                     std::size_t steps) {
  const Executor one_thread = Executor::with_threads(1).value();
  HEADWISE_TRY(group.barrier());
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t n = 0; run != nullptr && n < steps; ++n) {
    HEADWISE_TRY(run->step(one_thread));
  }
  HEADWISE_TRY(group.barrier());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

Status measure(Communicator& group, const Settings& settings) {
  const bool is_first = group.rank() == 0;
  HEADWISE_TRY(
      group.agree(is_first ? RandomModel().write(settings.folder) : ok()));
  auto together = start(settings, &group);
  HEADWISE_TRY(together);
  std::optional<ClassifierRun> alone;
  if (is_first) {
    auto run = start(settings, nullptr);
    HEADWISE_TRY(run);
    alone = *std::move(run);
  }
  std::string alone_seconds;
  std::string together_seconds;
  std::vector<double> speedups;
  for (std::size_t round = 0; round < settings.rounds; ++round) {
    const auto one = timed(group, alone ? &*alone : nullptr, settings.steps);
    HEADWISE_TRY(one);
    const auto all = timed(group, &*together, settings.steps);
    HEADWISE_TRY(all);
    const char* const comma = round == 0 ? "" : ", ";
    alone_seconds += comma + std::to_string(*one);
    together_seconds += comma + std::to_string(*all);
    speedups.push_back(*one / *all);
  }
  if (!is_first) {
    return ok();
  }
  if (alone->losses() != together->losses()) {
    return Error(ErrorCode::bad_data, {.given = "the losses differ"});
  }
  std::ranges::sort(speedups);
  std::printf(
      "{\"ranks\": %zu, \"pass\": \"train\", \"tokens\": %zu, \"steps\": %zu, "
      "\"speedup\": %.3f, \"alone\": [%s], \"together\": [%s]}\n",
      group.ranks(), settings.tokens, settings.steps,
      speedups[speedups.size() / 2], alone_seconds.c_str(),
      together_seconds.c_str());
  return ok();
}

}  // namespace
}  // namespace headwise

int main(int argc, char** argv) {
  if (argc < 4 || argc > 5) {
    std::fputs("expected FOLDER ROUNDS STEPS [TOKENS]\n", stderr);
    return 2;
  }
  const auto number = [&](int n, std::size_t otherwise) {
    return n < argc
               ? std::max<std::size_t>(std::strtoull(argv[n], nullptr, 10), 1)
               : otherwise;
  };
  const headwise::Settings settings = {argv[1], number(2, 1), number(3, 1),
                                       number(4, 32)};
  return headwise::mpi_main(argc, argv, [&](headwise::Communicator& group) {
    return headwise::measure(group, settings);
  });
}
