#include "learned_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "interop/find_params.h"
#include "interop/folder.h"
#include "interop/param_file.h"
#include "models/model_folder.h"
#include "shell/read_model.h"
#include "shell/say.h"
#include "shell/sha256.h"

namespace headwise::cli {
namespace {

constexpr double kNormal = 1.959963984540054;  // 95 of 100 lie within

Result<SentenceEmbeddings> encode(const SentenceEncoder& encoder,
                                  const LabelledText& text,
                                  const TextOptions& options) {
  return encoder.encode(text.texts, {.progress = options.progress,
                                     .max_tokens = options.max_tokens,
                                     .executor = options.executor});
}

// Adds the names and the digests of the files in `folder`/`within` that are
// read beside the parameters, and of those in its folders.
Status add_digests(const std::string& folder, const std::string& within,
                   std::string& digests) {
  constexpr std::string_view kOperation = "model";
  const auto names = names_in_folder(kOperation, path_in(folder, within));
  HEADWISE_TRY(names);
  for (const std::string& name : *names) {
    const std::string below = within + name;
    const std::string path = path_in(folder, below);
    if (is_regular_file(path) &&
        (is_settings_file(name) || name == kClassifierFile)) {
      const auto digest = sha256_of_file(path);
      HEADWISE_TRY(digest);
      digests += fmt::format(" {} {}", below, *digest);
    } else if (within.empty() && check_folder_named_by_file(kOperation, path)) {
      HEADWISE_TRY(add_digests(folder, below + "/", digests));
    }
  }
  return ok();
}

}  // namespace

Result<LearnedModel> read_learned_model(const std::string& folder) {
  auto encoder = read_model(folder, BertUse::training);
  HEADWISE_TRY(encoder);
  auto probe = LabelProbe::read(folder, encoder->embedding_size());
  HEADWISE_TRY(probe);
  return LearnedModel{*std::move(encoder), *std::move(probe)};
}

Result<std::string> digest_of_model(const SentenceEncoder& encoder) {
  constexpr std::string_view kOperation = "model";
  const auto path =
      find_params(kOperation, encoder.settings().transformer_folder);
  HEADWISE_TRY(path);
  const auto file = ParamFile::open(kOperation, *path, FileAccess::mapped);
  HEADWISE_TRY(file);
  std::string digests;
  for (const std::string& name : file->files()) {
    const auto digest = sha256_of_file(name);
    if (!digest) {
      return digest;
    }
    digests += *digest;
  }
  return file->files().size() == 1 ? digests : sha256_of_text(digests);
}

Result<std::string> digest_of_folder(const std::string& folder,
                                     const SentenceEncoder& encoder) {
  auto params = digest_of_model(encoder);
  if (!params) {
    return params;
  }
  std::string digests = *std::move(params);
  Status s = add_digests(folder, "", digests);
  return s ? Result<std::string>(sha256_of_text(digests)) : s.error();
}

Result<LabelProbe> train_probe(const SentenceEncoder& encoder,
                               const LabelledText& text,
                               const TextOptions& options) {
  std::vector<std::string> labels = distinct_labels(text);
  const auto targets = targets_of("--data", text, labels);
  const auto done = encode(encoder, text, options);
  if (!targets || !done) {
    return targets ? done.error() : targets.error();
  }
  return LabelProbe::train(
      done->embeddings,
      TensorView<const std::int64_t, 1>(targets->data(), {targets->size()}),
      std::move(labels));
}

std::size_t Answers::count() const {
  return static_cast<std::size_t>(std::ranges::count(right, true));
}

double Answers::accuracy() const {
  return static_cast<double>(count()) / static_cast<double>(right.size());
}

std::pair<double, double> Answers::interval() const {
  const auto n = static_cast<double>(right.size());
  const double p = accuracy();
  const double z = kNormal * kNormal / n;
  const double centre = (p + z / 2) / (1 + z);
  const double half =
      kNormal * std::sqrt(p * (1 - p) / n + z / (4 * n)) / (1 + z);
  return {centre - half, centre + half};
}

Result<Answers> answers_of(const SentenceEncoder& encoder,
                           const LabelProbe& probe, const LabelledText& text,
                           const TextOptions& options) {
  const auto targets = targets_of("--data", text, probe.labels());
  HEADWISE_TRY(targets);
  const auto done = encode(encoder, text, options);
  HEADWISE_TRY(done);
  const auto logits = probe.logits(done->embeddings);
  HEADWISE_TRY(logits);
  Answers answers;
  for (std::size_t n = 0; n < targets->size(); ++n) {
    answers.right.push_back(predicted_label(*logits, n) ==
                            static_cast<std::size_t>((*targets)[n]));
  }
  return answers;
}

AccuracyChange change_between(const Answers& before, const Answers& after) {
  double gained = 0;
  double lost = 0;
  for (std::size_t n = 0; n < before.right.size(); ++n) {
    gained += !before.right[n] && after.right[n] ? 1 : 0;
    lost += before.right[n] && !after.right[n] ? 1 : 0;
  }
  const auto n = static_cast<double>(before.right.size());
  const double change = (gained - lost) / n;
  const double half =
      kNormal * std::sqrt(std::max(0.0, gained + lost - n * change * change)) /
      n;
  return {change, change - half, change + half};
}

std::string accuracy_text(const Answers& answers) {
  const auto [low, high] = answers.interval();
  return say({"{:.1f}% ({:.1f} to {:.1f})", "{:.1f}% ({:.1f}~{:.1f})"},
             100 * answers.accuracy(), 100 * low, 100 * high);
}

}  // namespace headwise::cli
