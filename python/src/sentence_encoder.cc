#include "headwise/models/sentence_encoder.h"

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <vector>

#include "arithmetic_words.h"
#include "bindings.h"
#include "error.h"
#include "executor_object.h"
#include "file_access.h"
#include "new_array.h"
#include "number_arguments.h"
#include "object_state.h"
#include "object_text.h"
#include "one_at_a_time.h"
#include "path_argument.h"
#include "progress_argument.h"
#include "texts_argument.h"

namespace headwise::python {
namespace {

constexpr std::string_view kEncode = "SentenceEncoder.encode";

SentenceEncoder read(nb::handle folder, nb::handle access,
                     nb::handle arithmetic) {
  const std::string path =
      path_argument(folder, {"SentenceEncoder.read", "folder"});
  const ModelAccess how = {
      .file = file_access(access, {"SentenceEncoder.read", "access"}),
      .arithmetic = one_of(arithmetic, {"SentenceEncoder.read", "arithmetic"},
                           kArithmetics)};
  return value_of(unlocked([&] { return SentenceEncoder::read(path, how); }));
}

// headwise.SentenceEmbeddings
struct EmbeddingsObject {
  nb::object embeddings, cut;
  std::size_t tokens;
};

Tensor<std::int64_t, 1> integers_of(std::span<const std::size_t> numbers) {
  auto tensor =
      value_of(Tensor<std::int64_t, 1>::create_unset({numbers.size()}));
  std::ranges::copy(numbers, tensor.data());
  return tensor;
}

nb::object encode(const SentenceEncoder& encoder, nb::handle sentences,
                  nb::handle cut, nb::handle max_tokens, nb::handle prompt_name,
                  nb::handle progress, nb::handle executor) {
  const TextsArgument texts(
      sentences, {kEncode, "sentences"},
      "a list or another iterable of str; for one sentence, [sentence]");
  SentenceOptions options;
  if (!max_tokens.is_none()) {
    options.max_tokens = unsigned_integer(max_tokens, {kEncode, "max_tokens"});
  }
  if (!prompt_name.is_none()) {
    options.prompt_name =
        std::string(text_argument(prompt_name, {kEncode, "prompt_name"}));
  }
  if (!progress.is_none()) {
    options.progress = progress_argument(progress, {kEncode, "progress"});
  }
  if (!executor.is_none()) {
    options.executor = &executor_argument(executor, {kEncode, "executor"});
  }
  const bool with_cut = !cut.is_none() && boolean(cut, {kEncode, "cut"});
  SentenceEmbeddings done = value_of(
      unlocked([&] { return encoder.encode(texts.views(), options); }));
  nb::object embeddings = NewArray(std::move(done.embeddings)).object();
  if (!with_cut) {
    return embeddings;
  }
  return nb::cast(EmbeddingsObject{std::move(embeddings),
                                   NewArray(integers_of(done.cut)).object(),
                                   done.tokens});
}

nb::str repr(const SentenceEncoder& encoder) {
  const TransformerShape& shape = encoder.settings().shape;
  return nb::str(
             "<SentenceEncoder: {} layers, {} heads, embedding_size {}, "
             "max_tokens {}>")
      .format(shape.num_layers, shape.num_heads, encoder.embedding_size(),
              encoder.settings().max_tokens);
}

constexpr char kEncodeDocumentation[] =
    R"(The embeddings of sentences: a NumPy array of float32.

    sentences  B strings, as an iterable
    returns    (B, embedding_size)

The bits of a sentence do not depend on the other sentences or the threads.

    cut         True: return a SentenceEmbeddings, which also says how many
                tokens of each sentence were cut off
    max_tokens  number of tokens used of a sentence, with [CLS] and [SEP]; at
                most that of the model, which is the default
    prompt_name name of the prompt to prepend to each sentence, such as
                "query"; "" for no prompt; default: the model's default prompt
    progress    called with (sentences done, their number), by one thread at a
                time; what it raises ends the call
    executor    Executor.with_threads(n)

Errors: TypeError for anything but strings, ValueError for half of a surrogate
pair, with the number of the sentence; MemoryError.)";

}  // namespace

void bind_sentence_encoder(nb::module_& module) {
  nb::class_<EmbeddingsObject>(module, "SentenceEmbeddings",
                               R"(What SentenceEncoder.encode(cut=True) returns.

    embeddings  (B, embedding_size)  float32
    cut         (B)                  int64, tokens beyond max_tokens
    tokens      int                  of all sentences, without those cut off)")
      .def_ro("embeddings", &EmbeddingsObject::embeddings,
              nb::for_getter(
                  nb::sig("def embeddings(self) -> NDArray[numpy.float32]")))
      .def_ro("cut", &EmbeddingsObject::cut,
              nb::for_getter(nb::sig("def cut(self) -> NDArray[numpy.int64]")))
      .def_ro("tokens", &EmbeddingsObject::tokens)
      .def(State([](EmbeddingsObject& e) {
        return std::tie(e.embeddings, e.cut, e.tokens);
      }))
      .def("__repr__", &text_of_properties);
  nb::class_<SentenceEncoder>(
      module, "SentenceEncoder",
      R"(A model folder or a GGUF file as a function from
sentences to embeddings, as sentence-transformers computes them.

    model = headwise.SentenceEncoder.read("all-MiniLM-L6-v2")
    embeddings = model.encode(["Heads matter.", "So do we."])    # (2, 384))")
      .def_static(
          "read", &read, nb::arg("folder").none(), nb::kw_only(),
          nb::arg("access") = "mapped", nb::arg("arithmetic") = "exact",
          nb::sig("def read(folder: str | bytes | PathLike[str], *, "
                  "access: FileAccess = 'mapped', arithmetic: "
                  "Arithmetic = 'exact') "
                  "-> SentenceEncoder"),
          R"(Opens the folder of a model, or a GGUF file; headwise downloads nothing.

    access      "mapped" or "read", as in read_safetensors(): "read" for files
                that another program may change
    arithmetic  "exact", or "bf16": projections and attention multiply numbers
                rounded to bfloat16

Errors: OSError; ValueError for files with wrong content; NotImplementedError
for models that headwise does not compute; MemoryError.)")
      .def("encode", &encode, nb::arg("sentences").none(), nb::kw_only(),
           nb::arg("cut").none() = nb::none(),
           nb::arg("max_tokens").none() = nb::none(),
           nb::arg("prompt_name").none() = nb::none(),
           nb::arg("progress").none() = nb::none(),
           nb::arg("executor").none() = nb::none(),
           nb::sig("def encode(self, sentences: Iterable[str], *, "
                   "cut: bool | None = None, max_tokens: int | None = None, "
                   "prompt_name: str | None = None, "
                   "progress: Callable[[int, int], object] | None = None, "
                   "executor: Executor | None = None) "
                   "-> Array | SentenceEmbeddings"),
           kEncodeDocumentation)
      .def_prop_ro("embedding_size", &SentenceEncoder::embedding_size)
      .def_prop_ro(
          "max_tokens",
          [](const SentenceEncoder& encoder) {
            return encoder.settings().max_tokens;
          },
          "The number of tokens used of a sentence, with [CLS] and [SEP].")
      .def(NoState("read() the folder in each process"))
      .def("__repr__", &repr);
}

}  // namespace headwise::python
