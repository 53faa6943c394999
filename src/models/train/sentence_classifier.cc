#include "headwise/train/sentence_classifier.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/out_of_memory.h"
#include "distribute/or_tell.h"
#include "train/ranked_embeddings.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

const Executor& executor_of(const SentenceOptions& options) {
  return options.executor ? *options.executor : Executor::default_executor();
}

}  // namespace

Result<SentenceClassifier> SentenceClassifier::read(const std::string& folder,
                                                    Arithmetic arithmetic) try {
  HEADWISE_ASSIGN(auto encoder,
                  SentenceEncoder::read(folder, {.use = ModelUse::training,
                                                 .arithmetic = arithmetic}));
  HEADWISE_ASSIGN(auto probe,
                  LabelProbe::read(folder, encoder.embedding_size()));
  return SentenceClassifier{std::move(encoder), std::move(probe)};
} catch (...) {
  return caught_out_of_memory();
}

Result<LabelProbe> train_probe(const SentenceEncoder& encoder,
                               const LabelledText& text,
                               const SentenceOptions& options,
                               Communicator* group) {
  return or_tell(group, [&]() -> Result<LabelProbe> {
    std::vector<std::string> labels = distinct_labels(text);
    HEADWISE_ASSIGN(const auto targets, targets_of(text, labels));
    HEADWISE_ASSIGN(const auto embeddings,
                    ranked_embeddings(group, encoder, text.texts, options));
    std::optional<LabelProbe> probe;
    const Status done = busy_with(group, [&]() -> Status {
      HEADWISE_ASSIGN(probe,
                      LabelProbe::train(embeddings.view(),
                                        TensorView<const std::int64_t, 1>(
                                            targets.data(), {targets.size()}),
                                        std::move(labels),
                                        {.executor = &executor_of(options)}));
      return ok();
    });
    HEADWISE_TRY(done);
    return *std::move(probe);
  });
}

Result<Answers> answers_of(const SentenceEncoder& encoder,
                           const LabelProbe& probe, const LabelledText& text,
                           const SentenceOptions& options,
                           Communicator* group) {
  return or_tell(group, [&]() -> Result<Answers> {
    HEADWISE_ASSIGN(const auto targets, targets_of(text, probe.labels()));
    HEADWISE_ASSIGN(const auto embeddings,
                    ranked_embeddings(group, encoder, text.texts, options));
    HEADWISE_ASSIGN(const auto logits,
                    probe.logits(embeddings.view(), executor_of(options)));
    Answers answers;
    for (std::size_t n = 0; n < targets.size(); ++n) {
      answers.right.push_back(predicted_label(logits.view(), n) ==
                              static_cast<std::size_t>(targets[n]));
    }
    return answers;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
