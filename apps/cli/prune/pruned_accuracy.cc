#include "pruned_accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace headwise::cli {
namespace {

std::string digits_of(const Answers& answers) {
  std::string digits;
  for (const bool right : answers.right) {
    digits += right ? '1' : '0';
  }
  return digits;
}

}  // namespace

Result<Answers> PrunedAccuracy::compute(const std::vector<HeadId>& order,
                                        std::size_t count) {
  const bool goes_on = model_ && gone_.size() <= count &&
                       std::equal(gone_.begin(), gone_.end(), order.begin());
  if (!goes_on) {
    auto model = read_learned_model(folder_);
    HEADWISE_TRY(model);
    model_ = *std::move(model);
    gone_.clear();
  }
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

Result<Answers> PrunedAccuracy::without(const std::vector<HeadId>& order,
                                        std::size_t count,
                                        const std::string& name,
                                        Journal& journal) {
  if (done_.empty()) {
    if (const auto state = journal.state(); state && state->is_object()) {
      for (std::size_t n = 0; n < state->size(); ++n) {
        std::string digits;
        if ((*state)[n].get(digits)) {
          done_[state->key(n)] = digits;
        }
      }
    }
  }
  const std::string key = fmt::format("{} {}", name, count);
  if (const auto found = done_.find(key);
      found != done_.end() && found->second.size() == text_.texts.size()) {
    Answers answers;
    std::ranges::transform(found->second, std::back_inserter(answers.right),
                           [](char digit) { return digit == '1'; });
    return answers;
  }
  auto answers = compute(order, count);
  if (answers) {
    done_[key] = digits_of(*answers);
    Json state = Json::object();
    for (const auto& [name_and_count, digits] : done_) {
      state[name_and_count] = digits;
    }
    HEADWISE_TRY(journal.keep(state));
  }
  return answers;
}

}  // namespace headwise::cli
