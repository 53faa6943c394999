#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arithmetic_words.h"
#include "bindings.h"
#include "error.h"
#include "executor_object.h"
#include "headwise/attention/statistics_options.h"
#include "headwise/generate/text_generator.h"
#include "named_fields.h"
#include "new_array.h"
#include "number_arguments.h"
#include "object_state.h"
#include "one_at_a_time.h"
#include "path_argument.h"
#include "texts_argument.h"

namespace headwise::python {
namespace {

constexpr std::string_view kGenerate = "generate";

// headwise.GeneratedText
struct GeneratedObject {
  std::string text;
  nb::object ids, log_probabilities;
  std::optional<std::string> end;
  nb::object attn_weights, statistics, received, logits;
};

TextGenerator read(nb::handle folder, nb::handle arithmetic) {
  const std::string path =
      path_argument(folder, {"TextGenerator.read", "folder"});
  const ModelAccess how = {
      .arithmetic = one_of(arithmetic, {"TextGenerator.read", "arithmetic"},
                           kArithmetics)};
  return value_of(unlocked([&] { return TextGenerator::read(path, how); }));
}

// "18.6" and so on, or pairs (18, 6).
std::vector<AttentionPlace> heads_argument(nb::handle value,
                                           ArgumentName name) {
  std::vector<AttentionPlace> heads;
  constexpr std::string_view kExpected =
      "a list of heads, \"18.6\", \"cross.3.1\" or (18, 6)";
  for (const nb::handle item : list_argument(value, name, kExpected)) {
    const std::string at =
        std::string(name.argument) + "[" + std::to_string(heads.size()) + "]";
    const ArgumentName of_item{name.operation, at};
    if (PyTuple_Check(item.ptr()) && nb::len(item) == 2) {
      heads.push_back({.layer = unsigned_integer(nb::object(item[0]), of_item),
                       .head = unsigned_integer(nb::object(item[1]), of_item)});
      continue;
    }
    const std::string_view given = text_argument(item, of_item);
    const auto head = head_named(given);
    if (!head) {
      raise_value(of_item, "is " + std::string(given),
                  "LAYER.HEAD or cross.LAYER.HEAD");
    }
    heads.push_back(*head);
  }
  return heads;
}

TextOptions options_of(NamedFields& fields) {
  TextOptions options;
  take_size(fields, "max_new_tokens", options.max_new_tokens);
  take_number(fields, "temperature", options.sampling.temperature);
  take_size(fields, "top_k", options.sampling.top_k);
  take_number(fields, "top_p", options.sampling.top_p);
  fields.take("seed", options.sampling.seed.value, unsigned_integer);
  fields.take("stop", [&](nb::handle value, ArgumentName name) {
    if (PyUnicode_Check(value.ptr())) {
      options.stops = {std::string(text_argument(value, name))};
      return;
    }
    const TextsArgument texts(value, name, "a text, or a list of them");
    options.stops.assign(texts.views().begin(), texts.views().end());
  });
  take_size(fields, "keep_tokens", options.keep_tokens);
  fields.take("heads", options.heads, heads_argument);
  fields.take("ablate", options.ablate, heads_argument);
  take_boolean(fields, "statistics", options.statistics);
  take_boolean(fields, "received", options.received);
  take_boolean(fields, "logits", options.logits);
  fields.take("executor", [&](nb::handle value, ArgumentName name) {
    options.executor = &executor_argument(value, name);
  });
  return options;
}

// Texts, or lists of ids.
RaggedTokens prompts_of(const TextGenerator& model, const nb::list& given) {
  RaggedTokens prompts;
  for (const nb::handle item : given) {
    const std::string at = "prompts[" + std::to_string(prompts.size()) + "]";
    const ArgumentName name{kGenerate, at};
    if (PyUnicode_Check(item.ptr())) {
      prompts.push_back(value_of(model.prompt(text_argument(item, name))));
      continue;
    }
    auto& ids = prompts.emplace_back();
    for (const nb::handle id :
         list_argument(item, name, "a text or a list of ids")) {
      ids.push_back(integer(id, name));
    }
  }
  return prompts;
}

std::optional<std::string> word_of(const std::optional<EndReason>& end) {
  static const std::map<EndReason, const char*> kWords = {
      {EndReason::end_token, "end_token"},
      {EndReason::max_new_tokens, "max_new_tokens"},
      {EndReason::positions, "positions"},
      {EndReason::stopped, "stop"}};
  return end ? std::optional<std::string>(kWords.at(*end)) : std::nullopt;
}

// By the names of heads, (steps, kStatistics).
nb::dict statistics_of(const GeneratedText& text, const Transformer& model) {
  nb::dict made;
  const auto& steps = text.statistics;
  for (std::size_t n = 0; !steps.empty() && n < steps[0].size(); ++n) {
    const AttentionPlace& place = steps[0][n].place;
    for (std::size_t h = 0; h < steps[0][n].rows.extent(0); ++h) {
      auto rows =
          value_of(Tensor<float, 2>::create_unset({steps.size(), kStatistics}));
      for (std::size_t i = 0; i < steps.size(); ++i) {
        std::copy_n(&steps[i][n].rows(h, 0), kStatistics, &rows(i, 0));
      }
      AttentionPlace of_head = place;
      of_head.head = place.kind == AttentionKind::cross
                         ? h
                         : model.heads_in(place.layer)[h];
      made[name_of(of_head).c_str()] = NewArray(std::move(rows)).object();
    }
  }
  return made;
}

GeneratedObject object_of(GeneratedText text, const TextOptions& options,
                          const Transformer& model) {
  GeneratedObject made{.text = text.text, .end = word_of(text.end)};
  nb::list ids;
  for (const TokenId id : text.ids) {
    ids.append(id);
  }
  made.ids = std::move(ids);
  auto scores = value_of(
      Tensor<double, 1>::create_unset({text.log_probabilities.size()}));
  std::ranges::copy(text.log_probabilities, scores.data());
  made.log_probabilities = NewArray(std::move(scores)).object();
  made.statistics = statistics_of(text, model);
  nb::dict weights;
  for (std::size_t n = 0; n < text.attn_weights.size(); ++n) {
    weights[name_of(options.heads[n]).c_str()] =
        NewArray(std::move(text.attn_weights[n])).object();
  }
  made.attn_weights = std::move(weights);
  nb::list received;
  for (auto& of_layer : text.received) {
    received.append(NewArray(std::move(of_layer)).object());
  }
  made.received = std::move(received);
  made.logits = options.logits ? NewArray(std::move(text.logits)).object()
                               : nb::object(nb::none());
  return made;
}

// Shows each token to `on_token`; what that raises, or Ctrl-C, ends all.
class Shown {
 public:
  explicit Shown(nb::object on_token) : on_token_(std::move(on_token)) {}

  bool show(const GeneratedToken& token, std::string_view text) {
    const nb::gil_scoped_acquire held;
    try {
      if (PyErr_CheckSignals() != 0) {
        throw nb::python_error();
      }
      const nb::object answer =
          on_token_.is_none() ? nb::object(nb::none())
                              : on_token_(token.request, token.id,
                                          nb::str(text.data(), text.size()));
      return !answer.is(nb::bool_(false));
    } catch (...) {
      raised_ = std::current_exception();
      return false;
    }
  }
  void raise_again() const {
    if (raised_) {
      std::rethrow_exception(raised_);
    }
  }

 private:
  nb::object on_token_;
  std::exception_ptr raised_{};
};

std::vector<GeneratedObject> generate_all(const TextGenerator& model,
                                          const nb::list& prompts,
                                          const nb::kwargs& keywords) {
  NamedFields fields(keywords, kGenerate);
  const TextOptions options = options_of(fields);
  nb::object on_token = nb::none();
  fields.take("on_token", [&](nb::handle value, ArgumentName name) {
    if (!PyCallable_Check(value.ptr())) {
      raise_kind(value, name, "a function of (prompt, id, text)");
    }
    on_token = nb::borrow(value);
  });
  fields.end();
  const RaggedTokens ids = prompts_of(model, prompts);
  Shown shown(on_token);
  const auto see = [&](const GeneratedToken& token,
                       std::string_view text) -> Result<bool> {
    return shown.show(token, text);
  };
  auto texts = unlocked([&] { return model.generate(ids, options, see); });
  shown.raise_again();
  std::vector<GeneratedObject> made;
  for (GeneratedText& text : value_of(std::move(texts))) {
    made.push_back(object_of(std::move(text), options, model.model()));
  }
  return made;
}

nb::list generate_texts(const TextGenerator& model, nb::handle prompts,
                        const nb::kwargs& keywords) {
  nb::list made;
  for (GeneratedObject& text :
       generate_all(model,
                    list_argument(prompts, {kGenerate, "prompts"},
                                  "a list of texts or of lists of ids"),
                    keywords)) {
    made.append(nb::cast(std::move(text)));
  }
  return made;
}

nb::object generate(nb::handle model, nb::handle prompt,
                    const nb::kwargs& keywords) {
  nb::list prompts;
  prompts.append(prompt);
  std::optional<TextGenerator> opened;
  if (!nb::isinstance<TextGenerator>(model)) {
    opened = read(model, nb::str("exact"));
  }
  const TextGenerator& used =
      opened ? *opened : *nb::inst_ptr<TextGenerator>(model);
  return nb::cast(std::move(generate_all(used, prompts, keywords).front()));
}

nb::str repr(const GeneratedObject& text) {
  return nb::str("<GeneratedText: {} tokens, {}>")
      .format(nb::len(text.ids), text.end.value_or("ended by on_token"));
}

constexpr char kGenerateDocumentation[] =
    R"(Generates text after a prompt, and says what heads looked at.

    model   the folder of a model, a GGUF file, or a TextGenerator
    prompt  a text, or a list of token ids

The prompt is given to the model as it is: a chat template is not rendered.

    max_new_tokens  the most tokens of the text; default 64
    temperature     0: always the likeliest token; otherwise tokens are drawn
    top_k, top_p    from the top_k likeliest; of these from the likeliest that
                    have the probability top_p together
    seed            of the random numbers
    stop            a text or a list of texts, before which the text ends
    heads           whose attention weights are returned: "18.6", (18, 6), or
                    "cross.3.1" of an encoder-decoder
    statistics      True: statistics of every head for each token
    received        True: the attention that each token received
    logits          True: the logits of each token
    keep_tokens     tokens that stay in the cache of each layer: those that
                    received most attention, and the last; default all
    ablate          heads that give nothing, as `heads`
    on_token        called with (number of the prompt, id, new text) for each
                    token; if it returns False, the text ends
    executor        Executor.with_threads(n)

Errors: OSError, ValueError and NotImplementedError of reading the model;
TypeError and ValueError for arguments; MemoryError.)";

constexpr char kTextsDocumentation[] =
    R"(The same of each of many prompts, several at a time. The bits of a text
depend neither on the other prompts nor on the threads; prompt n draws from stream
n of the random numbers.)";

// What both take.
std::string signature(const std::string& begin, const std::string& returned) {
  return begin +
         ", *, max_new_tokens: int = 64, temperature: float = 0, top_k: int = "
         "0, "
         "top_p: float = 1, seed: int = 0, stop: str | Iterable[str] = (), "
         "heads: Iterable[str | tuple[int, int]] = (), ablate: Iterable[str | "
         "tuple[int, int]] = (), statistics: bool = False, received: bool = "
         "False, logits: bool = False, keep_tokens: int = 0, on_token: "
         "Callable[[int, int, str], object] | None = None, executor: Executor "
         "| "
         "None = None) -> " +
         returned;
}

}  // namespace

void bind_generate(nb::module_& module) {
  nb::class_<GeneratedObject> text(
      module, "GeneratedText",
      R"(A text that generate() returns, of n tokens.

    text               str, without special tokens
    ids                list of n ids
    log_probabilities  (n)  float64, in nats
    end                "end_token", "max_new_tokens", "positions" or "stop";
                       None if on_token ended it
    attn_weights       by head: (n, L) float32, row i that of the query that
                       chose token i; L tokens of the prompt and the text
    statistics         by head: (n, 8) float32, columns as headwise.STATISTICS
    received           by layer: (heads, tokens) float32
    logits             (n, vocab_size) float32, or None)");
  const auto add = [&](const char* name, const char* type, auto member) {
    const std::string getter = std::string("def ") + name + "(self) -> " + type;
    text.def_ro(name, member, nb::for_getter(nb::sig(getter.c_str())));
  };
  add("text", "str", &GeneratedObject::text);
  add("ids", "list[int]", &GeneratedObject::ids);
  add("log_probabilities", "NDArray[numpy.float64]",
      &GeneratedObject::log_probabilities);
  add("end", "str | None", &GeneratedObject::end);
  add("attn_weights", "dict[str, NDArray[numpy.float32]]",
      &GeneratedObject::attn_weights);
  add("statistics", "dict[str, NDArray[numpy.float32]]",
      &GeneratedObject::statistics);
  add("received", "list[NDArray[numpy.float32]]", &GeneratedObject::received);
  add("logits", "NDArray[numpy.float32] | None", &GeneratedObject::logits);
  text.def(State([](GeneratedObject& t) {
        return std::tie(t.text, t.ids, t.log_probabilities, t.end,
                        t.attn_weights, t.statistics, t.received, t.logits);
      }))
      .def("__repr__", &repr);
  nb::class_<TextGenerator>(module, "TextGenerator",
                            R"(A model that generates text, for generate().

    model = headwise.TextGenerator.read("SmolLM2-135M")
    headwise.generate(model, "The capital of France is").text)")
      .def_static(
          "read", &read, nb::arg("folder").none(), nb::kw_only(),
          nb::arg("arithmetic") = "exact",
          nb::sig("def read(folder: str | bytes | PathLike[str], *, "
                  "arithmetic: Arithmetic = 'exact') -> TextGenerator"),
          R"(Reads the folder of a model or a GGUF file; headwise downloads nothing.

    arithmetic  "exact", or "bf16": products of numbers rounded to bfloat16, and
                half the memory

Errors: OSError; ValueError for wrong content; NotImplementedError for parts
that headwise does not compute; MemoryError.)")
      .def("generate", &generate_texts, nb::arg("prompts").none(),
           nb::arg("options"),
           nb::sig(signature("def generate(self, prompts: Iterable[str | "
                             "Iterable[int]]",
                             "list[GeneratedText]")
                       .c_str()),
           kTextsDocumentation)
      .def(NoState("read it again"))
      .def("__repr__", [](const TextGenerator& model) {
        return nb::str("<TextGenerator: {}, {} layers>")
            .format(model.model().shape().family,
                    model.model().shape().num_layers);
      });
  module.def(
      "generate", &generate, nb::arg("model").none(), nb::arg("prompt").none(),
      nb::arg("options"),
      nb::sig(signature("def generate(model: str | bytes | PathLike[str] | "
                        "TextGenerator, prompt: str | Iterable[int]",
                        "GeneratedText")
                  .c_str()),
      kGenerateDocumentation);
}

}  // namespace headwise::python
