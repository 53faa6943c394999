#include "headwise/prune/sentence_importance.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/out_of_memory.h"
#include "distribute/or_tell.h"
#include "headwise/distribute/communicator.h"
#include "headwise/json/json.h"
#include "headwise/models/language_model.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/train/sentence_classifier.h"
#include "headwise/version.h"
#include "models/model_digest.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// ---- The state of a run in a journal. ----

Json json_of(const ImportanceState& state) {
  Json order = Json::array();
  for (const auto& [layer, head] : state.order) {
    order.push_back({layer, head});
  }
  return {{"done", state.done},
          {"in_round", state.in_round},
          {"sums", state.sums},
          {"scores", state.scores},
          {"order", order}};
}

std::optional<ImportanceState> state_of(const Json& json) {
  ImportanceState state;
  std::vector<std::vector<std::size_t>> order;
  const auto get = [&](std::string_view key, auto& into) {
    const Json* const found = json.find(key);
    return found != nullptr && found->get(into);
  };
  if (!get("done", state.done) || !get("in_round", state.in_round) ||
      !get("sums", state.sums) || !get("scores", state.scores) ||
      !get("order", order)) {
    return {};
  }
  for (const auto& id : order) {
    if (id.size() != 2) {
      return {};
    }
    state.order.push_back({id[0], id[1]});
  }
  return state;
}

std::optional<std::size_t> given(std::size_t count) {
  return count == 0 ? std::optional<std::size_t>() : count;
}

// What a run works on. GatedModel points into it.
struct Subject {
  SentenceClassifier model;
  LabelledText text{};  // the examples
  RaggedTokens ids{};
  std::vector<std::int64_t> targets{};
  std::string_view loss{};  // its name in ImportanceFile
  std::string params_digest{};
  std::string model_digest{};
};

// The model's classifier, or one of the labels of all texts.
Status find_probe(const LabelledText& text,
                  const SentenceImportanceOptions& options,
                  const Executor& executor, SentenceClassifier& model) {
  if (model.probe || !text.labelled()) {
    return ok();
  }
  HEADWISE_ASSIGN(model.probe,
                  train_probe(model.encoder, text,
                              {.progress = options.probe_progress,
                               .max_tokens = given(options.max_tokens),
                               .executor = &executor}));
  return ok();
}

Result<std::unique_ptr<Subject>> read_subject(
    const std::string& folder, const LabelledText& text,
    const SentenceImportanceOptions& options, const Executor& executor) {
  HEADWISE_ASSIGN(auto model, SentenceClassifier::read(folder));
  HEADWISE_ASSIGN(auto params_digest, digest_of_params(model.encoder));
  HEADWISE_ASSIGN(auto model_digest, digest_of_model(folder, model.encoder));
  HEADWISE_TRY(find_probe(text, options, executor, model));
  auto subject = std::make_unique<Subject>(Subject{std::move(model)});
  subject->params_digest = std::move(params_digest);
  subject->model_digest = std::move(model_digest);
  subject->text = spread_examples(text, options.examples);
  subject->loss = text.labelled()             ? "classification"
                  : is_language_model(folder) ? "next_token"
                                              : "embedding";
  HEADWISE_ASSIGN(auto tokens, subject->model.encoder.tokenize(
                                   subject->text.texts,
                                   {.max_tokens = given(options.max_tokens),
                                    .executor = &executor}));
  subject->ids = std::move(tokens.ids);
  if (subject->text.labelled()) {
    HEADWISE_ASSIGN(subject->targets,
                    targets_of(subject->text, subject->model.probe->labels()));
  }
  return subject;
}

GatedModel gated_model(const Subject& subject, Seed seed,
                       const Executor& executor) {
  const SentenceClassifier& model = subject.model;
  if (subject.loss == "classification") {
    return classification_losses(model.encoder, *model.probe, subject.ids,
                                 subject.targets, executor);
  }
  return subject.loss == "next_token"
             ? language_losses(model.encoder, subject.ids, executor)
             : embedding_losses(model.encoder, subject.ids, seed, executor);
}

// The error of the lowest rank that has one; rank 0's in its own words.
Status agreed(Communicator* group, const Status& own) {
  if (group == nullptr) {
    return own;
  }
  const Status all = group->agree(own);
  return group->rank() == 0 && !own ? own : all;
}

// Whether all ranks measure the same model on the same texts.
Status check_subject(Communicator* group, const Subject& subject) {
  if (group == nullptr) {
    return ok();
  }
  HEADWISE_TRY(group->check_same("SHA-256 of the model", subject.model_digest));
  return group->check_same("SHA-256 of the text", subject.text.sha256());
}

}  // namespace

class SentenceImportance::State {
 public:
  State(std::unique_ptr<Subject> subject, SentenceImportanceOptions options,
        std::vector<std::vector<std::size_t>> heads, ImportanceRun run)
      : subject_(std::move(subject)),
        options_(std::move(options)),
        heads_(std::move(heads)),
        run_(std::move(run)) {}

  Communicator* group() const { return options_.group; }
  const ImportanceRun& run() const { return run_; }
  ImportanceRun& run() { return run_; }
  ImportanceFile result() const;
  Json work() const;

 private:
  std::unique_ptr<Subject> subject_;
  SentenceImportanceOptions options_;
  std::vector<std::vector<std::size_t>> heads_;
  ImportanceRun run_;
};

ImportanceFile SentenceImportance::State::result() const {
  const ModelSettings& settings = subject_->model.encoder.settings();
  const std::size_t most = settings.max_tokens;
  return {
      .method = std::string(name_of(options_.importance.method)),
      .share_a_round = options_.importance.share_a_round,
      .loss = std::string(subject_->loss),
      .model_sha256 = subject_->params_digest,
      .num_heads = settings.shape.num_heads,
      .examples = subject_->text.texts.size(),
      .max_tokens = std::min(given(options_.max_tokens).value_or(most), most),
      .seed = options_.importance.seed.value,
      .heads = heads_,
      .importance = run_.result()};
}

Json SentenceImportance::State::work() const {
  const ImportanceOptions& importance = options_.importance;
  return {{"headwise", version()},
          {"model", subject_->model_digest},
          {"data", subject_->text.sha256()},
          {"method", name_of(importance.method)},
          {"iterative", importance.share_a_round.value_or(0)},
          {"examples", options_.examples},
          {"max_tokens", options_.max_tokens},
          {"batch", importance.batch},
          {"seed", importance.seed.value}};
}

Result<SentenceImportance> SentenceImportance::create(
    const std::string& folder, const LabelledText& text,
    const SentenceImportanceOptions& options) {
  return or_tell(options.group, [&]() -> Result<SentenceImportance> {
    const Executor& executor =
        options.executor ? *options.executor : Executor::default_executor();
    std::unique_ptr<Subject> subject;
    const Status done = busy_with(options.group, [&]() -> Status {
      HEADWISE_ASSIGN(subject, read_subject(folder, text, options, executor));
      return ok();
    });
    HEADWISE_TRY(agreed(options.group, done));
    HEADWISE_TRY(check_subject(options.group, *subject));
    GatedModel model = gated_model(*subject, options.importance.seed, executor);
    if (options.group != nullptr) {
      HEADWISE_ASSIGN(model, share_examples(std::move(model), *options.group));
    }
    std::vector<std::vector<std::size_t>> heads = model.heads;
    HEADWISE_ASSIGN(
        auto run, ImportanceRun::create(std::move(model), options.importance));
    return SentenceImportance(std::make_unique<State>(
        std::move(subject), options, std::move(heads), std::move(run)));
  });
}

std::size_t SentenceImportance::steps() const { return state_->run().steps(); }
std::size_t SentenceImportance::done() const { return state_->run().done(); }
Status SentenceImportance::step() { return state_->run().step(); }
ImportanceFile SentenceImportance::result() const { return state_->result(); }

Journal SentenceImportance::journal(const std::string& output) const {
  return {output, state_->work()};
}

Status SentenceImportance::resume(const Journal& journal) try {
  constexpr std::size_t kMostBytes = std::size_t{1} << 26;
  constexpr int kDeepest = 6;
  Communicator* const group = state_->group();
  std::string text;
  if (group == nullptr || group->rank() == 0) {
    text = journal.state().value_or(Json()).dump();
  }
  if (group != nullptr) {
    HEADWISE_ASSIGN(text, share_text(*group, std::move(text), 0));
  }
  const auto json = Json::parse(text, kMostBytes, kDeepest);
  if (auto state = json ? state_of(*json) : std::nullopt) {
    const Status s = state_->run().set_state(*std::move(state));
    // A run whose state does not fit starts from the beginning.
    if (!s && s.error().code() == ErrorCode::out_of_memory) {
      return s;
    }
  }
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Status SentenceImportance::keep_in(Journal& journal) const {
  const Communicator* const group = state_->group();
  if (group != nullptr && group->rank() != 0) {
    return ok();
  }
  return catching_out_of_memory(
      [&] { return journal.keep(json_of(state_->run().state())); });
}

}  // namespace headwise::inline HEADWISE_ABI
