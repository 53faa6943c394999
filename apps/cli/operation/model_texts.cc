#include "model_texts.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "headwise/train/labelled_text.h"
#include "shell/read_text.h"

namespace headwise::cli {

Result<ModelTexts> read_model_texts(const std::string& path,
                                    std::optional<std::size_t> max_tokens,
                                    const std::string& folder,
                                    const TextModel& model) {
  const auto text = read_text("--texts", path);
  HEADWISE_TRY(text);
  const std::vector<std::string_view> lines = text_lines(*text);
  const FileSubject about{"--texts", name_of_text(path)};
  HEADWISE_TRY(check_lines(about, lines, "one text a line"));
  if (lines.size() > kMostTexts) {
    return about.bad_data(fmt::format("has {} lines", lines.size()),
                          fmt::format("at most {}", kMostTexts));
  }
  auto limit = token_limit(max_tokens, folder, model.shape());
  HEADWISE_TRY(limit);
  ModelTexts texts{.limit = *std::move(limit)};
  for (const std::string_view line : lines) {
    auto encoded = model.encode(line, texts.limit.tokens);
    HEADWISE_TRY(encoded);
    texts.tokens += encoded->ids.size();
    texts.cut += encoded->cut != 0 ? 1 : 0;
    texts.ids.push_back(std::move(encoded->ids));
  }
  return texts;
}

}  // namespace headwise::cli
