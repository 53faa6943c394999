#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.h"
#include "error.h"
#include "executor_object.h"
#include "headwise/tokenizer/decode_stream.h"
#include "headwise/tokenizer/tokenizer.h"
#include "named_fields.h"
#include "number_arguments.h"
#include "object_state.h"
#include "one_at_a_time.h"
#include "path_argument.h"
#include "progress_argument.h"
#include "texts_argument.h"

namespace headwise::python {
namespace {

// headwise.Encoding
struct EncodingObject {
  Encoding encoding;
  std::vector<ByteSpan> characters;  // the offsets
  std::vector<EncodingObject> overflowing;
  nb::object tokenizer{};  // which knows the texts of tokens; not in parts
};

EncodingObject object_of(Encoding encoding, const Tokenizer::TextPair& texts) {
  EncodingObject object{.encoding = std::move(encoding)};
  const Encoding& whole = object.encoding;
  object.characters = character_offsets(texts.first, whole.offsets);
  if (!texts.second.empty()) {  // each token's are of its own text
    const auto others = character_offsets(texts.second, whole.offsets);
    for (std::size_t t = 0; t < whole.size(); ++t) {
      object.characters[t] =
          whole.sequences[t] == 1 ? others[t] : object.characters[t];
    }
  }
  for (Encoding& part : object.encoding.overflowing) {
    object.overflowing.push_back(object_of(std::move(part), texts));
  }
  return object;
}

template <class Values, class Made>
nb::list list_of(Values&& values, const Made& made) {
  nb::list list =
      nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(values.size())));
  Py_ssize_t at = 0;
  for (auto& value : values) {
    PyList_SetItem(list.ptr(), at++, nb::object(made(value)).release().ptr());
  }
  return list;
}

nb::list span_list(const std::vector<ByteSpan>& spans) {
  return list_of(spans, [](const ByteSpan& span) {
    return nb::make_tuple(span.begin, span.end);
  });
}

// With `or_none` negative numbers are None.
template <class Number>
nb::list number_list(const std::vector<Number>& numbers, bool or_none) {
  return list_of(numbers, [or_none](Number number) {
    return or_none && number < 0
               ? nb::object(nb::none())
               : nb::object(nb::int_(static_cast<std::int64_t>(number)));
  });
}

EncodeOptions encode_options(const nb::kwargs& keywords,
                             std::string_view operation) {
  static constexpr EnumWord<TruncationStrategy> kStrategies[] = {
      {"longest_first", TruncationStrategy::longest_first},
      {"only_first", TruncationStrategy::only_first},
      {"only_second", TruncationStrategy::only_second}};
  static constexpr EnumWord<TruncationSide> kSides[] = {
      {"right", TruncationSide::right}, {"left", TruncationSide::left}};
  NamedFields fields(keywords, operation);
  EncodeOptions options;
  std::optional<std::size_t> max_tokens;
  Truncation truncation;
  take_boolean(fields, "add_special_tokens", options.add_special_tokens);
  fields.take("max_tokens", max_tokens, unsigned_integer);
  take_size(fields, "stride", truncation.stride);
  take_word(fields, "truncation", truncation.strategy, kStrategies);
  take_word(fields, "side", truncation.side, kSides);
  take_boolean(fields, "overflowing", truncation.keep_overflowing);
  fields.take("executor", [&](nb::handle value, ArgumentName name) {
    options.executor = &executor_argument(value, name);
  });
  fields.take("progress", options.progress, progress_argument);
  fields.end();
  if (max_tokens) {
    truncation.max_tokens = *max_tokens;
    options.truncation = truncation;
  }
  return options;
}

// A bound method's object, as C++ and as Python see it.
const Tokenizer& tokenizer_of(nb::handle self) {
  return *nb::inst_ptr<Tokenizer>(self);
}

nb::object with_tokenizer(EncodingObject object, nb::handle self) {
  object.tokenizer = nb::borrow(self);
  return nb::cast(std::move(object));
}

nb::object encode(nb::handle self, nb::handle text, nb::handle pair,
                  const nb::kwargs& keywords) {
  constexpr std::string_view kEncode = "Tokenizer.encode";
  const std::string_view first = text_argument(text, {kEncode, "text"});
  const std::string_view second =
      pair.is_none() ? "" : text_argument(pair, {kEncode, "pair"});
  const EncodeOptions options = encode_options(keywords, kEncode);
  const Tokenizer& tokenizer = tokenizer_of(self);
  auto encoding =
      value_of(pair.is_none() ? tokenizer.encode(first, options)
                              : tokenizer.encode_pair(first, second, options));
  return with_tokenizer(object_of(std::move(encoding), {first, second}), self);
}

constexpr std::string_view kEncodeBatch = "Tokenizer.encode_batch";

// The texts of each item; the second is empty where there are no pairs.
std::vector<Tokenizer::TextPair> pairs_of(const nb::list& items,
                                          bool are_pairs) {
  std::vector<Tokenizer::TextPair> pairs;
  for (const nb::handle item : items) {
    const std::string name = "texts[" + std::to_string(pairs.size()) + "]";
    if (!are_pairs) {
      pairs.emplace_back(text_argument(item, {kEncodeBatch, name}), "");
    } else if (!PyTuple_Check(item.ptr()) || nb::len(item) != 2) {
      raise_kind(item, {kEncodeBatch, name}, "pairs of str in all places");
    } else {
      pairs.emplace_back(
          text_argument(nb::object(item[0]), {kEncodeBatch, name + "[0]"}),
          text_argument(nb::object(item[1]), {kEncodeBatch, name + "[1]"}));
    }
  }
  return pairs;
}

nb::list encode_batch(nb::handle self, nb::handle given,
                      const nb::kwargs& keywords) {
  const nb::list items = list_argument(given, {kEncodeBatch, "texts"},
                                       "a list of str or of pairs of str");
  const EncodeOptions options = encode_options(keywords, kEncodeBatch);
  const bool are_pairs = nb::len(items) > 0 && PyTuple_Check(items[0].ptr());
  const auto pairs = pairs_of(items, are_pairs);
  std::vector<std::string_view> texts;
  for (const auto& [text, second] : pairs) {
    texts.push_back(text);
  }
  const Tokenizer& tokenizer = tokenizer_of(self);
  std::vector<EncodingObject> objects;
  check(unlocked([&]() -> Status {
    HEADWISE_ASSIGN(auto done, are_pairs
                                   ? tokenizer.encode_batch(pairs, options)
                                   : tokenizer.encode_batch(texts, options));
    objects.reserve(done.size());
    for (std::size_t n = 0; n < done.size(); ++n) {
      objects.push_back(object_of(std::move(done[n]), pairs[n]));
    }
    return ok();
  }));
  return list_of(objects, [&](EncodingObject& object) {
    return with_tokenizer(std::move(object), self);
  });
}

std::string decode(const Tokenizer& tokenizer, nb::handle ids,
                   bool skip_special_tokens) {
  constexpr std::string_view kDecode = "Tokenizer.decode";
  std::vector<TokenId> numbers;
  for (const nb::handle id :
       list_argument(ids, {kDecode, "ids"}, "a list of ids")) {
    const std::string name = "ids[" + std::to_string(numbers.size()) + "]";
    numbers.push_back(integer(id, {kDecode, name}));
  }
  return value_of(tokenizer.decode(numbers, skip_special_tokens));
}

nb::list tokens_of(const EncodingObject& object) {
  const Tokenizer& tokenizer = tokenizer_of(object.tokenizer);
  return list_of(object.encoding.ids, [&](TokenId id) {
    const auto text = tokenizer.token(id).value_or(std::string_view());
    return nb::str(text.data(), text.size());
  });
}

nb::list overflowing_of(const EncodingObject& object) {
  return list_of(object.overflowing, [&](const EncodingObject& part) {
    return with_tokenizer(part, object.tokenizer);
  });
}

nb::list special_mask_of(const EncodingObject& object) {
  return list_of(object.encoding.sequences, [](std::int8_t sequence) {
    return nb::int_(sequence < 0 ? 1 : 0);
  });
}

constexpr char kEncodeDocumentation[] =
    R"(The tokens of a text, or of a pair of texts: an Encoding.

    add_special_tokens  also the tokens that the model expects around texts
    max_tokens          cut to this number of tokens, added ones included
    overflowing         keep what is cut off, in Encoding.overflowing
    stride              tokens that parts of Encoding.overflowing have in common
    truncation          "longest_first", "only_first" or "only_second": which
                        text of a pair loses tokens
    side                "right" or "left": where tokens are cut off

Errors: TypeError for anything but strings; ValueError for half of a surrogate
pair, for a character that the model has no token for and for options that do not
fit; MemoryError.)";

constexpr char kBatchDocumentation[] =
    R"(The same of each of many texts, or pairs (tuples) of texts, on all threads:
a list of Encoding.

    executor  Executor.with_threads(n)
    progress  called with (texts done, their number), by one thread at a time;
              what it raises ends the call)";

void bind_encoding(nb::module_& module) {
  using Object = EncodingObject;
  nb::class_<Object> bound(module, "Encoding",
                           R"(The tokens of a text. Element t of each list
belongs to token t.

    ids           of the vocabulary
    tokens        their texts in the vocabulary
    offsets       the characters (begin, end) of its text that each came from;
                  (0, 0) for added tokens
    byte_offsets  the same in bytes of UTF-8
    token_types   0 or 1: the segment, as the model's embedding takes it
    words         the number of the word in its text; None for added tokens
    sequences     0 or 1: the text of the pair; None for added tokens
    special_mask  1 for added tokens, else 0
    cut           int: tokens left out because of max_tokens
    overflowing   the rest of the text in parts of at most max_tokens; empty
                  without overflowing=True)");
  const auto add = [&](const std::string& name, const std::string& type,
                       auto get) {
    const std::string signature = "def " + name + "(self) -> " + type;
    bound.def_prop_ro(name.c_str(), get,
                      nb::for_getter(nb::sig(signature.c_str())));
  };
  const auto add_numbers = [&](const char* name, auto numbers, bool or_none) {
    add(name, or_none ? "list[int | None]" : "list[int]",
        [numbers, or_none](const Object& e) {
          return number_list(e.encoding.*numbers, or_none);
        });
  };
  add_numbers("ids", &Encoding::ids, false);
  add("tokens", "list[str]", &tokens_of);
  add("offsets", "list[tuple[int, int]]",
      [](const Object& e) { return span_list(e.characters); });
  add("byte_offsets", "list[tuple[int, int]]",
      [](const Object& e) { return span_list(e.encoding.offsets); });
  add_numbers("token_types", &Encoding::token_types, false);
  add_numbers("words", &Encoding::words, true);
  add_numbers("sequences", &Encoding::sequences, true);
  add("special_mask", "list[int]", &special_mask_of);
  add("cut", "int", [](const Object& e) { return e.encoding.cut; });
  add("overflowing", "list[Encoding]", &overflowing_of);
  bound.def("__len__", [](const Object& e) { return e.encoding.size(); })
      .def(NoState("keep its lists"))
      .def("__repr__", [](const Object& e) -> nb::str {
        return nb::str("<Encoding: {} tokens>").format(e.encoding.size());
      });
}

Tokenizer read(nb::handle path) {
  const std::string file = path_argument(path, {"Tokenizer.read", "path"});
  return value_of(unlocked([&] { return Tokenizer::read(file); }));
}

Tokenizer parse(nb::handle json) {
  const std::string_view text =
      text_argument(json, {"Tokenizer.parse", "json"});
  return value_of(Tokenizer::parse(text, "json"));
}

std::optional<TokenId> id_of(const Tokenizer& tokenizer, nb::handle token) {
  return tokenizer.find(text_argument(token, {"Tokenizer.id", "token"}));
}

std::optional<std::string_view> token_of(const Tokenizer& tokenizer,
                                         nb::handle id) {
  return tokenizer.token(integer(id, {"Tokenizer.token", "id"}));
}

}  // namespace

void bind_tokenizer(nb::module_& module) {
  bind_encoding(module);
  nb::class_<Tokenizer>(module, "Tokenizer",
                        R"(Texts to the ids of their tokens, and back, with the
tokenizer of any model: ids, offsets and texts are those of the package tokenizers.

    tokenizer = headwise.Tokenizer.read("model")
    encoded = tokenizer.encode("Heads matter!")
    tokenizer.decode(encoded.ids))")
      .def_static(
          "read", &read, nb::arg("path").none(),
          nb::sig("def read(path: str | bytes | PathLike[str]) -> "
                  "Tokenizer"),
          R"(Reads a file or the folder of a model: tokenizer.json, vocab.txt,
vocab.json with merges.txt, tokenizer.model (SentencePiece or tiktoken ranks),
*.tiktoken, tekken.json, *.gguf.

Errors: OSError; ValueError for wrong content; NotImplementedError for parts
that headwise does not compute; MemoryError.)")
      .def_static("parse", &parse, nb::arg("json").none(),
                  nb::sig("def parse(json: str) -> Tokenizer"),
                  "Takes the text of a tokenizer.json.")
      .def("encode", &encode, nb::arg("text").none(),
           nb::arg("pair").none() = nb::none(), nb::arg("options"),
           nb::sig("def encode(self, text: str, pair: str | None = None, *, "
                   "add_special_tokens: bool = True, max_tokens: int | None = "
                   "None, stride: int = 0, truncation: TruncationStrategy = "
                   "'longest_first', side: TruncationSide = 'right', "
                   "overflowing: bool = False) -> Encoding"),
           kEncodeDocumentation)
      .def("encode_batch", &encode_batch, nb::arg("texts").none(),
           nb::arg("options"),
           nb::sig("def encode_batch(self, texts: Iterable[str] | "
                   "Iterable[tuple[str, str]], *, add_special_tokens: bool = "
                   "True, max_tokens: int | None = None, stride: int = 0, "
                   "truncation: TruncationStrategy = 'longest_first', side: "
                   "TruncationSide = 'right', overflowing: bool = False, "
                   "executor: Executor | None = None, progress: "
                   "Callable[[int, int], object] | None = None) -> "
                   "list[Encoding]"),
           kBatchDocumentation)
      .def("decode", &decode, nb::arg("ids").none(),
           nb::arg("skip_special_tokens") = true,
           nb::sig("def decode(self, ids: Iterable[int], "
                   "skip_special_tokens: bool = True) -> str"),
           "The text of ids. Ids that are no token are passed over.")
      .def("id", &id_of, nb::arg("token").none(),
           nb::sig("def id(self, token: str) -> int | None"),
           "The id of a token, or None if the vocabulary lacks it.")
      .def("token", &token_of, nb::arg("id").none(),
           nb::sig("def token(self, id: int) -> str | None"),
           "The text of a token in the vocabulary; None if there is none.")
      .def_prop_ro("vocab_size", &Tokenizer::vocab_size,
                   "The number of tokens, added ones included.")
      .def("__len__", &Tokenizer::vocab_size)
      .def(NoState("read() the file in each process"))
      .def("__repr__", [](const Tokenizer& tokenizer) -> nb::str {
        return nb::str("<Tokenizer: vocab_size {}>")
            .format(tokenizer.vocab_size());
      });
  nb::class_<DecodeStream>(module, "DecodeStream",
                           R"(The text of ids that come one by one, as a model
generates them. step() returns the text that is new, "" while a character is not
complete; finish() returns the rest. Joined, they are Tokenizer.decode() of all
ids.)")
      .def(nb::init<const Tokenizer&, bool>(), nb::arg("tokenizer"),
           nb::arg("skip_special_tokens") = true, nb::keep_alive<1, 2>())
      .def(
          "step",
          [](DecodeStream& stream, nb::handle id) {
            return value_of(
                stream.step(integer(id, {"DecodeStream.step", "id"})));
          },
          nb::arg("id").none(), nb::sig("def step(self, id: int) -> str"))
      .def("finish",
           [](DecodeStream& stream) { return value_of(stream.finish()); })
      .def(NoState("it belongs to one sequence of ids"));
}

}  // namespace headwise::python
