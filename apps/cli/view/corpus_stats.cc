#include "corpus_stats.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "corpus_heads.h"
#include "headwise/distribute/communicator.h"
#include "headwise/interop/journal.h"
#include "headwise/interop/sha256.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/train/labelled_text.h"
#include "headwise/version.h"
#include "kept_heads.h"
#include "operation/models/token_limit.h"
#include "shell/json.h"
#include "shell/models/read_model.h"
#include "shell/progress_bar.h"
#include "shell/ranks/rank_job.h"
#include "shell/ranks/same_file.h"
#include "shell/read_text.h"
#include "shell/threads.h"
#include "shell/visible_work.h"
#include "viewed_heads.h"

namespace headwise::cli {
namespace {

constexpr std::size_t kGroup = StatisticsSums::kSequencesOfAGroup;

// What the options name, read.
struct CorpusInputs {
  std::string text;
  Executor executor;
  SentenceEncoder model;
  std::vector<std::size_t> layers;
  std::size_t max_tokens;
};

Result<CorpusInputs> read_inputs(const ViewedFlags& seen,
                                 const CorpusFlags& flags) {
  HEADWISE_ASSIGN(auto text, read_text("--corpus", flags.corpus));
  HEADWISE_TRY(check_lines({"--corpus", name_of_text(flags.corpus)},
                           text_lines(text), "one sentence per line"));
  HEADWISE_ASSIGN(auto executor, executor_with(seen.operation.threads));
  HEADWISE_ASSIGN(auto model, read_model(seen.model));
  HEADWISE_ASSIGN(auto layers,
                  parse_layers(seen.layers, model.settings().shape.num_layers));
  HEADWISE_ASSIGN(const auto limit,
                  token_limit(seen.max_tokens, seen.model, model.settings()));
  return CorpusInputs{std::move(text), std::move(executor), std::move(model),
                      std::move(layers), limit.tokens};
}

// The groups of a corpus: step s computes one group on each rank, and rank 0
// adds them in order.
class CorpusJob {
 public:
  CorpusJob(Communicator& group, const ViewedFlags& seen,
            const CorpusFlags& flags, const CorpusInputs& in)
      : group_(group),
        seen_(seen),
        flags_(flags),
        in_(in),
        lines_(text_lines(in.text)),
        heads_(in.model, in.layers, in.max_tokens, in.executor),
        sums_(heads_.heads()) {}

  Outcome run() {
    HEADWISE_TRY(resume());
    ProgressBar bar{"stats", "sentences"};
    const Progress progress = bar.progress();
    while (done_ < groups()) {
      HEADWISE_TRY(take_step(progress));
    }
    return agreed(group_, kept_);
  }

  const CorpusSums& sums() const { return sums_; }
  std::size_t sentences() const { return lines_.size(); }

 private:
  bool first_rank() const { return group_.rank() == 0; }
  std::size_t groups() const { return (lines_.size() + kGroup - 1) / kGroup; }

  Status identify() {
    if (group_.ranks() == 1 && flags_.out.empty()) {
      return ok();
    }
    HEADWISE_ASSIGN(model_, digest_of_model(seen_.model, in_.model));
    text_ = sha256_of(in_.text);
    return ok();
  }

  Outcome resume() {
    HEADWISE_TRY(
        agreed(group_, group_.busy_with([this] { return identify(); })));
    if (group_.ranks() > 1) {
      HEADWISE_TRY(check_same_file(group_, "--model", model_));
      HEADWISE_TRY(check_same_file(group_, "--corpus", text_));
    }
    if (first_rank() && !flags_.out.empty()) {
      journal_.emplace(flags_.out, Json{{"command", "stats"},
                                        {"headwise", version()},
                                        {"model", model_},
                                        {"corpus", text_},
                                        {"layers", in_.layers},
                                        {"max_tokens", in_.max_tokens}});
      read_journal();
    }
    HEADWISE_ASSIGN(const auto done,
                    share_text(group_, std::to_string(done_), 0));
    done_ = std::stoul(done);
    return {};
  }

  void read_journal() {
    const auto state = journal_->state();
    const std::size_t count = CorpusSums::count_numbers(heads_.heads());
    const Json* const found = state ? state->find("numbers") : nullptr;
    const Json* const groups_done = state ? state->find("groups") : nullptr;
    std::uint64_t done = 0;
    if (found == nullptr || !found->is_array() || found->size() != count ||
        groups_done == nullptr || !groups_done->get(done) || done > groups()) {
      return;
    }
    std::vector<double> numbers;
    for (const Json& number : *found) {
      numbers.push_back(std::numeric_limits<double>::quiet_NaN());
      number.get(numbers.back());
    }
    sums_.set_numbers(numbers);
    done_ = done;
  }

  Status keep() {
    return journal_ && journal_->due(flags_.save_every.interval())
               ? journal_->keep(
                     {{"groups", done_}, {"numbers", sums_.numbers()}})
               : ok();
  }

  Result<std::vector<double>> own_numbers(const Progress& progress) const {
    const std::size_t own = done_ + group_.rank();
    if (own >= groups()) {
      return std::vector<double>(CorpusSums::count_numbers(heads_.heads()));
    }
    const std::size_t first = own * kGroup;
    const auto sums = heads_.sums_of(
        std::span(lines_).subspan(first,
                                  std::min(kGroup, lines_.size() - first)),
        [&](std::size_t done, std::size_t) {
          if (progress) {
            progress(
                std::min(done_ * kGroup + done * group_.ranks(), lines_.size()),
                lines_.size());
          }
        });
    HEADWISE_TRY(sums);
    return sums->numbers();
  }

  Outcome take_step(const Progress& progress) {
    const auto own =
        work_visibly(&group_, [&] { return own_numbers(progress); });
    HEADWISE_TRY(agreed(group_, own ? kept_ : Outcome(own.error())));
    std::vector<std::vector<double>> all(first_rank() ? group_.ranks() : 0,
                                         std::vector<double>(own->size()));
    std::vector<std::span<std::byte>> parts;
    for (auto& numbers : all) {
      parts.push_back(std::as_writable_bytes(std::span(numbers)));
    }
    HEADWISE_TRY(group_.gather(std::as_bytes(std::span(*own)), parts, 0));
    for (std::size_t r = 0; r < all.size() && done_ + r < groups(); ++r) {
      CorpusSums sums(heads_.heads());
      sums.set_numbers(all[r]);
      sums_.add(sums);
    }
    done_ = std::min(done_ + group_.ranks(), groups());
    kept_ = written(work_visibly(&group_, [this] { return keep(); }));
    return {};
  }

  Communicator& group_;
  const ViewedFlags& seen_;
  const CorpusFlags& flags_;
  const CorpusInputs& in_;
  std::vector<std::string_view> lines_;
  CorpusHeads heads_;
  CorpusSums sums_;
  std::size_t done_ = 0;  // groups
  std::optional<Journal> journal_;
  Outcome kept_;       // of the last step's journal
  std::string model_;  // digests
  std::string text_;
};

HeadStats head_stats(const CorpusInputs& in, const StatisticsSums& sums) {
  HeadStats stats;
  std::size_t at = 0;
  for (const std::size_t layer : in.layers) {
    KeptHeads kept = kept_heads(in.model.encoder(), layer);
    for (const std::size_t head : kept.numbers()) {
      HeadLine line{layer, head, {}, sums.rows(at), sums.rows_without_key(at)};
      for (std::size_t k = 0; k < kStatistics; ++k) {
        line.mean[k] = sums.mean(at, static_cast<Statistic>(k));
      }
      stats.lines.push_back(line);
      ++at;
    }
    if (!kept.pruned().empty()) {
      stats.pruned.push_back({layer, std::move(kept)});
    }
  }
  return stats;
}

}  // namespace

Status check_corpus_flags(const ViewedFlags& seen) {
  using enum OptionRule::Kind;
  static constexpr OptionRule kRules[] = {
      {"--deadline|--save-every", needs, "--corpus"},
      {"--corpus", needs, "--model", "--model DIR"},
      {"--corpus", only,
       "--model|--corpus|--layers|--max-tokens|--threads|--lang|--out|--sort|"
       "--json|--csv|--deadline|--save-every"}};
  return seen.line.check(kRules);
}

Outcome compute_corpus_stats(Communicator& group, const ViewedFlags& seen,
                             const CorpusFlags& flags, CorpusStats& stats) {
  if (group.ranks() > 1 && flags.corpus == "-") {
    return agreed(
        group, usage("--corpus", "is -", "a file that every process can read"));
  }
  const auto in =
      work_visibly(&group, [&] { return read_inputs(seen, flags); });
  HEADWISE_TRY(agreed(group, in));
  CorpusJob job(group, seen, flags, *in);
  HEADWISE_TRY(job.run());
  const CorpusSums& sums = job.sums();
  stats.text = {.model = seen.model,
                .corpus = name_of_text(flags.corpus),
                .sentences = job.sentences(),
                .tokens = sums.tokens,
                .empty = sums.empty,
                .cut = sums.cut,
                .max_tokens = in->max_tokens};
  stats.heads = head_stats(*in, sums.statistics);
  return {};
}

void remove_journal(const CorpusFlags& flags) {
  if (!flags.corpus.empty() && !flags.out.empty()) {
    Journal(flags.out, {}).remove();
  }
}

}  // namespace headwise::cli
