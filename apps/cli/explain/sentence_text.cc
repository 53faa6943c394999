#include "sentence_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "shell/number_format.h"
#include "shell/say.h"
#include "shell/terminal_text.h"

namespace headwise::cli {
namespace {

constexpr std::size_t kLine = 80;
constexpr std::size_t kSentenceColumns = 400;
constexpr std::size_t kTokenColumns = 14;
constexpr std::string_view kTokenIndent = "    ";
constexpr std::string_view kBetween = "   ";

// "101 [CLS]   4641 heads", in lines.
std::string token_lines(const ExplainedSentence& sentence) {
  std::string text;
  std::size_t columns = kLine;  // of the line so far: none has begun
  for (const ExplainedToken& token : sentence.tokens) {
    const std::string part = fmt::format("{} {}", token.id, shown(token.text));
    const std::size_t more = kBetween.size() + columns_of(part);
    if (columns + more > kLine) {
      text += text.empty() ? kTokenIndent : "\n" + std::string(kTokenIndent);
      columns = kTokenIndent.size() + columns_of(part);
    } else {
      text += kBetween;
      columns += more;
    }
    text += part;
  }
  return text + "\n";
}

// Four digits behind the point, which suits attention weights, however small
// some of them are; numbers too large for that as other steps have them.
std::vector<std::string> number_texts(std::span<const double> values,
                                      DType dtype) {
  constexpr double kLargest = 1e5;
  const NumberFormat format(values, dtype);
  const bool plain = std::ranges::all_of(values, [](double value) {
    return std::isfinite(value) && std::abs(value) < kLargest;
  });
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (const double value : values) {
    texts.push_back(plain ? fmt::format("{:.4f}", value) : format(value));
  }
  return texts;
}

std::string padded_left(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, columns_of(text)), ' ') + text;
}

// One head: rows x rows numbers that stand from `offset` on.
std::string head_table(const TracedStep& step, std::size_t offset,
                       const std::vector<std::size_t>& rows,
                       const std::vector<std::string>& labels,
                       const std::string& indent) {
  std::vector<double> values;
  for (const std::size_t i : rows) {
    for (const std::size_t j : rows) {
      if (i != kGap && j != kGap) {
        values.push_back(step.at(offset + i * labels.size() + j));
      }
    }
  }
  const std::vector<std::string> numbers = number_texts(values, step.dtype);
  std::size_t number_width = 0;
  for (const std::string& number : numbers) {
    number_width = std::max(number_width, number.size());
  }
  std::size_t label_width = 0;
  for (const std::size_t i : rows) {
    label_width = std::max(label_width, i == kGap ? 3 : columns_of(labels[i]));
  }
  const auto cell = [&](std::size_t j, const std::string& text) {
    const std::size_t width =
        j == kGap ? 3 : std::max(number_width, columns_of(labels[j]));
    return "  " + padded_left(text, width);
  };
  std::string text = indent + std::string(label_width, ' ');
  for (const std::size_t j : rows) {
    text += cell(j, j == kGap ? "..." : labels[j]);
  }
  auto number = numbers.begin();
  for (const std::size_t i : rows) {
    text +=
        "\n" + indent + padded_left(i == kGap ? "..." : labels[i], label_width);
    for (const std::size_t j : rows) {
      text += i == kGap ? "" : cell(j, j == kGap ? "..." : *number++);
    }
  }
  return text + "\n";
}

}  // namespace

std::string heads_text(std::size_t count, Language language) {
  return count == 1 ? say(language, "1 head")
                    : say(language, "{} heads", count);
}

std::string sentence_title(const ExplainedJob& job, Language language) {
  const ExplainedSentence& sentence = *job.sentence;
  std::string text =
      say(language, "Sentence: \"{}\"\n",
          cut_to(shown(sentence.text), kSentenceColumns)) +
      say(language,
          "Model {0}: layer {1} of {2} (counted from 0), {3}, embed_dim "
          "{4}.\n",
          shown(sentence.model), sentence.layer, sentence.num_layers,
          heads_text(job.num_heads, language), job.embed_dim) +
      say(language, "{} tokens, each after its id (vocabulary {}):\n",
          sentence.tokens.size(), job.vocab_size) +
      token_lines(sentence);
  if (sentence.cut != 0) {
    text += say(
        language,
        "{0} more did not fit in the model's {1} tokens and were left out.\n",
        sentence.cut, sentence.max_tokens);
  }
  return text;
}

bool is_token_table(const TracedStep& step) {
  return step.has_data() &&
         std::ranges::equal(step.axes, std::to_array<std::string_view>(
                                           {"B", "H", "Lq", "Lkv"}));
}

std::string token_table(const ExplainedSentence& sentence,
                        const TracedStep& step, bool corners,
                        const std::string& indent) {
  std::vector<std::string> labels;
  for (const ExplainedToken& token : sentence.tokens) {
    labels.push_back(cut_to(shown(token.text), kTokenColumns));
  }
  const std::vector<std::size_t> rows = shown_indices(labels.size(), corners);
  const std::size_t heads = corners ? 1 : step.extents[1];
  std::string text;
  for (std::size_t h = 0; h < heads; ++h) {
    text += fmt::format("{}{}[0, {}, :, :] =\n", indent, step.name, h) +
            head_table(step, h * labels.size() * labels.size(), rows, labels,
                       indent);
  }
  return text;
}

}  // namespace headwise::cli
