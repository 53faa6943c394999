// Any bytes are a file of SentencePiece, GGUF, ranks or tokens of a tokenizer,
// or an error; one that is read encodes and decodes texts or says why not.
#include <cstdint>
#include <string_view>

#include "tokenizer/decoder.h"
#include "tokenizer/text_encoder.h"
#include "tokenizer/tokenizer_file.h"
#include "tokenizer_calls.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

Result<TokenizerSpec> parse(std::string_view bytes) {
  const FileSubject subject{.operation = "fuzz", .file = "fuzz"};
  if (is_sentencepiece(bytes)) {
    return parse_sentencepiece(bytes, subject, {nullptr, subject, ""});
  }
  return bytes.starts_with("GGUF") ? parse_gguf_tokenizer(bytes, subject)
         : is_tiktoken(bytes)      ? parse_tiktoken(bytes, subject)
         : bytes.starts_with('[')  ? parse_vocab_txt(bytes, subject)
                                   : parse_tokenizer_json(bytes, subject, true);
}

Status check(std::string_view bytes) {
  HEADWISE_ASSIGN(auto spec, parse(bytes));
  const Json json = spec.json;
  HEADWISE_ASSIGN(const auto decoder,
                  read_decoder({json.find("decoder"), spec.subject, ""}));
  HEADWISE_ASSIGN(const auto encoder, TextEncoder::make(std::move(spec)));
  EncodeMemory memory;
  for (const std::string_view text : fuzz::kTexts) {
    HEADWISE_ASSIGN(const auto encoded, encoder.encode(text, true, memory));
    std::vector<std::string> tokens;
    for (std::size_t t = 0; t < encoded.size(); ++t) {
      const auto& [begin, end] = encoded.offsets[t];
      const auto id = static_cast<ModelId>(encoded.ids[t]);
      const auto* const added = encoder.added_tokens().token(id);
      fuzz::require(begin <= end && end <= text.size());
      tokens.emplace_back(added ? added->text
                                : encoder.model().token(id).value());
    }
    HEADWISE_TRY(decoder.apply(tokens));
  }
  return ok();
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto done =
      headwise::tokenizer::check({reinterpret_cast<const char*>(data), size});
  fuzz::require(done || !done.error().message().empty());
  return 0;
}
