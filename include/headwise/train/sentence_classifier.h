// A sentence classifier: an encoder, and the linear classifier of its
// embeddings, if its folder has one. It is read for training, so that it can be
// trained, scored and pruned.
//
// Example:
//   SentenceClassifier model = SentenceClassifier::read("minilm").value();
//   LabelledText text = read_labelled_text("train.tsv").value();
//   model.probe = train_probe(model.encoder, text).value();
//   Answers answers = answers_of(model.encoder, *model.probe, text).value();
//   answers.accuracy();
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headwise/base/arithmetic.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/models/label_probe.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/train/labelled_text.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Accuracy of a classifier, with 95% confidence intervals.
//
// Example:
//   Answers before = answers_of(encoder, probe, text).value();
//   Answers after = answers_of(pruned, probe, text).value();
//   AccuracyChange change = change_between(before, after);
//   change.high < 0;  // pruning made it worse

struct ConfidenceInterval {
  double low = 0;
  double high = 0;
};

// For each text, whether the model predicted its label.
struct Answers {
  std::vector<bool> right;

  // Of right answers.
  std::size_t count() const {
    return static_cast<std::size_t>(std::ranges::count(right, true));
  }
  // 0 to 1.
  double accuracy() const {
    return static_cast<double>(count()) / static_cast<double>(right.size());
  }
  // Wilson's score interval of the accuracy (Wilson 1927).
  ConfidenceInterval interval() const;
};

// How much higher the accuracy of `after` is on the same texts, with the
// interval for a difference of paired proportions.
struct AccuracyChange {
  double change = 0;
  double low = 0;
  double high = 0;
};
AccuracyChange change_between(const Answers& before, const Answers& after);

// A mean with Student's t interval, which has no width for a single value.
struct MeanWithInterval {
  double mean = 0;
  double low = 0;
  double high = 0;
};
MeanWithInterval mean_of(const std::vector<double>& values);

struct SentenceClassifier {
  SentenceEncoder encoder;
  std::optional<LabelProbe> probe;  // classifier.safetensors, if it is there

  // Errors: those of SentenceEncoder::read() and LabelProbe::read().
  // `arithmetic` is that of the encoder; the classifier is exact.
  static Result<SentenceClassifier> read(
      const std::string& folder, Arithmetic arithmetic = Arithmetic::exact);
};

// A classifier of the labels of `text`, trained on its embeddings; the encoder
// is unchanged. Errors: those of SentenceEncoder::encode() and
// LabelProbe::train(): invalid_argument for fewer than two labels.
// Ranks of a `group` compute the embeddings together, each with the same
// arguments; null: this process alone. Errors: also rank_failure.
Result<LabelProbe> train_probe(const SentenceEncoder& encoder,
                               const LabelledText& text,
                               const SentenceOptions& options = {},
                               Communicator* group = nullptr);

// For which texts the classifier predicts the label. `group` as above. Errors:
// those of targets_of() and SentenceEncoder::encode(); rank_failure.
Result<Answers> answers_of(const SentenceEncoder& encoder,
                           const LabelProbe& probe, const LabelledText& text,
                           const SentenceOptions& options = {},
                           Communicator* group = nullptr);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
