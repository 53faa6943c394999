#include "model_texts.h"

#include <string_view>
#include <utility>

#include "text_file.h"

namespace headwise::cli {

Result<ModelTexts> read_model_texts(const std::string& path,
                                    std::optional<std::size_t> max_tokens,
                                    const std::string& folder,
                                    const TextModel& model) {
  HEADWISE_ASSIGN(const auto file, read_text_file(path));
  HEADWISE_ASSIGN(auto limit, token_limit(max_tokens, folder, model.shape()));
  ModelTexts texts{.empty_lines = file.empty_lines, .limit = std::move(limit)};
  for (const std::string_view text : file.texts) {
    HEADWISE_ASSIGN(auto encoded, model.encode(text, texts.limit.tokens));
    texts.tokens.add(model, encoded.ids);
    texts.cut += encoded.cut != 0 ? 1 : 0;
    texts.ids.push_back(std::move(encoded.ids));
  }
  return texts;
}

}  // namespace headwise::cli
