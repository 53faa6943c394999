#include "generate_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "shell/aligned_columns.h"
#include "shell/json.h"
#include "shell/models/attention_places.h"
#include "shell/say.h"
#include "shell/terminal_text.h"

namespace headwise::cli {
namespace {

// What a token looks like by itself: its text or, without a tokenizer, its id.
std::string label_of(const GenerateJob& job, TokenId id) {
  const Tokenizer* const tokenizer = job.model.tokenizer();
  if (tokenizer == nullptr) {
    return std::to_string(id);
  }
  const auto text = tokenizer->decode({&id, 1}, /*skip_special_tokens=*/false);
  constexpr std::string_view kReplacement = "\uFFFD";
  return shown(text && !text->empty() && text->find(kReplacement) == text->npos
                   ? *text
                   : std::string(tokenizer->token(id).value_or("")));
}

bool has_encoder(const GenerateJob& job) {
  return job.model.model().shape().encoder_layers != 0;
}

// The ids that a head's weights are over.
std::vector<TokenId> keys_of(const GenerateJob& job,
                             const AttentionPlace& place,
                             const GeneratedText& text, std::size_t prompt) {
  if (place.kind == AttentionKind::cross) {
    return job.prompts[prompt];
  }
  std::vector<TokenId> ids =
      has_encoder(job) ? std::vector{job.model.settings().decoder_start}
                       : job.prompts[prompt];
  ids.insert(ids.end(), text.ids.begin(), text.ids.end());
  return ids;
}

// The keys with the two largest weights of a row: "sat 0.71, The 0.22".
std::string strongest_text(const GenerateJob& job,
                           const std::vector<TokenId>& keys,
                           std::span<const float> row) {
  std::vector<std::size_t> order(row.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t shown_keys = std::min<std::size_t>(2, order.size());
  std::partial_sort(order.begin(),
                    order.begin() + static_cast<std::ptrdiff_t>(shown_keys),
                    order.end(), [&](std::size_t a, std::size_t b) {
                      return row[a] != row[b] ? row[a] > row[b] : a < b;
                    });
  std::string text;
  for (std::size_t n = 0; n < shown_keys && row[order[n]] >= 0.005f; ++n) {
    text += fmt::format("{}{} {:.2f}", n == 0 ? "" : ", ",
                        label_of(job, keys[order[n]]), row[order[n]]);
  }
  return text;
}

std::string_view name_of_end(EndReason reason) {
  switch (reason) {
    case EndReason::end_token:
      return "end_token";
    case EndReason::max_new_tokens:
      return "max_new_tokens";
    case EndReason::positions:
      return "positions";
    case EndReason::stopped:
      return "stop";
  }
  return "";
}

double mean_of(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) /
         static_cast<double>(std::max<std::size_t>(1, numbers.size()));
}

Json text_json(const GenerateJob& job, const Variant& variant, std::size_t n) {
  const GeneratedText& text = variant.texts[n];
  Json tokens = Json::array();
  for (const TokenId id : text.ids) {
    tokens.push_back(label_of(job, id));
  }
  Json json = {{"prompt_ids", job.prompts[n]},
               {"ids", text.ids},
               {"tokens", std::move(tokens)},
               {"log_probabilities", text.log_probabilities},
               {"end", text.end ? Json(std::string(name_of_end(*text.end)))
                                : Json("interrupted")}};
  if (!job.texts.empty()) {
    json["prompt"] = job.texts[n];
  }
  if (job.model.tokenizer() != nullptr) {
    json["text"] = text.text;
  }
  if (!variant.whole_cache.empty()) {
    json["whole_cache_log_probabilities"] = variant.whole_cache[n];
  }
  return json;
}

}  // namespace

std::string looked_at_text(const GenerateJob& job, const GeneratedText& text,
                           std::size_t prompt) {
  const auto& heads = job.options.heads;
  if (heads.empty() || text.attn_weights.empty()) {
    return "";
  }
  std::vector<std::string> titles = {say("token")};
  for (const AttentionPlace& head : heads) {
    titles.push_back(name_of(head));
  }
  std::vector<std::vector<std::string>> lines = {std::move(titles)};
  for (std::size_t i = 0; i < text.ids.size(); ++i) {
    std::vector<std::string> line = {label_of(job, text.ids[i])};
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const Tensor<float, 2>& weights = text.attn_weights[h];
      line.push_back(strongest_text(job, keys_of(job, heads[h], text, prompt),
                                    {&weights(i, 0), weights.extent(1)}));
    }
    lines.push_back(std::move(line));
  }
  return aligned_columns(lines);
}

std::string loss_text(const GenerateJob& job, const Variant& variant,
                      std::size_t prompt) {
  if (variant.whole_cache.empty()) {
    return "";
  }
  const double kept = mean_of(variant.texts[prompt].log_probabilities);
  const double whole = mean_of(variant.whole_cache[prompt]);
  return say(
      "log-probability of a token: {:.4f} with {} tokens kept, {:.4f} with "
      "all, "
      "loss {:.4f}\n",
      kept, job.options.keep_tokens, whole, whole - kept);
}

std::string texts_text(const GenerateJob& job,
                       const std::vector<Variant>& variants) {
  std::string text;
  for (const Variant& variant : variants) {
    for (std::size_t n = 0; n < variant.texts.size(); ++n) {
      if (variants.size() > 1) {
        text += fmt::format(
            "{}: ", variant.name.empty() ? say("as it is") : variant.name);
      } else if (variant.texts.size() > 1) {
        text += fmt::format("{}: ", n);
      }
      text += job.model.tokenizer() != nullptr
                  ? variant.texts[n].text
                  : fmt::format("{}", fmt::join(variant.texts[n].ids, " "));
      text += "\n";
    }
  }
  return text;
}

Json generated_json(const GenerateJob& job,
                    const std::vector<Variant>& variants) {
  Json list = Json::array();
  for (const Variant& variant : variants) {
    for (std::size_t n = 0; n < variant.texts.size(); ++n) {
      Json one = text_json(job, variant, n);
      if (!variant.name.empty()) {
        one["variant"] = variant.name;
      }
      list.push_back(std::move(one));
    }
  }
  return with_schema("headwise.generated",
                     {{"model_type", job.model.model().shape().family},
                      {"texts", std::move(list)}});
}

}  // namespace headwise::cli
