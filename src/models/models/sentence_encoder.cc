#include "headwise/models/sentence_encoder.h"

#include <algorithm>
#include <atomic>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "interop/error_text.h"
#include "interop/folder.h"
#include "interop/utf8.h"
#include "models/model_files.h"
#include "run/shared_progress.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kSentenceEncoder = "sentence_encoder";
// Sentences whose ids are held at a time.
constexpr std::size_t kWindow = 4096;
// Tokens that go through the layers together: enough that reading the
// parameters costs little, few enough that what they become stays in the
// caches.
constexpr std::size_t kMostTokensAtOnce = 512;
// Below, a part of the work costs more than it saves.
constexpr std::size_t kLeastTokens = 128;
constexpr std::size_t kPartsOfAThread = 4;

// The error of the first that failed.
Status first_failure(std::span<const Status> said) {
  const auto failed = std::ranges::find_if_not(
      said, [](const Status& s) { return static_cast<bool>(s); });
  return failed == said.end() ? ok() : *failed;
}

// The sentences [begin, end) of a window.
struct Part {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::vector<Part> parts_of(const RaggedTokens& ids, std::size_t threads) {
  std::size_t tokens = 0;
  for (const auto& sentence : ids) {
    tokens += sentence.size();
  }
  const std::size_t most = std::clamp(tokens / (kPartsOfAThread * threads),
                                      kLeastTokens, kMostTokensAtOnce);
  std::vector<Part> parts;
  std::size_t held = 0;
  for (std::size_t n = 0; n < ids.size(); ++n) {
    if (parts.empty() || held + ids[n].size() > most) {
      parts.push_back({n, n});
      held = 0;
    }
    parts.back().end = n + 1;
    held += ids[n].size();
  }
  return parts;
}

// How each sentence becomes tokens.
struct Reading {
  std::string prompt;
  std::size_t max_tokens;
};

// `first`: the number of the first sentence.
Result<SentenceTokens> tokens_of(const SentenceEncoder& model,
                                 std::span<const std::string_view> sentences,
                                 std::size_t first, const Reading& reading,
                                 const Executor& executor) {
  constexpr std::size_t kAtATime = 16;
  const std::size_t count = sentences.size();
  SentenceTokens done{RaggedTokens(count), std::vector<std::size_t>(count)};
  std::vector<Status> said(count, ok());
  executor.parallel_for(
      count, kAtATime, [&](std::size_t begin, std::size_t end) {
        for (std::size_t n = begin; n < end; ++n) {
          said[n] = check_utf8(
              {.operation = std::string(kSentenceEncoder),
               .argument = "sentences[" + std::to_string(first + n) + "]"},
              sentences[n]);
          if (!said[n]) {
            continue;
          }
          auto encoded =
              reading.prompt.empty()
                  ? model.encode_text(sentences[n], reading.max_tokens)
                  : model.encode_text(
                        reading.prompt + std::string(sentences[n]),
                        reading.max_tokens);
          if (!encoded) {
            said[n] = encoded.error();
            continue;
          }
          done.ids[n] = std::move(encoded->ids);
          done.cut[n] = encoded->cut;
        }
      });
  const auto failed = first_failure(said);
  return failed ? Result<SentenceTokens>(std::move(done)) : failed.error();
}

// A window of sentences: ids in, embeddings out.
class Window {
 public:
  Window(const SentenceEncoder& model, const RaggedTokens& ids,
         TensorView<float, 2> embeddings)
      : model_(model), ids_(ids), embeddings_(embeddings) {}

  // If there are enough parts, they run in parallel, each on one thread;
  // otherwise one after another, each on all threads.
  Status run(const Executor& executor, SharedProgress& count) const {
    const std::size_t threads = executor.threads();
    const std::vector<Part> parts = parts_of(ids_, threads);
    if (threads == 1 || parts.size() < threads) {
      Status s = ok();
      for (std::size_t n = 0; s && n < parts.size(); ++n) {
        s = encode(parts[n], executor);
        count.add(parts[n].end - parts[n].begin);
      }
      return s;
    }
    return run_side_by_side(parts, executor, count);
  }

 private:
  Status run_side_by_side(const std::vector<Part>& parts,
                          const Executor& executor,
                          SharedProgress& count) const {
    HEADWISE_ASSIGN(const auto alone, Executor::with_threads(1));
    std::vector<Status> done(parts.size(), ok());
    std::atomic<std::size_t> next = 0;
    executor.run_workers(
        std::min(executor.threads(), parts.size()), [&](std::size_t) {
          for (std::size_t n = next++; n < parts.size(); n = next++) {
            done[n] = encode(parts[n], alone);
            count.add(parts[n].end - parts[n].begin);
          }
        });
    return first_failure(done);
  }

  Status encode(const Part& part, const Executor& executor) const {
    return catching_out_of_memory([&]() -> Status {
      const RaggedTokens ids(
          ids_.begin() + static_cast<std::ptrdiff_t>(part.begin),
          ids_.begin() + static_cast<std::ptrdiff_t>(part.end));
      HEADWISE_ASSIGN(const auto all,
                      model_.encoder().hidden(ids, {.executor = &executor}));
      std::size_t row = 0;
      for (std::size_t n = 0; n < ids.size(); ++n) {
        const TensorView<const float, 2> hidden(&all(row, 0),
                                                {ids[n].size(), all.extent(1)});
        model_.embed(hidden, model_.settings().normalize,
                     {&embeddings_(part.begin + n, 0), embeddings_.extent(1)});
        row += ids[n].size();
      }
      return ok();
    });
  }

  const SentenceEncoder& model_;
  const RaggedTokens& ids_;
  TensorView<float, 2> embeddings_;
};

// The number of tokens taken of one sentence.
std::size_t most_tokens(const ModelSettings& settings,
                        const SentenceOptions& options) {
  return std::min(options.max_tokens.value_or(settings.max_tokens),
                  settings.max_tokens);
}

}  // namespace

Result<SentenceEncoder> SentenceEncoder::read(const std::string& folder,
                                              const ModelAccess& access) {
  return catching_out_of_memory([&]() -> Result<SentenceEncoder> {
    HEADWISE_ASSIGN(auto settings, read_model_settings(folder));
    ModelAccess alone = access;
    alone.encoder_alone = true;
    return read_of(std::move(settings), alone);
  });
}

Result<SentenceEncoder> SentenceEncoder::read_of(ModelSettings settings,
                                                 const ModelAccess& access) {
  return catching_out_of_memory([&]() -> Result<SentenceEncoder> {
    const std::string& inner = settings.transformer_folder;
    const std::string& path = settings.tokenizer_file;
    if (path != inner) {
      HEADWISE_TRY(check_regular_file("read_tokenizer", path));
      HEADWISE_ASSIGN(const auto is_there,
                      is_regular_file(kSentenceEncoder, path));
      if (!is_there) {
        return FileSubject{std::string(kSentenceEncoder), inner}.error(
            ErrorCode::io_error, "has no vocab.txt and no tokenizer.json");
      }
    }
    HEADWISE_ASSIGN(auto tokenizer,
                    Tokenizer::read(path, settings.normalization));
    if (tokenizer.vocab_size() > settings.shape.vocab_size) {
      return FileSubject{std::string(kSentenceEncoder), path}.bad_data(
          message("has {} tokens", tokenizer.vocab_size()),
          message("at most vocab_size = {}", settings.shape.vocab_size));
    }
    HEADWISE_ASSIGN(auto encoder, Transformer::read(inner, access));
    settings.shape = encoder.shape();
    HEADWISE_ASSIGN(const auto empty, tokenizer.encode(""));
    HEADWISE_ASSIGN(auto modules, read_modules(settings));
    return SentenceEncoder(std::move(settings), std::move(tokenizer),
                           std::move(encoder), std::move(modules),
                           empty.ids.size());
  });
}

Result<SentenceEncoder> SentenceEncoder::create(Transformer model,
                                                Tokenizer tokenizer) {
  return catching_out_of_memory([&]() -> Result<SentenceEncoder> {
    ModelSettings settings;
    settings.shape = model.shape();
    settings.max_tokens = settings.most_tokens();
    if (tokenizer.vocab_size() > settings.shape.vocab_size) {
      return argument_error(
          kSentenceEncoder, "tokenizer",
          message("has {} tokens", tokenizer.vocab_size()),
          message("at most vocab_size = {}", settings.shape.vocab_size));
    }
    HEADWISE_ASSIGN(const auto empty, tokenizer.encode(""));
    HEADWISE_ASSIGN(auto modules, read_modules(settings));
    return SentenceEncoder(std::move(settings), std::move(tokenizer),
                           std::move(model), std::move(modules),
                           empty.ids.size());
  });
}

Result<Encoding> SentenceEncoder::encode_text(std::string_view text,
                                              std::size_t max_tokens) const {
  return tokenizer_.encode(text, text_options(max_tokens));
}

Result<Encoding> SentenceEncoder::encode_pair(std::string_view first,
                                              std::string_view second,
                                              std::size_t max_tokens) const {
  return tokenizer_.encode_pair(first, second, text_options(max_tokens));
}

EncodeOptions SentenceEncoder::text_options(std::size_t max_tokens) const {
  return {.special_tokens_in_text = !settings_.normalization.lower_first,
          .truncation = Truncation{.max_tokens = max_tokens}};
}

Result<std::string> SentenceEncoder::prompt_of(
    const SentenceOptions& options) const {
  const std::string& name =
      options.prompt_name ? *options.prompt_name : settings_.default_prompt;
  if (name.empty()) {
    return std::string();
  }
  const auto found = settings_.prompts.find(name);
  if (found == settings_.prompts.end()) {
    std::string names;
    for (const auto& [known, text] : settings_.prompts) {
      names += (names.empty() ? "" : ", ") + printable(known);
    }
    return value_error(kSentenceEncoder, "prompt_name", printable(name),
                       names.empty() ? Message("none: the model has no prompts")
                                     : Message(std::move(names)));
  }
  if (!found->second.empty() && !settings_.pools_prompt) {
    return value_error(kSentenceEncoder, "prompt_name", printable(name),
                       "none: include_prompt of the pooling is false",
                       ErrorCode::unsupported);
  }
  return found->second;
}

Result<SentenceTokens> SentenceEncoder::tokenize(
    std::span<const std::string_view> sentences,
    const SentenceOptions& options) const {
  return catching_out_of_memory([&]() -> Result<SentenceTokens> {
    const Executor& executor =
        options.executor ? *options.executor : Executor::default_executor();
    HEADWISE_ASSIGN(auto prompt, prompt_of(options));
    return tokens_of(*this, sentences, 0,
                     {std::move(prompt), most_tokens(settings_, options)},
                     executor);
  });
}

Result<SentenceEmbeddings> SentenceEncoder::encode(
    std::span<const std::string_view> sentences,
    const SentenceOptions& options) const {
  return catching_out_of_memory([&]() -> Result<SentenceEmbeddings> {
    const Executor& executor =
        options.executor ? *options.executor : Executor::default_executor();
    HEADWISE_ASSIGN(auto embeddings, Tensor<float, 2>::create_unset(
                                         {sentences.size(), embedding_size()}));
    SentenceEmbeddings result{std::move(embeddings), {}, 0};
    HEADWISE_ASSIGN(auto prompt, prompt_of(options));
    const Reading reading{std::move(prompt), most_tokens(settings_, options)};
    SharedProgress count(options.progress, sentences.size());
    for (std::size_t first = 0; first < sentences.size(); first += kWindow) {
      const std::size_t size = std::min(kWindow, sentences.size() - first);
      HEADWISE_ASSIGN(const auto batch,
                      tokens_of(*this, sentences.subspan(first, size), first,
                                reading, executor));
      const TensorView<float, 2> to(&result.embeddings(first, 0),
                                    {size, embedding_size()});
      HEADWISE_TRY(Window(*this, batch.ids, to).run(executor, count));
      for (const auto& ids : batch.ids) {
        result.tokens += ids.size();
      }
      result.cut.insert(result.cut.end(), batch.cut.begin(), batch.cut.end());
    }
    return result;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
