#include "encode_corpus.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "deal_sentences.h"
#include "headwise/distribute/communicator.h"
#include "headwise/interop/journal.h"
#include "headwise/interop/sha256.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/version.h"
#include "shell/file_place.h"
#include "shell/json.h"
#include "shell/progress_bar.h"
#include "shell/ranks/rank_job.h"
#include "shell/ranks/same_file.h"
#include "shell/ranks/shared_folder.h"
#include "shell/visible_work.h"

namespace headwise::cli {
namespace {

std::size_t rows_of(const std::vector<RowInterval>& ranges) {
  return std::transform_reduce(ranges.begin(), ranges.end(), std::size_t{0},
                               std::plus<>(),
                               [](const RowInterval& r) { return r.count; });
}

std::vector<RowInterval> ranges_of(const std::vector<RowPiece>& pieces) {
  std::vector<RowInterval> all;
  for (const RowPiece& piece : pieces) {
    all.insert(all.end(), piece.ranges.begin(), piece.ranges.end());
  }
  return all;
}

// ---- What is known of a piece besides its embeddings. ----

Json note_of(const SentenceEmbeddings& done,
             const std::vector<RowInterval>& ranges) {
  CorpusCounts counts;
  std::size_t n = 0;
  for (const RowInterval& range : ranges) {
    for (std::size_t row = range.first; row < range.end(); ++row, ++n) {
      counts.cut += done.cut[n] != 0 ? 1 : 0;
      if (done.cut[n] > counts.most_cut) {
        counts.most_cut = done.cut[n];
        counts.most_cut_sentence = row;
      }
    }
  }
  return {{"tokens", done.tokens},
          {"cut", counts.cut},
          {"most_cut", counts.most_cut},
          {"most_cut_sentence", counts.most_cut_sentence}};
}

void add_note(const Json& note, CorpusCounts& counts) {
  const auto number = [&note](const char* key) {
    const Json* const found = note.find(key);
    std::uint64_t value = 0;
    return found != nullptr && found->get(value) ? value : 0;
  };
  counts.tokens += number("tokens");
  counts.cut += number("cut");
  const std::size_t most = number("most_cut");
  const std::size_t sentence = number("most_cut_sentence");
  if (most > counts.most_cut ||
      (most == counts.most_cut && sentence < counts.most_cut_sentence)) {
    counts.most_cut = most;
    counts.most_cut_sentence = sentence;
  }
}

// ---- The work. ----

class EncodeJob {
 public:
  EncodeJob(Communicator& group, const Corpus& corpus, const Executor& executor)
      : group_(group),
        corpus_(corpus),
        executor_(executor),
        parts_(corpus.out,
               {corpus.sentences.size(), corpus.model.embedding_size()}) {}

  Outcome run(CorpusCounts& counts) {
    HEADWISE_TRY(resume());
    const auto begin = std::chrono::steady_clock::now();
    // After an error this process ends the job: the others may need hours more.
    HEADWISE_TRY(group_.busy_with([this] { return encode_own(); }));
    HEADWISE_TRY(written(saved_));
    HEADWISE_TRY(agreed(group_, ok()));
    counts.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count();
    counts.encoded = corpus_.sentences.size() - rows_of(done_);
    return agreed(group_,
                  group_.rank() == 0
                      ? work_visibly(&group_, [&] { return join(counts); })
                      : Outcome());
  }

 private:
  bool alone() const { return group_.ranks() == 1; }
  std::string folder() const { return Journal::path_of(corpus_.out); }

  // Short runs save nothing, so they need no digest, for which the model is
  // read again.
  Status identify() {
    if (parts_.has_work()) {
      return ok();
    }
    HEADWISE_ASSIGN(const auto model,
                    digest_of_model(corpus_.model_folder, corpus_.model));
    model_ = model;
    text_ = sha256_of(corpus_.text);
    parts_.set_work({{"command", "encode"},
                     {"headwise", version()},
                     {"model", model_},
                     {"arithmetic", name_of(corpus_.arithmetic)},
                     {"prompt", corpus_.prompt_name},
                     {"text", text_}});
    return ok();
  }

  // What was saved before, the same on all ranks.
  Outcome resume() {
    const FilePlace place = place_of(folder());
    if (place.error != 0) {
      return system_error({.operation = "--out", .file = folder()},
                          place.error);
    }
    if (alone() && !place.is_folder()) {
      return {};
    }
    HEADWISE_TRY(
        agreed(group_, group_.busy_with([this] { return identify(); })));
    if (!alone()) {
      HEADWISE_TRY(of_all_ranks(
          group_.check_same("--arithmetic", name_of(corpus_.arithmetic))));
      HEADWISE_TRY(check_same_file(group_, "--model", model_));
      HEADWISE_TRY(check_same_file(group_, "FILE", text_));
      HEADWISE_TRY(share_folder(group_, "--out", folder()));
    }
    auto pieces = group_.rank() == 0
                      ? work_visibly(&group_, [this] { return parts_.read(); })
                      : Result<std::vector<RowPiece>>(std::vector<RowPiece>());
    HEADWISE_TRY(agreed(group_, pieces));
    done_ = ranges_of(*pieces);
    return alone() ? Outcome() : share_done();
  }

  Outcome share_done() {
    const auto* const own = reinterpret_cast<const char*>(done_.data());
    HEADWISE_ASSIGN(
        const auto text,
        share_text(group_, std::string(own, done_.size() * sizeof(RowInterval)),
                   0));
    done_.resize(text.size() / sizeof(RowInterval));
    std::ranges::copy(text, reinterpret_cast<char*>(done_.data()));
    return {};
  }

  // Ends early where a part could not be saved.
  Status encode_own() {
    constexpr std::size_t kBytesOfAToken = 6;
    const std::vector<RowInterval> own =
        deal_sentences(corpus_.sentences, done_,
                       corpus_.model.settings().max_tokens * kBytesOfAToken,
                       group_.ranks())[group_.rank()];
    ProgressBar bar{"encode", "sentences"};
    const Progress progress = bar.progress();
    const std::size_t total = rows_of(own);
    std::size_t encoded = 0;
    for (auto next = own.begin(); saved_ && next != own.end();) {
      std::vector<RowInterval> batch;
      for (std::size_t rows = 0; next != own.end() && rows < batch_size();) {
        batch.push_back(*next);
        rows += (next++)->count;
      }
      const std::size_t before =
          std::exchange(encoded, encoded + rows_of(batch));
      HEADWISE_TRY(encode(std::move(batch), [&](std::size_t done, std::size_t) {
        if (progress) {
          progress(before + done, total);
        }
      }));
    }
    if (saved_ && !alone()) {
      saved_ = parts_.save();
    }
    return ok();
  }

  // Enough that threads seldom wait for the last of them.
  std::size_t batch_size() const {
    constexpr std::size_t kOfAThread = 256;
    return std::clamp<std::size_t>(kOfAThread * executor_.threads(), 1024,
                                   4096);
  }

  Status encode(std::vector<RowInterval> ranges, const Progress& progress) {
    std::vector<std::string_view> sentences;
    for (const RowInterval& range : ranges) {
      const auto lines = corpus_.sentences.subspan(range.first, range.count);
      sentences.insert(sentences.end(), lines.begin(), lines.end());
    }
    HEADWISE_ASSIGN(
        auto done,
        corpus_.model.encode(sentences, {.progress = progress,
                                         .prompt_name = corpus_.prompt_name,
                                         .executor = &executor_}));
    Json note = note_of(done, ranges);
    HEADWISE_TRY(parts_.add({std::move(ranges), std::move(note)},
                            std::move(done.embeddings)));
    if (parts_.due(corpus_.save_every)) {
      HEADWISE_TRY(identify());
      saved_ = parts_.save();
    }
    return ok();
  }

  Outcome join(CorpusCounts& counts) {
    const auto pieces = parts_.join();
    HEADWISE_TRY(written(pieces ? ok() : Status(pieces.error())));
    counts.most_cut_sentence = corpus_.sentences.size();
    for (const RowPiece& piece : *pieces) {
      add_note(piece.note, counts);
    }
    return {};
  }

  Communicator& group_;
  const Corpus& corpus_;
  const Executor& executor_;
  RowParts parts_;
  Status saved_ = ok();
  std::string model_;  // digests
  std::string text_;
  std::vector<RowInterval> done_;
};

}  // namespace

Outcome encode_corpus(Communicator& group, const Corpus& corpus,
                      const Executor& executor, CorpusCounts& counts) {
  return EncodeJob(group, corpus, executor).run(counts);
}

}  // namespace headwise::cli
