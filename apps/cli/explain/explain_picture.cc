#include "explain_picture.h"

#include <fmt/format.h>

#include <cmath>

#include "headwise/inspect/pictures.h"
#include "shell/outcome.h"
#include "shell/say.h"
#include "shell/terminal_text.h"

namespace headwise::cli {
namespace {

constexpr std::size_t kPictureLabelColumns = 24;
constexpr std::size_t kTitleColumns = 60;

std::vector<std::string> labels(const ExplainedSentence& sentence) {
  std::vector<std::string> labels;
  for (const ExplainedToken& token : sentence.tokens) {
    labels.push_back(cut_to(shown(token.text), kPictureLabelColumns));
  }
  return labels;
}

std::string picture_title(const ExplainedJob& job, std::size_t sequence,
                          Language language) {
  return job.sentence
             ? say(language, "Attention weights of every head, layer {}: {}",
                   job.sentence->layer,
                   cut_to(shown(job.sentence->text), kTitleColumns))
             : say(language, "Attention weights of every head, sequence {}",
                   sequence);
}

std::vector<std::string> labels(
    const std::vector<std::vector<std::int64_t>>& ids, std::size_t sequence,
    std::size_t length, char vector_name, Language language) {
  std::vector<std::string> labels;
  for (std::size_t t = 0; t < length; ++t) {
    if (ids.empty()) {
      labels.push_back(fmt::format("{}{}", vector_name, t));
    } else if (t < ids[sequence].size()) {
      labels.push_back(std::to_string(ids[sequence][t]));
    } else {
      labels.push_back(say(language, "(pad)"));
    }
  }
  return labels;
}

}  // namespace

Result<std::string> explain_picture(const ExplainedJob& job,
                                    std::size_t sequence, Language language,
                                    double zoom) {
  if (job.batch == 0) {
    return option_error("--picture",
                        "draws one sequence, and the batch has none", {},
                        ErrorCode::out_of_range);
  }
  if (sequence >= job.batch) {
    return option_error("--sequence", message("is {}", sequence),
                        message("0 to {}", job.batch - 1));
  }
  const TracedStep& weights = *job.find("attn_weights");
  const TracedStep* const masked = job.masked_scores();
  const std::size_t columns = weights.extents.back();
  const Extents<3> extents{job.num_heads, job.query_length, columns};
  HEADWISE_ASSIGN(auto values, Tensor<float, 3>::create(extents));
  HEADWISE_ASSIGN(auto allowed, Tensor<bool, 3>::create(extents));
  const std::size_t start = sequence * values.size();
  for (std::size_t n = 0; n < values.size(); ++n) {
    values.data()[n] = static_cast<float>(weights.at(start + n));
    allowed.data()[n] =
        masked == nullptr ||
        masked->at(start + n) != -std::numeric_limits<double>::infinity();
  }
  HeadsPicture picture;
  picture.attn_weights = values;
  picture.allowed = allowed;
  if (job.sentence) {
    picture.query_labels = labels(*job.sentence);
    picture.key_labels = picture.query_labels;
  } else {
    picture.query_labels =
        labels(job.query_ids, sequence, job.query_length, 'q', language);
    picture.key_labels =
        labels(job.key_ids, sequence, job.key_length, 'k', language);
  }
  if (job.find("bias_k") != nullptr) {
    picture.key_labels.emplace_back("bias_k");
  }
  if (picture.key_labels.size() != columns) {
    picture.key_labels.emplace_back("0");  // --zero-attn
  }
  picture.title = picture_title(job, sequence, language);
  picture.language = language;
  picture.zoom = zoom;
  picture.fit = columns > kMostKeysOfFullScale;
  return heads_svg(picture);
}

}  // namespace headwise::cli
