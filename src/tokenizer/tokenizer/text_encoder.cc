#include "tokenizer/text_encoder.h"

#include <utility>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// Whether the model can take the bytes of ByteLevel's words instead of the
// characters of its alphabet.
bool takes_bytes(const JsonPart& model) {
  std::string type;
  bool byte_fallback = false;
  return model.get("type", type) && type == "BPE" &&
         model.get("byte_fallback", byte_fallback) && !byte_fallback;
}

void put_token(ModelId id, Span from, EncodeMemory& memory) {
  memory.encoding.ids.push_back(id);
  memory.encoding.offsets.push_back({from.begin, from.end});
  memory.encoding.words.push_back(memory.words);
}

}  // namespace

Result<TextEncoder> TextEncoder::make(TokenizerSpec spec) {
  const JsonPart root(&spec.json, spec.subject, "");
  TextEncoder made;
  HEADWISE_ASSIGN(made.normalizer_, read_normalizer(root.at("normalizer")));
  HEADWISE_ASSIGN(made.pre_tokenizer_,
                  read_pre_tokenizer(root.at("pre_tokenizer")));
  const bool bytes =
      takes_bytes(root.at("model")) && made.pre_tokenizer_.leave_bytes();
  HEADWISE_ASSIGN(made.model_, make_model(spec, bytes));
  HEADWISE_ASSIGN(made.added_,
                  AddedTokens::read(root, *made.model_, made.normalizer_));
  return made;
}

Result<Encoding> TextEncoder::encode(std::string_view text,
                                     bool special_tokens_in_text,
                                     EncodeMemory& memory) const {
  memory.encoding = {};
  memory.words = 0;
  added_.cut(text, /*normalized=*/false, special_tokens_in_text, memory.parts);
  for (const TextPart& part : memory.parts) {
    if (part.token) {
      put_token(*part.token, {part.begin, part.end}, memory);
      ++memory.words;
    } else {
      memory.original.view(text.substr(part.begin, part.end - part.begin),
                           part.begin);
      HEADWISE_TRY(encode_part(special_tokens_in_text, memory));
    }
  }
  return std::exchange(memory.encoding, {});
}

Status TextEncoder::encode_part(bool special_tokens_in_text,
                                EncodeMemory& memory) const {
  HEADWISE_ASSIGN(const bool changed,
                  normalizer_.apply(memory.original, memory.normalized));
  const AlignedText* const source =
      changed ? &memory.normalized : &memory.original;
  added_.cut(source->text(), /*normalized=*/true, special_tokens_in_text,
             memory.inner_parts);
  for (const TextPart& inner : memory.inner_parts) {
    if (inner.token) {
      put_token(*inner.token, source->from(inner.begin, inner.end), memory);
      ++memory.words;
      continue;
    }
    memory.pieces.start(*source, {inner.begin, inner.end});
    HEADWISE_TRY(pre_tokenizer_.apply(memory.pieces));
    HEADWISE_TRY(encode_words(memory));
  }
  return ok();
}

Status TextEncoder::encode_words(EncodeMemory& memory) const {
  const AlignedText& text = memory.pieces.text();
  for (const Piece& piece : memory.pieces.pieces()) {
    HEADWISE_TRY(encode_word(memory.pieces.view(piece), memory));
    for (const ModelToken& token : memory.tokens) {
      put_token(token.id,
                text.from(piece.begin + token.begin, piece.begin + token.end),
                memory);
    }
    ++memory.words;
  }
  return ok();
}

Status TextEncoder::encode_word(std::string_view text,
                                EncodeMemory& memory) const {
  memory.tokens.clear();
  std::size_t begin = 0;
  for (std::size_t at = text.find(kWordBoundary, 1);
       at != std::string_view::npos; at = text.find(kWordBoundary, at + 1)) {
    if (model_->may_cut(last_character(text.substr(0, at)).code)) {
      HEADWISE_TRY(encode_uncut(text, begin, at, memory));
      begin = at;
    }
  }
  return encode_uncut(text, begin, text.size(), memory);
}

Status TextEncoder::encode_uncut(std::string_view text, std::size_t begin,
                                 std::size_t end, EncodeMemory& memory) const {
  text = text.substr(begin, end - begin);
  const std::size_t first = memory.tokens.size();
  if (const auto known = memory.cache.find(text)) {
    memory.tokens.insert(memory.tokens.end(), known->begin(), known->end());
  } else {
    HEADWISE_TRY(model_->encode(text, memory.model, memory.tokens));
    memory.cache.add(text, std::span(memory.tokens).subspan(first));
  }
  for (std::size_t n = first; n < memory.tokens.size(); ++n) {
    memory.tokens[n].begin += static_cast<std::uint32_t>(begin);
    memory.tokens[n].end += static_cast<std::uint32_t>(begin);
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
