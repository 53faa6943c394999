#include "train/same_run.h"

#include <span>
#include <vector>

#include "base/check.h"
#include "headwise/interop/sha256.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Of tokens and targets; data of one digest may be cut at different lengths.
std::string sha256_of_examples(const ClassifierExamples& examples) {
  std::vector<std::span<const std::byte>> pieces;
  for (const auto& ids : examples.ids) {
    pieces.push_back(std::as_bytes(std::span(ids)));
  }
  pieces.push_back(std::as_bytes(std::span(examples.targets)));
  return sha256_of(pieces);
}

}  // namespace

std::string sha256_of_params(const std::map<std::string, AnyView>& params) {
  std::vector<std::span<const std::byte>> pieces;
  for (const auto& [name, view] : params) {
    pieces.push_back(std::as_bytes(std::span(name)));
    pieces.push_back(std::as_bytes(
        std::span(static_cast<const float*>(view.data()), view.size())));
  }
  return sha256_of(pieces);
}

std::string description(const ClassifierSettings& settings,
                        const std::string& model, const LabelProbe& probe,
                        const ClassifierExamples& examples) {
  const std::string classifier =
      sha256_of_params({{kClassifierWeight, probe.linear().weight()},
                        {kClassifierBias, probe.linear().bias()}});
  const std::string in =
      settings.arithmetic == Arithmetic::exact
          ? ""
          : " (" + std::string(name_of(settings.arithmetic)) + ")";
  return "model " + model + in + ", classifier " + classifier + ", data " +
         examples.sha256 + ", " + std::to_string(examples.ids.size()) +
         " examples " + sha256_of_examples(examples) + ", batch " +
         std::to_string(settings.batch) + ", epochs " +
         std::to_string(settings.epochs) + ", learning_rate " +
         number_text(settings.learning_rate, 17) + ", max_tokens " +
         std::to_string(settings.max_tokens) + ", seed " +
         std::to_string(settings.seed.value);
}

std::string description(const Checkpoint& checkpoint) {
  std::map<std::string, AnyView> numbers;
  for (const auto& [name, values] : checkpoint.optimizer.values) {
    numbers.emplace("optimizer/" + name, values.view());
  }
  for (const auto& [name, array] : checkpoint.params) {
    numbers.emplace("param/" + name, array.view());
  }
  return "step " + std::to_string(checkpoint.step) + ", numbers " +
         sha256_of_params(numbers);
}

}  // namespace headwise::inline HEADWISE_ABI
