#include "headwise/prune/pruned_accuracy.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "base/out_of_memory.h"
#include "headwise/json/json.h"
#include "headwise/train/sentence_classifier.h"
#include "prune/most_heads.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

std::string digits_of(const Answers& answers) {
  std::string digits;
  for (const bool right : answers.right) {
    digits += right ? '1' : '0';
  }
  return digits;
}

}  // namespace

class PrunedAccuracy::State {
 public:
  State(std::string folder, const LabelProbe& probe, const LabelledText& text,
        const SentenceOptions& options, ConstantPart constant)
      : folder_(std::move(folder)),
        probe_(probe),
        text_(text),
        options_(options),
        constant_(constant) {}

  void keep_in(Journal journal);
  Result<Answers> without(const std::vector<HeadId>& order, std::size_t count,
                          const std::string& name);
  const std::optional<Journal>& journal() const { return journal_; }

 private:
  Result<Answers> compute(const std::vector<HeadId>& order, std::size_t count);
  void keep_all();

  std::string folder_;
  const LabelProbe& probe_;
  const LabelledText& text_;
  SentenceOptions options_;
  ConstantPart constant_;
  // The model that was pruned last, and the heads that it lost: more heads of
  // the same order can be removed from it.
  std::optional<SentenceClassifier> model_;
  std::vector<HeadId> gone_;
  std::optional<Journal> journal_;
  std::map<std::string, std::string> done_;  // "110..", one digit per text
};

void PrunedAccuracy::State::keep_in(Journal journal) {
  journal_ = std::move(journal);
  const auto state = journal_->state();
  for (std::size_t n = 0; state && state->is_object() && n < state->size();
       ++n) {
    std::string digits;
    if ((*state)[n].get(digits)) {
      done_[state->key(n)] = digits;
    }
  }
}

Result<Answers> PrunedAccuracy::State::compute(const std::vector<HeadId>& order,
                                               std::size_t count) {
  const bool continues = model_ && gone_.size() <= count &&
                         std::equal(gone_.begin(), gone_.end(), order.begin());
  if (!continues) {
    HEADWISE_ASSIGN(model_, SentenceClassifier::read(folder_));
    gone_.clear();
  }
  gone_.reserve(count);  // cannot fail once the heads are removed
  const auto more =
      std::span(order).subspan(gone_.size(), count - gone_.size());
  if (Status s = remove_heads(model_->encoder.encoder(), more, constant_); !s) {
    model_.reset();
    return s.error();
  }
  gone_.assign(order.begin(),
               order.begin() + static_cast<std::ptrdiff_t>(count));
  return answers_of(model_->encoder, probe_, text_, options_);
}

// Without a journal an interrupted run starts again: no reason to end this one.
void PrunedAccuracy::State::keep_all() {
  if (!journal_) {
    return;
  }
  Json state = Json::object();
  for (const auto& [name_and_count, digits] : done_) {
    state[name_and_count] = digits;
  }
  static_cast<void>(journal_->keep(state));
}

Result<Answers> PrunedAccuracy::State::without(const std::vector<HeadId>& order,
                                               std::size_t count,
                                               const std::string& name) {
  const std::string key = name + " " + std::to_string(count);
  if (const auto found = done_.find(key);
      found != done_.end() && found->second.size() == text_.texts.size()) {
    Answers answers;
    std::ranges::transform(found->second, std::back_inserter(answers.right),
                           [](char digit) { return digit == '1'; });
    return answers;
  }
  HEADWISE_ASSIGN(auto answers, compute(order, count));
  done_[key] = digits_of(answers);
  keep_all();
  return answers;
}

PrunedAccuracy::PrunedAccuracy(std::string folder, const LabelProbe& probe,
                               const LabelledText& text,
                               const SentenceOptions& options,
                               ConstantPart constant)
    : state_(std::make_unique<State>(std::move(folder), probe, text, options,
                                     constant)) {}
Status PrunedAccuracy::keep_in(Journal journal) {
  return catching_out_of_memory([&] {
    state_->keep_in(std::move(journal));
    return ok();
  });
}

Result<Answers> PrunedAccuracy::without(const std::vector<HeadId>& order,
                                        std::size_t count,
                                        const std::string& name) {
  return catching_out_of_memory(
      [&] { return state_->without(order, count, name); });
}

void PrunedAccuracy::remove_journal() const {
  if (state_->journal()) {
    state_->journal()->remove();
  }
}

Result<std::size_t> most_heads_within(
    double drop, std::size_t total,
    const std::function<Result<double>(std::size_t)>& accuracy_without) {
  constexpr std::size_t kSteps = 20;
  const std::size_t step = std::max<std::size_t>(1, total / kSteps);
  HEADWISE_ASSIGN(const auto whole, accuracy_without(0));
  // A rounding error in the difference is not a drop.
  const double least = whole - drop - 1e-9;
  std::size_t within = 0;
  for (std::size_t size = step; size != 0; size = size == 1 ? 0 : 1) {
    for (std::size_t n = within + size; n <= total; n += size) {
      HEADWISE_ASSIGN(const auto accuracy, accuracy_without(n));
      if (accuracy < least) {
        break;
      }
      within = n;
    }
  }
  return within;
}

Result<std::size_t> most_heads_within(
    double drop, const std::vector<HeadId>& order, PrunedAccuracy& accuracy,
    const std::function<void(std::size_t, double)>& measured) try {
  return most_heads_within(
      drop, order.size(), [&](std::size_t count) -> Result<double> {
        HEADWISE_ASSIGN(const auto answers, accuracy.without(order, count));
        if (measured) {
          measured(count, answers.accuracy());
        }
        return answers.accuracy();
      });
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
