#include "searched_texts.h"

#include <utility>

#include "headwise/heads/find_heads.h"
#include "headwise/train/labelled_text.h"
#include "operation/models/model_texts.h"
#include "shell/error_of_option.h"
#include "shell/quantity_text.h"
#include "shell/read_text.h"
#include "shell/say.h"
#include "shell/terminal_text.h"

namespace headwise::cli {

Result<SearchedTexts> read_searched_texts(const HeadsFlags& flags,
                                          const TextModel& model) {
  if (!flags.texts.empty()) {
    HEADWISE_ASSIGN(auto read, read_model_texts(flags.texts, flags.max_tokens,
                                                flags.model, model));
    return SearchedTexts{std::move(read.ids), read.cut, read.limit.tokens,
                         read.empty_lines, read.tokens};
  }
  auto drawn =
      repeated_random_tokens(model, {.seed = Seed{flags.seed.value_or(0)}});
  return drawn ? Result<SearchedTexts>(SearchedTexts{*std::move(drawn)})
               : error_of_option("--model", drawn.error());
}

std::string described(const HeadsFlags& flags, const SearchedTexts& texts) {
  if (!flags.texts.empty()) {
    return say("{0} text{2} of {1}", texts.ids.size(),
               shown(name_of_text(flags.texts)), plural(texts.ids.size()));
  }
  return say("{} texts of random tokens, each repeated once (seed {})",
             texts.ids.size(), flags.seed.value_or(0));
}

}  // namespace headwise::cli
