#include "headwise/prune/importance.h"

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <vector>

#include "argument_memory.h"
#include "bindings.h"
#include "error.h"
#include "gated_functions.h"
#include "new_array.h"
#include "number_arguments.h"
#include "object_state.h"
#include "object_text.h"
#include "progress_argument.h"

namespace headwise::python {
namespace {

constexpr std::string_view kOperation = "importance";

// headwise.HeadImportance
struct ImportanceObject {
  nb::object scores, order;
};

// The number of each layer's heads.
std::vector<std::vector<std::size_t>> heads_argument(nb::handle num_heads) {
  ArgumentMemory memory;
  const auto counts =
      integers<1>(num_heads, {kOperation, "num_heads"}, "(layers)", memory);
  std::vector<std::vector<std::size_t>> heads;
  for (std::size_t n = 0; n < counts.extent(0); ++n) {
    if (counts(n) < 0 || counts(n) > std::int64_t{1} << 20) {
      raise_value({kOperation, "num_heads[" + std::to_string(n) + "]"},
                  "is " + std::to_string(counts(n)), "0 to 2^20");
    }
    std::vector<std::size_t>& layer = heads.emplace_back();
    for (std::int64_t head = 0; head < counts(n); ++head) {
      layer.push_back(static_cast<std::size_t>(head));
    }
  }
  return heads;
}

ImportanceMethod method_argument(nb::handle method) {
  const ArgumentName name = {kOperation, "method"};
  const std::string_view given = word(method, name);
  const auto known = importance_method(given);
  if (!known) {
    std::string expected;
    for (const std::string_view each : kImportanceMethodNames) {
      expected += (expected.empty() ? "" : ", ") + std::string(each);
    }
    raise_word(given, name, expected);
  }
  return *known;
}

ImportanceObject object_of(const HeadImportance& importance) {
  nb::list scores;
  for (const std::vector<double>& layer : importance.scores) {
    auto tensor = value_of(Tensor<double, 1>::create_unset({layer.size()}));
    std::ranges::copy(layer, tensor.data());
    scores.append(NewArray(std::move(tensor)).object());
  }
  nb::list order;
  for (const HeadId& id : importance.order) {
    order.append(nb::make_tuple(id.layer, id.head));
  }
  return {std::move(scores), std::move(order)};
}

// The interpreter lock stays: all that takes time is in Python's functions.
ImportanceObject measure(nb::handle num_heads, nb::handle examples,
                         nb::handle losses, nb::handle gradients,
                         nb::handle means, nb::handle method,
                         nb::handle share_a_round, nb::handle batch,
                         nb::handle seed, nb::handle progress) {
  GatedModel model;
  model.heads = heads_argument(num_heads);
  model.examples = unsigned_integer(examples, {kOperation, "examples"});
  if (!losses.is_none()) {
    model.losses = losses_function(losses);
  }
  if (!gradients.is_none()) {
    model.gradients = gradients_function(gradients);
  }
  if (!means.is_none()) {
    model.means = means_function(means);
  }
  ImportanceOptions options;
  options.method = method_argument(method);
  if (!share_a_round.is_none()) {
    options.share_a_round =
        number(share_a_round, {kOperation, "share_a_round"});
  }
  options.batch = unsigned_integer(batch, {kOperation, "batch"});
  options.seed = {unsigned_integer(seed, {kOperation, "seed"})};
  const Progress report =
      progress.is_none()
          ? Progress()
          : progress_argument(progress, {kOperation, "progress"});
  ImportanceRun run =
      value_of(ImportanceRun::create(std::move(model), options));
  while (run.done() < run.steps()) {
    check(run.step());
    if (report) {
      report(run.done(), run.steps());
    }
  }
  return object_of(run.result());
}

constexpr char kSignature[] =
    "def importance(num_heads: Integers, *, examples: int = 0, "
    "losses: Callable[[int, int, list[NDArray[numpy.float32]]], Any] | None = "
    "None, "
    "gradients: Callable[[int, int, list[NDArray[numpy.float32]]], Any] | None "
    "= None, "
    "means: Callable[[int, int, list[NDArray[numpy.float32]]], Any] | None = "
    "None, "
    "method: ImportanceMethod = 'gradient', share_a_round: float | None = "
    "None, "
    "batch: int = 16, seed: int = 0, "
    "progress: Callable[[int, int], object] | None = None) -> HeadImportance";

constexpr char kDocumentation[] =
    R"(How much each head matters, and in which order heads could be removed.

    >>> layer = headwise.MultiHeadAttention.create(embed_dim=64, num_heads=8)
    >>> x = np.ones((4, 5, 64), np.float32)
    >>> target = np.zeros_like(x)
    >>> def losses(begin, end, gates):
    ...     output = layer(x[begin:end], head_gates=gates[0])
    ...     return ((output - target[begin:end]) ** 2).mean((1, 2))
    >>> heads = headwise.importance([8], examples=len(x), losses=losses,
    ...                             method="ablation")
    >>> heads.scores[0].shape
    (8,)
    >>> smaller = headwise.remove_heads(layer, [head for _, head in heads.order[:3]])

num_heads is the number of heads of each layer. The model is one of these
functions, of the examples [begin, end) and of the gates: for each layer a NumPy
array (heads) of float32, a factor on each head.

    losses      (examples)                            for ablation
    gradients   list of (examples, heads) by layer    for gradient and fisher:
                of each loss with respect to its gates
    means       (entropy, largest), each such a list  for entropy and confidence:
                means over the queries, of attention weights

    method         "gradient"    mean |dL/dg|, by the norm of its layer
                   "fisher"      mean (dL/dg)^2
                   "ablation"    mean L without the head, minus mean L
                   "entropy"     minus the mean entropy
                   "confidence"  the mean largest weight
                   "random"      the baseline; needs no function
    share_a_round  turn off this share of all heads, score the rest again, and so
                   on; None: in one shot
    batch          examples per call of the function
    seed           for "random"
    progress       called with (steps done, their number)

Errors: ValueError for a missing function, results of another shape, and scores
that are not finite; what the functions raise.)";

}  // namespace

void bind_importance(nb::module_& module) {
  nb::class_<ImportanceObject>(module, "HeadImportance",
                               R"(What importance() returns.

    scores  for each layer, (heads)  float64; a larger score matters more
    order   (layer, head) of all heads, in the order of removal)")
      .def_ro("scores", &ImportanceObject::scores,
              nb::sig("def scores(self) -> list[NDArray[numpy.float64]]"))
      .def_ro("order", &ImportanceObject::order,
              nb::sig("def order(self) -> list[tuple[int, int]]"))
      .def(State(
          [](ImportanceObject& i) { return std::tie(i.scores, i.order); }))
      .def("__repr__", &text_of_properties);
  module.def("importance", &measure, nb::arg("num_heads").none(), nb::kw_only(),
             nb::arg("examples").none() = 0,
             nb::arg("losses").none() = nb::none(),
             nb::arg("gradients").none() = nb::none(),
             nb::arg("means").none() = nb::none(),
             nb::arg("method").none() = "gradient",
             nb::arg("share_a_round").none() = nb::none(),
             nb::arg("batch").none() = 16, nb::arg("seed").none() = 0,
             nb::arg("progress").none() = nb::none(), nb::sig(kSignature),
             kDocumentation);
}

}  // namespace headwise::python
