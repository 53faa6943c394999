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

#include <optional>
#include <string>

#include "headwise/base/arithmetic.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/models/label_probe.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/train/accuracy.h"
#include "headwise/train/labelled_text.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

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
