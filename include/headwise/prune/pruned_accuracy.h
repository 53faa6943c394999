// The accuracy of a classifier without some of its heads, and the largest
// number of heads that can be removed within a given drop.
//
// Errors: those of SentenceClassifier::read(), remove_heads() and answers_of().
//
// Example:
//   SentenceClassifier model = SentenceClassifier::read("topics").value();
//   ImportanceFile scores = read_importance("scores.json").value();
//   const std::vector<HeadId>& order = scores.importance.order;
//   PrunedAccuracy accuracy("topics", *model.probe, text);
//   std::size_t count = most_heads_within(0.01, order, accuracy).value();
//   Status s = remove_heads(model.encoder.encoder(),
//                           std::span(order).first(count));
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "headwise/base/hidden.h"
#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/interop/journal.h"
#include "headwise/models/label_probe.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/prune/importance.h"
#include "headwise/prune/remove_heads.h"
#include "headwise/run/reports.h"
#include "headwise/train/labelled_text.h"
#include "headwise/train/sentence_classifier.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class PrunedAccuracy {
 public:
  // For the model in `folder`, measured on `text`. `probe`, `text` and the
  // executor in the options must outlive this object.
  PrunedAccuracy(std::string folder, const LabelProbe& probe,
                 const LabelledText& text, const SentenceOptions& options = {},
                 ConstantPart constant = ConstantPart::into_bias);

  // Keeps all answers in this journal from now on, and uses those in it from an
  // interrupted run. If the journal cannot be written, the run goes on without
  // it. Errors: out_of_memory.
  Status keep_in(Journal journal);

  // The answers of the model without the first `count` heads of `order`; `name`
  // distinguishes orders. The same name and count are computed only once. If
  // the counts of an order increase from call to call, the model is read only
  // once.
  HEADWISE_HIDDEN Result<Answers> without(const std::vector<HeadId>& order,
                                          std::size_t count,
                                          const std::string& name = "scores");

  // Call this once the results are saved.
  void remove_journal() const;

 private:
  class HEADWISE_HIDDEN State;
  Hidden<State> state_;
};

// The largest number of heads of `order`, from its beginning, without which the
// accuracy is at most `drop` below that with all, both from 0 to 1. The search
// goes up in steps of a twentieth to the first count beyond the drop, then by
// single heads below it. `measured` is called with each count and its accuracy.
Result<std::size_t> most_heads_within(
    double drop, const std::vector<HeadId>& order, PrunedAccuracy& accuracy,
    const std::function<void(std::size_t, double)>& measured = {});

// How accuracy falls as heads are removed, in the order of their scores and in
// random orders to compare with.
//
// Errors: those of PrunedAccuracy.
//
// Example:
//   PrunedAccuracy accuracy("topics", *model.probe, text);
//   auto curve = accuracy_curve(order, accuracy, {.random_orders = 10});
//   curve->back().by_score.accuracy();  // with 90% of the heads removed
//   mean_of(curve->back().random).mean;

// The accuracy with some number of heads removed.
struct CurvePoint {
  std::size_t removed = 0;
  Answers by_score;            // in the order of the scores
  std::vector<double> random;  // the accuracy in each random order
};

struct AccuracyCurveOptions {
  std::size_t random_orders = 0;
  Seed seed{};          // of the random orders
  Progress progress{};  // counts points
};

// 10 points, from none to 90% of the heads removed.
Result<std::vector<CurvePoint>> accuracy_curve(
    const std::vector<HeadId>& order, PrunedAccuracy& accuracy,
    const AccuracyCurveOptions& options = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
