// Any text is settings or an error. The first byte chooses the file it is, the
// rest is its text. Settings must hold what model_settings.h says of them.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

#include "models/model_files.h"
#include "transformer/kept_heads.h"

namespace {

using headwise::ErrorCode;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

template <class T>
bool is_settings(const T& parsed) {
  if (!parsed) {
    const headwise::ErrorCode code = parsed.error().code();
    const std::string message = parsed.error().message();
    require(code == ErrorCode::bad_data || code == ErrorCode::unsupported);
    require(message.starts_with("fuzz: "));
    require(message.find('\n') == std::string::npos);
  }
  return static_cast<bool>(parsed);
}

void take_modules(std::string_view text) {
  const auto modules = headwise::parse_sentence_modules(text, {"fuzz"});
  if (!is_settings(modules)) {
    return;
  }
  require(!modules->pooling_folder.empty());
  for (const auto& name :
       {modules->transformer_folder, modules->pooling_folder}) {
    require(name.find('/') == std::string::npos && name != "..");
  }
}

void take_pooling(std::string_view text) {
  const auto settings = headwise::parse_pooling(text, {"fuzz"}, 384);
  if (!is_settings(settings)) {
    return;
  }
  const auto& pooling = settings->pooling;
  require(!pooling.empty());
  for (const auto mode : pooling) {
    require(std::ranges::count(pooling, mode) == 1);
  }
}

void take_tokenizer(std::string_view text) {
  const auto tokenizer = headwise::parse_tokenizer_config(text, {"fuzz"});
  if (is_settings(tokenizer)) {
    require(tokenizer->max_tokens.value_or(2) >= 2);
  }
}

void take_sentence(std::string_view text) {
  const auto sentence = headwise::parse_sentence_config(text, {"fuzz"}, {});
  if (is_settings(sentence)) {
    require(sentence->max_tokens.value_or(2) >= 2);
  }
}

// Of the model below, in the metadata of its parameters.
void take_kept_heads(std::string_view text) {
  headwise::KeptHeadLists lists;
  const auto kept = headwise::read_kept_heads(
      {{"kept_heads", std::string(text)}}, {"fuzz"}, 2, 3, lists);
  require(lists.size() == (kept ? 2 : 0));
  if (!is_settings(kept)) {
    return;
  }
  for (const auto& heads : lists) {
    require(std::ranges::adjacent_find(heads, std::greater_equal<>()) ==
            heads.end());
    require(heads.empty() || heads.back() < 3);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data) + 1,
                              size - 1);
  switch (data[0]) {
    case 'k':
      take_kept_heads(text);
      break;
    case 'm':
      take_modules(text);
      break;
    case 'p':
      take_pooling(text);
      break;
    case 's':
      take_sentence(text);
      break;
    case 't':
      take_tokenizer(text);
      break;
    default:
      static_cast<void>(
          is_settings(headwise::parse_sentence_transformers(text, {"fuzz"})));
  }
  return 0;
}
