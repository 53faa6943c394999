// A model's folder read to be trained, scored or pruned: the encoder, the
// classifier that may be next to it, and how well the two find labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/models/label_probe.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/run/executor.h"
#include "headwise/run/progress.h"
#include "labelled_text.h"

namespace headwise::cli {

struct LearnedModel {
  SentenceEncoder encoder;          // BertUse::training
  std::optional<LabelProbe> probe;  // classifier.safetensors
};

// Errors: those of SentenceEncoder::read() and LabelProbe::read().
Result<LearnedModel> read_learned_model(const std::string& folder);

// What tells a model's parameters from any others: the SHA-256 of their file,
// of several the digest of theirs. Errors: io_error, and those of opening them.
Result<std::string> digest_of_model(const SentenceEncoder& encoder);

// The same of all that its results depend on: parameters, settings, vocabulary
// and classifier, each with its name.
Result<std::string> digest_of_folder(const std::string& folder,
                                     const SentenceEncoder& encoder);

// How texts are taken.
struct TextOptions {
  std::optional<std::size_t> max_tokens{};
  const Executor* executor = nullptr;
  Progress progress{};  // counts texts
};

// A probe of the labels of `text`, trained on its embeddings.
Result<LabelProbe> train_probe(const SentenceEncoder& encoder,
                               const LabelledText& text,
                               const TextOptions& options);

// Which texts a model found the label of.
struct Answers {
  std::vector<bool> right;

  std::size_t count() const;
  double accuracy() const;
  // The interval that holds the accuracy of 95 of 100 such samples (Wilson
  // 1927).
  std::pair<double, double> interval() const;
};

// Errors: those of targets_of() and SentenceEncoder::encode().
Result<Answers> answers_of(const SentenceEncoder& encoder,
                           const LabelProbe& probe, const LabelledText& text,
                           const TextOptions& options);

// By how much the accuracy of `after` is higher, on the same texts, and the
// interval of 95 of 100 (of the difference of paired proportions).
struct AccuracyChange {
  double change = 0;
  double low = 0;
  double high = 0;
};
AccuracyChange change_between(const Answers& before, const Answers& after);

// "93.4% (92.1 to 94.5)"
std::string accuracy_text(const Answers& answers);

}  // namespace headwise::cli
