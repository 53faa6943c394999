// headwise tokenize
// Texts to the ids of their tokens, and back.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/interop/token_text.h"
#include "headwise/tokenizer/tokenizer.h"
#include "operation/read_tokens.h"
#include "shell/add_command.h"
#include "shell/error_of_option.h"
#include "shell/json.h"
#include "shell/output.h"
#include "shell/progress_bar.h"
#include "shell/read_text.h"
#include "shell/threads.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kTokenizeHelp = {
    .name = "tokenize",
    .description = "turn texts into token ids, or ids into texts",
    .examples =
        R"(  echo "Heads matter." | headwise tokenize --model all-MiniLM-L6-v2 --tokens
  headwise tokenize --tokenizer tokenizer.json lines.txt --json
  echo "101 4641 3043 1012 102" | headwise tokenize --model DIR --decode)",
    .footer =
        R"(Prints one line per line of FILE: the ids, separated by spaces. With --json:
ids, tokens and offsets (the characters and bytes that each token came from).)"};

struct TokenizeFlags {
  CommandLine line;
  std::string model;
  std::string tokenizer;
  std::string texts = "-";
  bool pair = false;
  bool decode = false;
  bool no_special_tokens = false;
  bool tokens = false;
  std::optional<std::size_t> max_tokens;
  std::size_t threads = 0;  // 0: all
  bool json = false;
};

std::vector<std::string_view> token_texts(const Tokenizer& tokenizer,
                                          const Encoding& encoding) {
  std::vector<std::string_view> texts;
  for (const TokenId id : encoding.ids) {
    texts.push_back(tokenizer.token(id).value_or(""));
  }
  return texts;
}

Json span_json(const std::vector<ByteSpan>& spans) {
  Json list = Json::array();
  for (const ByteSpan& span : spans) {
    list.push_back({span.begin, span.end});
  }
  return list;
}

Json encoding_json(const Tokenizer& tokenizer, const Encoding& encoding,
                   const Tokenizer::TextPair& texts, bool is_pair) {
  auto characters = character_offsets(texts.first, encoding.offsets);
  const auto others = character_offsets(texts.second, encoding.offsets);
  Json sequences = Json::array();
  for (std::size_t t = 0; t < encoding.size(); ++t) {
    const int sequence = encoding.sequences[t];
    characters[t] = sequence == 1 ? others[t] : characters[t];
    sequences.push_back(sequence < 0 ? Json() : Json(sequence));
  }
  Json json = {{"ids", encoding.ids},
               {"tokens", token_texts(tokenizer, encoding)},
               {"offsets", span_json(characters)},
               {"byte_offsets", span_json(encoding.offsets)}};
  if (is_pair) {
    json["token_types"] = encoding.token_types;
    json["sequences"] = std::move(sequences);
  }
  if (encoding.cut > 0) {
    json["cut_tokens"] = encoding.cut;
  }
  return json;
}

// The two texts of each line; without --pair the second is empty.
Result<std::vector<Tokenizer::TextPair>> pairs_of(
    const std::vector<std::string_view>& lines, bool are_pairs,
    const FileSubject& file) {
  std::vector<Tokenizer::TextPair> pairs;
  for (const std::string_view line : lines) {
    const std::size_t tab = are_pairs ? line.find('\t') : line.size();
    if (tab == line.npos) {
      return file.of_entry(fmt::format("line {}", pairs.size() + 1))
          .bad_data("has no tab", "two texts with a tab between them");
    }
    pairs.emplace_back(line.substr(0, tab),
                       line.substr(std::min(tab + 1, line.size())));
  }
  return pairs;
}

// Of the library's argument "texts[4]", line 5; of another one, its option.
Error error_of_line(const Error& error, const std::string& file) {
  ErrorDetails details = error.details();
  const std::string argument = std::exchange(details.argument, {});
  const std::size_t bracket = argument.find('[');
  if (bracket == std::string::npos) {
    return error_of_option("--max-tokens", {error.code(), std::move(details)});
  }
  details.file = file;
  details.entry =
      fmt::format("line {}", std::stoul(argument.substr(bracket + 1)) + 1);
  return error_of_option("FILE", {error.code(), std::move(details)});
}

Outcome encode(const Tokenizer& tokenizer, const TokenizeFlags& flags,
               const Streams& streams) {
  HEADWISE_ASSIGN(const auto text, read_text("FILE", flags.texts));
  const FileSubject file{"FILE", name_of_text(flags.texts)};
  const std::vector<std::string_view> lines = text_lines(text);
  HEADWISE_TRY(check_lines(file, lines, "one text per line"));
  HEADWISE_ASSIGN(const auto pairs, pairs_of(lines, flags.pair, file));
  HEADWISE_ASSIGN(const auto executor, executor_with(flags.threads));
  const auto encodings = [&] {
    ProgressBar bar{"tokenize", "texts"};
    EncodeOptions options{.add_special_tokens = !flags.no_special_tokens,
                          .executor = &executor,
                          .progress = bar.progress()};
    if (flags.max_tokens) {
      options.truncation = Truncation{.max_tokens = *flags.max_tokens};
    }
    return flags.pair ? tokenizer.encode_batch(pairs, options)
                      : tokenizer.encode_batch(lines, options);
  }();
  if (!encodings) {
    return error_of_line(encodings.error(), name_of_text(flags.texts));
  }
  std::string out;
  for (std::size_t n = 0; n < lines.size(); ++n) {
    const Encoding& encoding = (*encodings)[n];
    out += flags.json ? json_text(encoding_json(tokenizer, encoding, pairs[n],
                                                flags.pair))
           : flags.tokens
               ? fmt::format("{}\n",
                             fmt::join(token_texts(tokenizer, encoding), " "))
               : fmt::format("{}\n", fmt::join(encoding.ids, " "));
  }
  return print(streams.out, out);
}

Outcome decode(const Tokenizer& tokenizer, const TokenizeFlags& flags,
               const Streams& streams) {
  HEADWISE_ASSIGN(const auto sequences, read_tokens("FILE", flags.texts));
  std::string out;
  for (const auto& ids : sequences) {
    HEADWISE_ASSIGN(const auto decoded,
                    tokenizer.decode(ids, flags.no_special_tokens));
    out += flags.json ? json_text(Json{{"text", decoded}}) : decoded + "\n";
  }
  return print(streams.out, out);
}

Outcome run_tokenize(const TokenizeFlags& flags, const Streams& streams) {
  if (flags.model.empty() == flags.tokenizer.empty()) {
    return usage("give --model DIR or --tokenizer FILE");
  }
  if (flags.decode && (flags.pair || flags.tokens || flags.max_tokens)) {
    return usage(
        "--pair, --tokens and --max-tokens cannot be used with --decode");
  }
  HEADWISE_TRY(flags.line.files().check());
  const bool in_folder = flags.tokenizer.empty();
  const auto tokenizer =
      Tokenizer::read(in_folder ? flags.model : flags.tokenizer);
  if (!tokenizer) {
    return error_of_option(in_folder ? "--model" : "--tokenizer",
                           tokenizer.error());
  }
  return flags.decode ? decode(*tokenizer, flags, streams)
                      : encode(*tokenizer, flags, streams);
}

void add_tokenize_options(const Arguments& command, TokenizeFlags& flags) {
  command.keep_line(flags.line);
  command.add(
      {{"FILE", &flags.texts, input_file("FILE|-"),
        "texts, one per line; with --decode, ids (default -: standard input)"},
       {"--model", &flags.model, input_file("DIR"),
        "the folder of a model: its tokenizer.json, vocab.txt, vocab.json with "
        "merges.txt, or tokenizer.model"},
       {"--tokenizer", &flags.tokenizer, input_file("FILE"),
        "one of these files, *.tiktoken, tekken.json or *.gguf"},
       {"--pair", &flags.pair, flag(),
        "each line has two texts with a tab between them"},
       {"--decode", &flags.decode, flag(), "turn ids into texts"},
       {"--no-special-tokens", &flags.no_special_tokens, flag(),
        "do not add special tokens such as [CLS]; with --decode, leave them "
        "out"},
       {"--max-tokens", &flags.max_tokens, count(),
        "cut texts to N tokens, special tokens included"},
       {"--tokens", &flags.tokens, flag(),
        "print the texts of tokens instead of ids"},
       threads_option(flags.threads),
       {"--json", &flags.json, flag(), "print one line of JSON per line"}});
}

}  // namespace

void add_tokenize(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kTokenizeHelp, add_tokenize_options, run_tokenize);
}

}  // namespace headwise::cli
