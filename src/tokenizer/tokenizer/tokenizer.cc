#include "headwise/tokenizer/tokenizer.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/interop/file_subject.h"
#include "run/shared_progress.h"
#include "tokenizer/decoder.h"
#include "tokenizer/post_processor.h"
#include "tokenizer/text_encoder.h"
#include "tokenizer/tokenizer_file.h"
#include "tokenizer/tokenizer_files.h"

namespace headwise::inline HEADWISE_ABI {

using tokenizer::EncodedText;
using tokenizer::EncodeMemory;

namespace {

// What the calls in progress do not use.
class MemoryPool {
 public:
  std::unique_ptr<EncodeMemory> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!unused_.empty()) {
        auto memory = std::move(unused_.back());
        unused_.pop_back();
        return memory;
      }
    }
    return std::make_unique<EncodeMemory>();
  }
  void give(std::unique_ptr<EncodeMemory> memory) {
    const std::lock_guard lock(mutex_);
    unused_.push_back(std::move(memory));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<EncodeMemory>> unused_;
};

class LentMemory {
 public:
  explicit LentMemory(MemoryPool& pool) : pool_(pool), memory_(pool.take()) {}
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;
  ~LentMemory() { pool_.give(std::move(memory_)); }
  EncodeMemory& operator*() { return *memory_; }

 private:
  MemoryPool& pool_;
  std::unique_ptr<EncodeMemory> memory_;
};

Status check_text(std::string_view operation, const std::string& argument,
                  std::string_view text) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  HEADWISE_TRY(check_utf8(
      {.operation = std::string(operation), .argument = argument}, text));
  return text.size() < kMost
             ? ok()
             : Status(argument_error(operation, argument,
                                     message("has {} bytes", text.size()),
                                     message("less than {}", kMost)));
}

// Puts the settings in place of those of the file.
Status change_normalization(const BertNormalization& changed,
                            tokenizer::TokenizerSpec& spec) {
  if (changed == BertNormalization{}) {
    return ok();
  }
  const tokenizer::JsonPart part =
      tokenizer::JsonPart(&spec.json, spec.subject, "").at("normalizer");
  std::string type;
  HEADWISE_TRY(part.get("type", type));
  if (type != "BertNormalizer") {
    return part.fault(message("is {}", type), "BertNormalizer",
                      ErrorCode::unsupported);
  }
  Json& normalizer = spec.json["normalizer"];
  const auto set = [&](std::string_view key, std::optional<bool> value) {
    if (value) {
      normalizer[key] = *value;
    }
  };
  set("lowercase", changed.do_lower_case);
  set("strip_accents", changed.strip_accents);
  set("handle_chinese_chars", changed.tokenize_chinese_chars);
  if (changed.lower_first) {
    if (!part.at("strip_accents").exists()) {
      normalizer["strip_accents"] = normalizer["lowercase"];
    }
    normalizer["lowercase"] = true;
  }
  return ok();
}

constexpr std::string_view kEncodeBatch = "encode_batch";

// `encode(n, memory)` of each text or pair n, on all threads.
template <class Encode>
Result<std::vector<Encoding>> encode_all(std::size_t size,
                                         const EncodeOptions& options,
                                         MemoryPool& pool,
                                         const Encode& encode) {
  constexpr std::size_t kAtATime = 16;
  const Executor& executor =
      options.executor ? *options.executor : Executor::default_executor();
  return catching_out_of_memory([&]() -> Result<std::vector<Encoding>> {
    std::vector<Encoding> encodings(size);
    std::vector<Status> done(size, ok());
    SharedProgress count(options.progress, size);
    executor.parallel_for(size, kAtATime,
                          [&](std::size_t begin, std::size_t end) {
                            LentMemory memory(pool);
                            for (std::size_t n = begin; n < end; ++n) {
                              auto encoding = encode(n, *memory);
                              if (encoding) {
                                encodings[n] = *std::move(encoding);
                              } else {
                                done[n] = encoding.error();
                              }
                            }
                            count.add(end - begin);
                          });
    const auto failed =
        std::ranges::find_if(done, [](const Status& s) { return !s; });
    if (failed != done.end()) {
      return failed->error();
    }
    return encodings;
  });
}

}  // namespace

struct Tokenizer::State {
  tokenizer::TextEncoder encoder;
  std::unique_ptr<tokenizer::PostProcessor> post_processor;  // null: none
  std::unique_ptr<tokenizer::Decoder> decoder;               // null: none
  mutable MemoryPool memory;

  explicit State(tokenizer::TextEncoder made) : encoder(std::move(made)) {}

  static Result<Hidden<State>> make(tokenizer::TokenizerSpec spec);

  std::optional<std::string_view> token(TokenId id) const {
    if (id < 0 || id > std::numeric_limits<tokenizer::ModelId>::max()) {
      return {};
    }
    const auto known = static_cast<tokenizer::ModelId>(id);
    if (const auto* const added = encoder.added_tokens().token(known)) {
      return added->text;
    }
    return encoder.model().token(known);
  }

  // `argument` names the text in errors.
  Result<EncodedText> encode(std::string_view operation,
                             const std::string& argument, std::string_view text,
                             const EncodeOptions& options,
                             EncodeMemory& borrowed) const {
    HEADWISE_TRY(check_text(operation, argument, text));
    auto encoding =
        encoder.encode(text, options.special_tokens_in_text, borrowed);
    if (!encoding) {
      ErrorDetails details = encoding.error().details();
      details.operation = operation;
      details.argument = argument;
      return Error{encoding.error().code(), std::move(details)};
    }
    return EncodedText{text, *std::move(encoding)};
  }

  Result<Encoding> finish(std::string_view operation, EncodedText first,
                          std::optional<EncodedText> second,
                          const EncodeOptions& options) const {
    const auto text_of_token = [&](TokenId id) {
      return token(id).value_or(std::string_view());
    };
    return tokenizer::finish_encoding(post_processor.get(), operation,
                                      std::move(first), std::move(second),
                                      text_of_token, options);
  }
};

Result<Hidden<Tokenizer::State>> Tokenizer::State::make(
    tokenizer::TokenizerSpec spec) {
  const Json json = spec.json;
  const tokenizer::JsonPart root(&json, spec.subject, "");
  std::string version = "1.0";
  HEADWISE_TRY(root.get("version", version));
  if (version != "1.0") {
    return root.unexpected("version", "1.0", ErrorCode::unsupported);
  }
  HEADWISE_TRY(tokenizer::check_saved_truncation(root.at("truncation")));
  HEADWISE_TRY(tokenizer::check_saved_padding(root.at("padding")));
  HEADWISE_ASSIGN(auto post_processor,
                  tokenizer::read_post_processor(root.at("post_processor")));
  HEADWISE_ASSIGN(auto decoder, tokenizer::read_decoder(root.at("decoder")));
  HEADWISE_ASSIGN(auto encoder, tokenizer::TextEncoder::make(std::move(spec)));
  auto state = std::make_unique<State>(std::move(encoder));
  state->post_processor = std::move(post_processor);
  state->decoder = std::move(decoder);
  return Hidden<State>(std::move(state));
}

Result<Tokenizer> Tokenizer::read(const std::string& path,
                                  const BertNormalization& changed) {
  return catching_out_of_memory([&]() -> Result<Tokenizer> {
    HEADWISE_ASSIGN(auto spec, tokenizer::read_tokenizer_spec(path));
    HEADWISE_TRY(change_normalization(changed, spec));
    HEADWISE_ASSIGN(auto state, State::make(std::move(spec)));
    return Tokenizer(std::move(state));
  });
}

Result<Tokenizer> Tokenizer::parse(std::string_view json,
                                   std::string_view name) {
  return catching_out_of_memory([&]() -> Result<Tokenizer> {
    HEADWISE_ASSIGN(auto spec,
                    tokenizer::parse_tokenizer_json(
                        json, {"Tokenizer::parse", std::string(name)}));
    HEADWISE_ASSIGN(auto state, State::make(std::move(spec)));
    return Tokenizer(std::move(state));
  });
}

Result<Encoding> Tokenizer::encode(std::string_view text,
                                   const EncodeOptions& options) const {
  return catching_out_of_memory([&]() -> Result<Encoding> {
    LentMemory memory(state_->memory);
    HEADWISE_ASSIGN(auto first,
                    state_->encode("encode", "text", text, options, *memory));
    return state_->finish("encode", std::move(first), {}, options);
  });
}

Result<Encoding> Tokenizer::encode_pair(std::string_view first,
                                        std::string_view second,
                                        const EncodeOptions& options) const {
  return catching_out_of_memory([&]() -> Result<Encoding> {
    constexpr std::string_view kPair = "encode_pair";
    LentMemory memory(state_->memory);
    HEADWISE_ASSIGN(auto a,
                    state_->encode(kPair, "first", first, options, *memory));
    HEADWISE_ASSIGN(auto b,
                    state_->encode(kPair, "second", second, options, *memory));
    return state_->finish(kPair, std::move(a), std::move(b), options);
  });
}

Result<std::vector<Encoding>> Tokenizer::encode_batch(
    std::span<const std::string_view> texts,
    const EncodeOptions& options) const {
  const auto encode = [&](std::size_t n,
                          EncodeMemory& memory) -> Result<Encoding> {
    HEADWISE_ASSIGN(
        auto text,
        state_->encode(kEncodeBatch, "texts[" + std::to_string(n) + "]",
                       texts[n], options, memory));
    return state_->finish(kEncodeBatch, std::move(text), {}, options);
  };
  return encode_all(texts.size(), options, state_->memory, encode);
}

Result<std::vector<Encoding>> Tokenizer::encode_batch(
    std::span<const TextPair> pairs, const EncodeOptions& options) const {
  const auto encode = [&](std::size_t n,
                          EncodeMemory& memory) -> Result<Encoding> {
    const std::string name = "pairs[" + std::to_string(n) + "]";
    HEADWISE_ASSIGN(auto first,
                    state_->encode(kEncodeBatch, name + ".first",
                                   pairs[n].first, options, memory));
    HEADWISE_ASSIGN(auto second,
                    state_->encode(kEncodeBatch, name + ".second",
                                   pairs[n].second, options, memory));
    return state_->finish(kEncodeBatch, std::move(first), std::move(second),
                          options);
  };
  return encode_all(pairs.size(), options, state_->memory, encode);
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids,
                                      bool skip_special_tokens) const {
  return catching_out_of_memory([&]() -> Result<std::string> {
    std::vector<std::string> tokens;
    for (const TokenId id : ids) {
      const auto token = state_->token(id);
      if (token && !(skip_special_tokens && is_special(id))) {
        tokens.emplace_back(*token);
      }
    }
    if (state_->decoder) {
      HEADWISE_TRY(state_->decoder->apply(tokens));
    }
    const std::string_view between = state_->decoder ? "" : " ";
    std::string text;
    for (std::size_t n = 0; n < tokens.size(); ++n) {
      text += n > 0 ? between : "";
      text += tokens[n];
    }
    return text;
  });
}

std::size_t Tokenizer::vocab_size() const {
  return state_->encoder.model().size() +
         state_->encoder.added_tokens().new_tokens();
}

std::optional<TokenId> Tokenizer::find(std::string_view token) const {
  const auto added = state_->encoder.added_tokens().find(token);
  const auto found = added ? added : state_->encoder.model().find(token);
  return found ? std::optional<TokenId>(*found) : std::nullopt;
}

std::optional<std::string_view> Tokenizer::token(TokenId id) const {
  return state_->token(id);
}

const tokenizer::Decoder* Tokenizer::decoder() const {
  return state_->decoder.get();
}

bool Tokenizer::is_special(TokenId id) const {
  const auto text = token(id);
  return text && state_->encoder.added_tokens().is_special(*text);
}

}  // namespace headwise::inline HEADWISE_ABI
