#include "unknown_tokens.h"

#include "shell/say.h"
#include "shell/terminal_text.h"

namespace headwise::cli {

void UnknownTokens::add(std::string_view token) {
  ++tokens;
  unknown += token == "[UNK]" || token == "<unk>" ? 1 : 0;
}

void warn_of_unknown(const std::string& model, const UnknownTokens& tokens,
                     std::ostream& err) {
  if (tokens.unknown == 0) {
    return;
  }
  err << say("{}: {} of {} tokens ({:.3g}%) are words that its vocabulary "
             "lacks ([UNK])\n",
             shown(model), tokens.unknown, tokens.tokens,
             100 * static_cast<double>(tokens.unknown) /
                 static_cast<double>(tokens.tokens))
      << std::flush;
}

}  // namespace headwise::cli
