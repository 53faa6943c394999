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

namespace headwise::inline HEADWISE_ABI {

using tokenizer::EncodedText;
using tokenizer::EncodeMemory;

namespace {

// Memory for the calls in progress, and what they have given back.
class MemoryPool {
 public:
  template <class Work>
  auto lend(const Work& work) {
    std::unique_ptr<EncodeMemory> memory;
    {
      const std::lock_guard lock(mutex_);
      if (!unused_.empty()) {
        memory = std::move(unused_.back());
        unused_.pop_back();
      }
    }
    if (!memory) {
      memory = std::make_unique<EncodeMemory>();
    }
    auto result = work(*memory);
    const std::lock_guard lock(mutex_);
    unused_.push_back(std::move(memory));
    return result;
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<EncodeMemory>> unused_;
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
  const JsonPart part = JsonPart(&spec.json, spec.subject, "").at("normalizer");
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

// An argument of a call.
struct NamedText {
  std::string name;
  std::string_view text;
};

// `encode(n)` of each text or pair n, on all threads.
template <class Encode>
Result<std::vector<Encoding>> encode_all(std::size_t size,
                                         const EncodeOptions& options,
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
                            for (std::size_t n = begin; n < end; ++n) {
                              auto encoding = encode(n);
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
  tokenizer::PostProcessor post_processor;
  tokenizer::Decoder decoder;
  mutable MemoryPool memory{};

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

  Result<Encoding> encode(std::string_view operation, const NamedText& first,
                          const std::optional<NamedText>& second,
                          const EncodeOptions& options) const {
    return memory.lend([&](EncodeMemory& borrowed) -> Result<Encoding> {
      const auto tokens_of =
          [&](const NamedText& named) -> Result<EncodedText> {
        HEADWISE_TRY(check_text(operation, named.name, named.text));
        auto tokens = encoder.encode(named.text, options.special_tokens_in_text,
                                     borrowed);
        if (!tokens) {
          ErrorDetails details = tokens.error().details();
          details.operation = operation;
          details.argument = named.name;
          return Error{tokens.error().code(), std::move(details)};
        }
        return EncodedText{named.text, *std::move(tokens)};
      };
      HEADWISE_ASSIGN(auto a, tokens_of(first));
      std::optional<EncodedText> b;
      if (second) {
        HEADWISE_ASSIGN(b, tokens_of(*second));
      }
      const auto text_of_token = [&](TokenId id, std::string_view matched) {
        // With lstrip or rstrip it has white space that its content has not.
        const auto known = static_cast<tokenizer::ModelId>(id);
        return encoder.added_tokens().token(known) != nullptr
                   ? matched
                   : token(id).value_or(std::string_view());
      };
      return tokenizer::finish_encoding(post_processor, operation, std::move(a),
                                        std::move(b), text_of_token, options);
    });
  }
};

Result<Hidden<Tokenizer::State>> Tokenizer::State::make(
    tokenizer::TokenizerSpec spec) {
  const Json json = spec.json;
  const JsonPart root(&json, spec.subject, "");
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
  return Hidden<State>(std::unique_ptr<State>(new State{
      std::move(encoder), std::move(post_processor), std::move(decoder)}));
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
                        json, {"parse_tokenizer", std::string(name)}));
    HEADWISE_ASSIGN(auto state, State::make(std::move(spec)));
    return Tokenizer(std::move(state));
  });
}

Result<Encoding> Tokenizer::encode(std::string_view text,
                                   const EncodeOptions& options) const {
  return catching_out_of_memory([&] {
    return state_->encode("encode", {"text", text}, {}, options);
  });
}

Result<Encoding> Tokenizer::encode_pair(std::string_view first,
                                        std::string_view second,
                                        const EncodeOptions& options) const {
  return catching_out_of_memory([&] {
    return state_->encode("encode_pair", {"first", first},
                          NamedText{"second", second}, options);
  });
}

Result<std::vector<Encoding>> Tokenizer::encode_batch(
    std::span<const std::string_view> texts,
    const EncodeOptions& options) const {
  return encode_all(texts.size(), options, [&](std::size_t n) {
    const NamedText text{"texts[" + std::to_string(n) + "]", texts[n]};
    return state_->encode("encode_batch", text, {}, options);
  });
}

Result<std::vector<Encoding>> Tokenizer::encode_batch(
    std::span<const TextPair> pairs, const EncodeOptions& options) const {
  return encode_all(pairs.size(), options, [&](std::size_t n) {
    const std::string name = "pairs[" + std::to_string(n) + "]";
    return state_->encode("encode_batch", {name + ".first", pairs[n].first},
                          NamedText{name + ".second", pairs[n].second},
                          options);
  });
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
    HEADWISE_TRY(state_->decoder.apply(tokens));
    return tokenizer::joined(tokens);
  });
}

std::size_t Tokenizer::vocab_size() const {
  return state_->encoder.model().size() +
         state_->encoder.added_tokens().new_tokens();
}

std::optional<TokenId> Tokenizer::find(std::string_view token) const {
  if (const auto* const added = state_->encoder.added_tokens().find(token)) {
    return added->id;
  }
  return state_->encoder.model().find(token);
}

std::optional<std::string_view> Tokenizer::token(TokenId id) const {
  return state_->token(id);
}

const tokenizer::Decoder& Tokenizer::decoder() const { return state_->decoder; }

bool Tokenizer::is_special(TokenId id) const {
  const auto text = token(id);
  const auto* const added =
      text ? state_->encoder.added_tokens().find(*text) : nullptr;
  return added != nullptr && added->special;
}

}  // namespace headwise::inline HEADWISE_ABI
