// The language of a run: main() decides it once, before any command begins, as
// setlocale() would.
#pragma once

#include <string>
#include <vector>

#include "headwise/words/language.h"

namespace headwise::cli {

// English until set_language().
Language language();
void set_language(Language language);

// That of --lang, wherever it stands among the arguments, else that of the
// environment. A value that is no language is left to the parser.
Language language_of(const std::vector<std::string>& arguments);

// From LC_ALL, LC_MESSAGES or LANG: Korean for ko*, English otherwise.
Language language_of_environment();

}  // namespace headwise::cli
