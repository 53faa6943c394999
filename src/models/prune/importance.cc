#include "headwise/prune/importance.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "base/check.h"
#include "base/out_of_memory.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kImportance = "importance";

constexpr std::uint32_t kRandomStream = 7;

// Whether the model can do what the method asks of it.
bool has_what(const GatedModel& model, ImportanceMethod method) {
  switch (method) {
    case ImportanceMethod::gradient:
    case ImportanceMethod::fisher:
      return model.gradients != nullptr;
    case ImportanceMethod::ablation:
      return model.losses != nullptr;
    case ImportanceMethod::entropy:
    case ImportanceMethod::confidence:
      return model.means != nullptr;
    case ImportanceMethod::random:
      break;
  }
  return true;
}

Status check_examples(const GatedModel& model,
                      const ImportanceOptions& options) {
  const bool any = std::ranges::any_of(
      model.heads, [](const auto& layer) { return !layer.empty(); });
  if (!any) {
    return argument_error(kImportance, "model", "has no heads", "at least 1");
  }
  if (options.method != ImportanceMethod::random && model.examples == 0) {
    return argument_error(kImportance, "model.examples", "is 0", "at least 1");
  }
  if (!has_what(model, options.method)) {
    return value_error(kImportance, "method",
                       std::string(name_of(options.method)),
                       "a method the model supports");
  }
  if (options.share_a_round &&
      !(*options.share_a_round > 0 && *options.share_a_round <= 1)) {
    return value_error(kImportance, "share_a_round",
                       number_text(*options.share_a_round),
                       "a number above 0 and at most 1");
  }
  return check_at_least_one(kImportance, "batch", options.batch);
}

}  // namespace

ImportanceRun::ImportanceRun(GatedModel model, const ImportanceOptions& options,
                             std::vector<Tensor<float, 1>> gates)
    : model_(std::move(model)), options_(options), gates_(std::move(gates)) {
  for (std::size_t n = 0; n < model_.heads.size(); ++n) {
    const std::size_t count = model_.heads[n].size();
    for (std::size_t at = 0; at < count; ++at) {
      heads_.push_back({n, at, heads_.size()});
    }
    state_.scores.emplace_back(count);
  }
  state_.sums.assign(1 + heads_.size(), 0);
  steps_ = count_steps();
}

Result<ImportanceRun> ImportanceRun::create(GatedModel model,
                                            const ImportanceOptions& options) {
  return catching_out_of_memory([&]() -> Result<ImportanceRun> {
    HEADWISE_TRY(check_examples(model, options));
    std::vector<Tensor<float, 1>> gates;
    for (const auto& layer : model.heads) {
      HEADWISE_ASSIGN(auto made, Tensor<float, 1>::create({layer.size()}));
      gates.push_back(std::move(made));
    }
    return ImportanceRun(std::move(model), options, std::move(gates));
  });
}

// ---- Steps and rounds. ----

std::size_t ImportanceRun::batches() const {
  return model_.examples / options_.batch +
         (model_.examples % options_.batch == 0 ? 0 : 1);
}

std::size_t ImportanceRun::steps_of_round(std::size_t live) const {
  switch (options_.method) {
    case ImportanceMethod::random:
      return 1;
    case ImportanceMethod::ablation:
      return batches() * (1 + live);
    default:
      return batches();
  }
}

std::size_t ImportanceRun::turned_off_in_round(std::size_t live) const {
  if (!options_.share_a_round) {
    return live;
  }
  const double share =
      *options_.share_a_round * static_cast<double>(heads_.size());
  return std::min(
      live, static_cast<std::size_t>(std::max(1.0, std::floor(share + 0.5))));
}

std::size_t ImportanceRun::count_steps() const {
  std::size_t steps = 0;
  for (std::size_t live = heads_.size(); live != 0;
       live -= turned_off_in_round(live)) {
    steps += steps_of_round(live);
  }
  return steps;
}

std::vector<ImportanceRun::Place> ImportanceRun::live() const {
  std::vector<Place> places;
  for (const Place& place : heads_) {
    const HeadId id{place.layer, model_.heads[place.layer][place.at]};
    if (std::ranges::find(state_.order, id) == state_.order.end()) {
      places.push_back(place);
    }
  }
  return places;
}

void ImportanceRun::set_gates() {
  for (auto& layer : gates_) {
    std::ranges::fill(layer.elements(), 0.0f);
  }
  for (const Place& place : live()) {
    gates_[place.layer](place.at) = 1;
  }
}

Status ImportanceRun::step() {
  return catching_out_of_memory([&]() -> Status {
    if (state_.done == steps_) {
      return ok();
    }
    set_gates();  // anew: a step that failed may have left them
    const bool is_last = state_.in_round + 1 == steps_of_round(live().size());
    std::vector<double> before = state_.sums;
    HEADWISE_TRY(add_batch());
    if (!is_last) {
      ++state_.in_round;
    } else if (Status s = catching_out_of_memory([&] { return end_round(); });
               !s) {
      state_.sums = std::move(before);
      return s;
    }
    ++state_.done;
    return ok();
  });
}

Status ImportanceRun::add_batch() {
  const std::size_t batch =
      state_.in_round % std::max<std::size_t>(1, batches());
  const std::size_t begin = batch * options_.batch;
  const std::size_t end = std::min(begin + options_.batch, model_.examples);
  switch (options_.method) {
    case ImportanceMethod::gradient:
    case ImportanceMethod::fisher:
      return add_gradients(begin, end);
    case ImportanceMethod::entropy:
    case ImportanceMethod::confidence:
      return add_means(begin, end);
    case ImportanceMethod::ablation:
      return add_losses(begin, end);
    case ImportanceMethod::random:
      break;
  }
  return ok();
}

// sums[0] is the loss of all; sums[1 + n] is of head n.
Status ImportanceRun::add_gradients(std::size_t begin, std::size_t end) {
  HEADWISE_ASSIGN(const auto gradients, model_.gradients(begin, end, gates_));
  const bool squared = options_.method == ImportanceMethod::fisher;
  for (std::size_t n = 0; n < heads_.size(); ++n) {
    const auto& [layer, at, number] = heads_[n];
    for (std::size_t x = 0; x < end - begin; ++x) {
      const double g = gradients[layer](x, at);
      state_.sums[1 + number] += squared ? g * g : std::abs(g);
    }
  }
  return ok();
}

Status ImportanceRun::add_means(std::size_t begin, std::size_t end) {
  HEADWISE_ASSIGN(const auto means, model_.means(begin, end, gates_));
  const bool entropy = options_.method == ImportanceMethod::entropy;
  for (std::size_t n = 0; n < heads_.size(); ++n) {
    const auto& [layer, at, number] = heads_[n];
    for (std::size_t x = 0; x < end - begin; ++x) {
      state_.sums[1 + number] +=
          entropy ? -static_cast<double>(means.entropy[layer](x, at))
                  : static_cast<double>(means.largest[layer](x, at));
    }
  }
  return ok();
}

// The batches with all heads, then those without each head.
Status ImportanceRun::add_losses(std::size_t begin, std::size_t end) {
  const std::size_t turn = state_.in_round / batches();
  std::size_t sum = 0;
  if (turn != 0) {
    const Place place = live()[turn - 1];
    gates_[place.layer](place.at) = 0;
    sum = 1 + place.number;
  }
  HEADWISE_ASSIGN(const auto losses, model_.losses(begin, end, gates_));
  for (const double loss : losses) {
    state_.sums[sum] += loss;
  }
  return ok();
}

// ---- Scores. ----

std::vector<double> ImportanceRun::means_of_round(
    const std::vector<Place>& places) const {
  std::vector<float> random(heads_.size());
  RandomStream(options_.seed, kRandomStream).fill_uniform(random, 0, 1);
  const auto examples = static_cast<double>(model_.examples);
  std::vector<double> means;
  for (const Place& place : places) {
    means.push_back(options_.method == ImportanceMethod::random
                        ? static_cast<double>(random[place.number])
                        : state_.sums[1 + place.number] / examples);
    if (options_.method == ImportanceMethod::ablation) {
      means.back() -= state_.sums[0] / examples;
    }
  }
  return means;
}

Status ImportanceRun::check_finite(const std::vector<Place>& places,
                                   const std::vector<double>& scores) const {
  for (std::size_t n = 0; n < places.size(); ++n) {
    const auto& [layer, at, number] = places[n];
    if (!std::isfinite(scores[n])) {
      return argument_error(
          kImportance, "model",
          message("gives head {}.{} the score {}", layer,
                  model_.heads[layer][at], number_text(scores[n])),
          "a finite number", ErrorCode::out_of_range);
    }
  }
  return ok();
}

// By the Euclidean norm over the heads of each layer.
void ImportanceRun::divide_by_norms(const std::vector<Place>& places,
                                    std::vector<double>& scores) {
  std::map<std::size_t, double> squares;  // by layer
  for (std::size_t n = 0; n < scores.size(); ++n) {
    squares[places[n].layer] += scores[n] * scores[n];
  }
  for (std::size_t n = 0; n < scores.size(); ++n) {
    const double norm = std::sqrt(squares[places[n].layer]);
    scores[n] = norm > 0 ? scores[n] / norm : 0;
  }
}

// The lowest scores are turned off. After an error nothing has changed.
Status ImportanceRun::end_round() {
  const std::vector<Place> places = live();
  std::vector<double> scores = means_of_round(places);
  HEADWISE_TRY(check_finite(places, scores));
  if (options_.method == ImportanceMethod::gradient) {
    divide_by_norms(places, scores);
  }
  std::vector<std::size_t> by_score(places.size());
  std::iota(by_score.begin(), by_score.end(), std::size_t{0});
  std::ranges::stable_sort(by_score, {},
                           [&](std::size_t n) { return scores[n]; });
  by_score.resize(turned_off_in_round(places.size()));
  state_.order.reserve(heads_.size());
  for (std::size_t n = 0; n < places.size(); ++n) {
    state_.scores[places[n].layer][places[n].at] = scores[n];
  }
  for (const std::size_t n : by_score) {
    const auto& [layer, at, number] = places[n];
    state_.order.push_back({layer, model_.heads[layer][at]});
  }
  state_.in_round = 0;
  std::ranges::fill(state_.sums, 0.0);
  return ok();
}

// Whether a run can have come to the state: what it turned off are whole
// rounds, and the steps are theirs and some of the next one.
bool ImportanceRun::fits(const ImportanceState& state) const {
  std::vector<HeadId> order = state.order;
  std::ranges::sort(order);
  const bool known = std::ranges::all_of(order, [&](const HeadId& id) {
    return id.layer < model_.heads.size() &&
           std::ranges::find(model_.heads[id.layer], id.head) !=
               model_.heads[id.layer].end();
  });
  if (!known || std::ranges::adjacent_find(order) != order.end() ||
      state.sums.size() != state_.sums.size() ||
      !std::ranges::equal(state.scores, state_.scores, {},
                          &std::vector<double>::size,
                          &std::vector<double>::size)) {
    return false;
  }
  std::size_t live = heads_.size();
  std::size_t steps = 0;
  while (heads_.size() - live < order.size()) {
    steps += steps_of_round(live);
    live -= turned_off_in_round(live);
  }
  return heads_.size() - live == order.size() &&
         state.done == steps + state.in_round &&
         (live == 0 ? state.in_round == 0
                    : state.in_round < steps_of_round(live));
}

Status ImportanceRun::set_state(ImportanceState state) {
  return catching_out_of_memory([&]() -> Status {
    if (!fits(state)) {
      return value_error(kImportance, "state", "of another run",
                         "one of the same model and options");
    }
    state_ = std::move(state);
    return ok();
  });
}

}  // namespace headwise::inline HEADWISE_ABI
