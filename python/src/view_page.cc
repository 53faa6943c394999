// headwise.ViewPage: the page that shows every head.
#include "headwise/inspect/view_page.h"

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "call_options.h"
#include "error.h"
#include "float_tensor.h"
#include "headwise/interop/atomic_file.h"
#include "named_fields.h"
#include "number_arguments.h"
#include "object_state.h"
#include "object_text.h"
#include "one_at_a_time.h"
#include "path_argument.h"
#include "view_changes.h"

namespace headwise::python {
namespace {

constexpr std::string_view kCreate = "ViewPage.create";
constexpr std::string_view kAdd = "ViewPage.add";
constexpr std::string_view kAddWeights = "ViewPage.add_attn_weights";

std::vector<std::string> texts(nb::handle value, ArgumentName name) {
  if (!nb::isinstance<nb::sequence>(value) || nb::isinstance<nb::str>(value)) {
    raise_kind(value, name, "a list of strings");
  }
  std::vector<std::string> list;
  for (const nb::handle text : nb::borrow<nb::sequence>(value)) {
    list.emplace_back(word(text, name));
  }
  return list;
}

// Whole numbers from 0; none for None.
std::vector<std::size_t> numbers_of(nb::handle value, ArgumentName name) {
  return value.is_none() ? std::vector<std::size_t>()
                         : counts(value, name, "(n)", 0, "0 or more");
}

Language language(nb::handle value, ArgumentName name) {
  const std::string_view given = word(value, name);
  if (const auto found = Language::named(given)) {
    return *found;
  }
  std::string codes;
  for (const Language& known : languages()) {
    codes += (codes.empty() ? "" : ", ") + std::string(known.code());
  }
  raise_word(given, name, codes);
}

ViewPageSettings settings_of(NamedFields& fields) {
  ViewPageSettings settings;
  take_text(fields, "title", settings.title);
  take_text(fields, "command", settings.command);
  take_text(fields, "model", settings.model);
  take_text(fields, "text", settings.text);
  take_text(fields, "variant", settings.variant);
  take_boolean(fields, "cross", settings.cross);
  fields.take("language", settings.language, language);
  fields.take("elements", settings.elements, boolean);
  fields.take("query_labels", settings.query_labels, texts);
  fields.take("key_labels", settings.key_labels, texts);
  fields.take("query_special", settings.query_special, numbers_of);
  fields.take("key_special", settings.key_special, numbers_of);
  take_size(fields, "sequence", settings.sequence);
  take_size(fields, "most_bytes", settings.most_bytes);
  return settings;
}

// A page, with the options that its views look at.
class PageObject {
 public:
  // What the layers are given as.
  enum class Form { query_and_key, attn_weights };

  PageObject(const nb::kwargs& keywords, Form form)
      : document_(keywords, form),
        form_(form),
        page_(value_of(ViewPage::create(std::move(document_.settings)))) {}

  // Starts another document.
  void next(const nb::kwargs& keywords) {
    Document document(keywords, form_);
    check(one_at_a_time_.run(
        [&] { return page_.next(std::move(document.settings)); }));
    document_ = std::move(document);
  }
  void add(nb::handle query, nb::handle key, nb::handle number,
           nb::handle head_numbers, nb::handle num_heads,
           const nb::kwargs& own_options) {
    expect_form(Form::query_and_key, kAdd);
    document_.options->expect_in_place();
    CallOptions own(kAdd);
    own.read(own_options, {kAttentionOptions});
    const FloatTensor queries(query, {kAdd, "query"}, "(B, Lq, Hq, D)");
    const FloatTensor keys(key, {kAdd, "key"}, "(B, Lkv, Hkv, D)");
    const std::vector<std::size_t> numbers =
        numbers_of(head_numbers, {kAdd, "head_numbers"});
    // With options of its own they are all that it has.
    const auto attention =
        own_options.size() == 0
            ? nullptr
            : std::make_shared<const AttentionOptions>(own.attention);
    const ViewedLayer layer{
        .number = unsigned_integer(number, {kAdd, "number"}),
        .attention = attention,
        .query = queries.view(),
        .key = keys.view(),
        .head_numbers = numbers,
        .num_heads = unsigned_integer(num_heads, {kAdd, "num_heads"})};
    check(one_at_a_time_.run([&] { return page_.add(layer); }));
    ++layers_;
  }
  void add_attn_weights(nb::handle attn_weights, nb::handle number,
                        nb::handle head_numbers, nb::handle num_heads) {
    expect_form(Form::attn_weights, kAddWeights);
    const FloatTensor given(attn_weights, {kAddWeights, "attn_weights"},
                            "(B, Hq, Lq, Lkv)");
    const std::vector<std::size_t> numbers =
        numbers_of(head_numbers, {kAddWeights, "head_numbers"});
    const ViewedLayer layer{
        .number = unsigned_integer(number, {kAddWeights, "number"}),
        .head_numbers = numbers,
        .num_heads = unsigned_integer(num_heads, {kAddWeights, "num_heads"}),
        .attn_weights = given.view()};
    check(one_at_a_time_.run([&] { return page_.add(layer); }));
    ++layers_;
  }
  void add_pruned(nb::handle number, nb::handle num_heads) {
    const std::size_t layer = unsigned_integer(number, {kAdd, "number"});
    const std::size_t heads = unsigned_integer(num_heads, {kAdd, "num_heads"});
    check(one_at_a_time_.run([&] { return page_.add_pruned(layer, heads); }));
    ++layers_;
  }
  // The number of layers, and the arguments of create().
  nb::dict entries() const {
    nb::dict entries;
    entries["layers"] = layers_;
    entries.update(document_.keywords);
    return entries;
  }
  void set_changes(nb::handle changes) {
    std::vector<ViewedChange> list = viewed_changes(changes);
    one_at_a_time_.run([&] { page_.set_changes(std::move(list)); });
  }
  nb::str html() {
    const std::string text =
        value_of(one_at_a_time_.run([&] { return page_.html(); }));
    return nb::str(text.c_str(), text.size());
  }
  void write(nb::handle path) {
    const std::string name = path_argument(path, {"ViewPage.write", "path"});
    check(one_at_a_time_.run([&]() -> Status {
      const auto text = page_.html();
      return text ? write_file_atomically(name, *text) : text.error();
    }));
  }

 private:
  // The settings of a document, and what their views look at.
  struct Document {
    Document(const nb::kwargs& given, Form form)
        : options(std::make_unique<CallOptions>(kCreate)), keywords(given) {
      NamedFields fields(keywords, kCreate);
      settings = settings_of(fields);
      const nb::dict rest = fields.rest();
      if (form == Form::attn_weights) {
        expect_no_options(rest);
        return;
      }
      options->read(rest, {kAttentionOptions, kOperationOptions});
      settings.attention = options->attention;
      settings.operation = options->operation;
    }

    std::unique_ptr<CallOptions> options;
    nb::kwargs keywords;  // an executor lies in it
    ViewPageSettings settings;
  };
  static void expect_no_options(const nb::dict& options) {
    if (nb::len(options) != 0) {
      const nb::object name = nb::list(options.keys())[0];
      raise_type({"ViewPage.of_attn_weights", ""},
                 std::string("there is no option ") + nb::repr(name).c_str(),
                 "settings of ViewPage.create(): attention weights "
                 "have no options of attention()");
    }
  }
  void expect_form(Form form, std::string_view operation) const {
    if (form != form_) {
      raise_value({operation, ""},
                  std::string("the page is one of ") +
                      (form_ == Form::attn_weights ? "attention weights"
                                                   : "query and key"),
                  form == Form::attn_weights ? "ViewPage.of_attn_weights()"
                                             : "ViewPage.create()");
    }
  }

  Document document_;
  Form form_;
  std::size_t layers_ = 0;
  ViewPage page_;
  OneAtATime one_at_a_time_;
};

}  // namespace

void bind_view_page(nb::module_& module) {
  nb::class_<PageObject>(module, "ViewPage",
                         R"(The page that shows every head: one HTML file.

    page = ViewPage.create(title="Mine", query_labels=tokens, key_labels=tokens)
    page.add(query, key)
    page.write("page.html")

It shows one sequence of the batch, layer by layer. next() starts another
document: another sequence, model or run, from which the reader chooses.
headwise.view() makes a page in one call.)")
      .def_static(
          "create",
          [](const nb::kwargs& settings) {
            return new PageObject(  // nanobind owns it
                settings, PageObject::Form::query_and_key);
          },
          nb::arg("settings"),
          nb::sig(
              "def create(*, title: str = '', command: str = '', "
              "model: str | None = None, text: str | None = None, "
              "variant: str | None = None, cross: bool = False, language: str "
              "= 'en', "
              "elements: bool | None = None, query_labels: Sequence[str] = (), "
              "key_labels: Sequence[str] = (), "
              "query_special: Integers = (), key_special: Integers = (), "
              "sequence: int = 0, most_bytes: int = 536870912, "
              "**options: Unpack[PlanOptions]) -> ViewPage"),
          "Labels: one per query and key of the sequence. query_special and "
          "key_special: positions, ascending, of tokens such as [CLS] that the "
          "page can hide. cross: queries and keys are of different sequences. "
          "variant: what sets this document apart from others of its text and "
          "model. elements: whether the page holds query and key and computes "
          "the "
          "weights from them; None: what is smaller. The options are those of "
          "attention(), for every "
          "layer. Errors: TypeError, ValueError for wrong arguments.")
      .def_static(
          "of_attn_weights",
          [](const nb::kwargs& settings) {
            return new PageObject(settings, PageObject::Form::attn_weights);
          },
          nb::arg("settings"),
          nb::sig("def of_attn_weights(**settings: Unpack[LabelledSettings]) "
                  "-> ViewPage"),
          "A page for add_attn_weights(). The settings of create() without the "
          "options of attention(). Errors: those of create().")
      .def("add_attn_weights", &PageObject::add_attn_weights,
           nb::arg("attn_weights").none(), nb::kw_only(), nb::arg("number") = 0,
           nb::arg("head_numbers") = nb::none(), nb::arg("num_heads") = 0,
           nb::sig("def add_attn_weights(self, attn_weights: Array, *, "
                   "number: int = 0, head_numbers: Integers | None = None, "
                   "num_heads: int = 0) -> None"),
           R"(Adds layer `number` from its attention weights.

    attn_weights  (B, Hq, Lq, Lkv)  float32, bfloat16 or float16; without B: a
                                    batch of one

The weights are shown as they are, and the page says how many rows do not sum
to 1. Keys without weight in any head are shown as masked. The rest is as in
add(). Errors: also ValueError for weights that are negative or not finite,
NotImplementedError for more than 1024 queries or keys.)")
      .def("add", &PageObject::add, nb::arg("query").none(),
           nb::arg("key").none(), nb::kw_only(), nb::arg("number") = 0,
           nb::arg("head_numbers") = nb::none(), nb::arg("num_heads") = 0,
           nb::arg("options"),
           nb::sig("def add(self, query: Array, key: Array, *, "
                   "number: int = 0, head_numbers: Integers | None = None, "
                   "num_heads: int = 0, **options: Any) -> None"),
           R"(Adds layer `number`:

    query  (B, Lq, Hq, D)    float32, bfloat16 or float16; without B: a batch
    key    (B, Lkv, Hkv, D)  of one

For a pruned layer: head_numbers (Hq), the numbers of the query's heads,
ascending, and num_heads, how many the layer had. Options of attention() replace
those of the page in this layer, such as a mask of its own; scale, softcap,
query_start and T5's offsets are the same in all layers, and either all have a
bias or none. Errors, which leave the page
unchanged: ValueError for shapes and labels that do not fit, elements that are
not finite, and a page that becomes too large; NotImplementedError for more than
1024 queries or keys with a bias or score_weight.)")
      .def("next", &PageObject::next, nb::arg("settings"),
           nb::sig("def next(self, **settings: Any) -> None"),
           "Starts another document, to which layers are then added. The "
           "settings are those of create(); the page keeps its title, command, "
           "language and most_bytes. Errors: those of create() and, for the "
           "document so far, of html().")
      .def(
          "set_changes", &PageObject::set_changes, nb::arg("changes"),
          nb::sig("def set_changes(self, "
                  "changes: Sequence[Mapping[str, Any]]) -> None"),
          R"(Lists the heads by how much they changed, those that changed most first.

For a page whose documents 2n and 2n + 1 are one text in two models or runs. A
change is a dict:

    head, other  (layer, head) in the first, and the one it is compared with
    match        (layer, head) of the second that is most similar, or None
    similarity   one overlap of the attention maps per text, from 0 to 1
    differences  by statistic: one number per text, first minus second

The page shows the means over texts with their 95% confidence intervals. Errors:
TypeError, ValueError for other entries.)")
      .def("add_pruned", &PageObject::add_pruned, nb::arg("number"),
           nb::arg("num_heads"),
           nb::sig("def add_pruned(self, number: int, num_heads: int) -> None"),
           "A layer whose heads were all pruned. Errors: ValueError for 0 "
           "heads.")
      .def(NoState("html() is its text"))
      .def("__repr__",
           [](nb::handle self) {
             return object_text(self,
                                nb::cast<const PageObject&>(self).entries());
           })
      .def("html", &PageObject::html, nb::sig("def html(self) -> str"),
           "The page of the layers so far. Errors: ValueError if there are no "
           "layers or no labels.")
      .def(
          "write", &PageObject::write, nb::arg("path"),
          nb::sig("def write(self, path: str | PathLike[str]) -> None"),
          "Writes html() to a file, completely or not at all. Errors: those of "
          "html(), and OSError.");
}

}  // namespace headwise::python
