// Prints the Korean of each line of standard input, a phrase about "@" or
// several with ": " between; nothing for what has none. With --forms: the forms
// that have Korean.
#include <iostream>
#include <string>

#include "shell/korean_phrases.h"
#include "shell/phrase.h"

int main(int argc, char**) {
  using namespace headwise::cli;
  if (argc > 1) {
    for (const auto table : korean_phrases()) {
      for (const Translation& phrase : table) {
        std::cout << phrase.en << '\n';
      }
    }
    return 0;
  }
  for (std::string text; std::getline(std::cin, text);) {
    const std::string parts = korean_parts(text, ": ");
    std::cout << korean_phrase(text, "@").value_or(parts == text ? "" : parts)
              << '\n';
  }
}
