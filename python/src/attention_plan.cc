// headwise.AttentionPlan
#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

#include "bindings.h"
#include "call_options.h"
#include "call_outputs.h"
#include "call_tensors.h"
#include "error.h"
#include "headwise/attention/plan.h"
#include "number_arguments.h"
#include "object_state.h"
#include "object_text.h"

namespace headwise::python {
namespace {

constexpr std::string_view kOperation = "AttentionPlan.create";

std::size_t size_argument(nb::handle value, const char* name) {
  return unsigned_integer(value, {kOperation, name});
}

// A plan, with the options that its views look at.
class PlanObject {
 public:
  PlanObject(const AttentionShape& shape, const nb::kwargs& keywords)
      : options_(std::make_unique<CallOptions>(kOperation)),
        keywords_(keywords),
        plan_(create(shape)) {}

  nb::object run(nb::handle query, nb::handle key, nb::handle value,
                 nb::handle offsets, const nb::kwargs& keywords) const {
    options_->expect_in_place();
    CallOptions wanted("AttentionPlan.run");
    wanted.read(keywords, {kOutputOptions});
    const CallTensors tensors(query, key, value, "AttentionPlan.run",
                              Graph::refused);
    ArgumentMemory memory;
    return run_call(
        plan_, tensors, wanted,
        offsets.is_none()
            ? Offsets()
            : offsets_argument(offsets, "AttentionPlan.run", memory));
  }
  std::size_t workspace_bytes() const { return plan_.workspace_bytes(); }
  const AttentionShape& shape() const { return plan_.spec().shape; }
  const nb::kwargs& keywords() const { return keywords_; }

 private:
  AttentionPlan create(const AttentionShape& shape) {
    options_->read(keywords_, {kAttentionOptions, kOperationOptions});
    return value_of(
        AttentionPlan::create(shape, options_->attention, options_->operation));
  }

  std::unique_ptr<CallOptions> options_;
  nb::kwargs keywords_;  // an executor lies in it
  AttentionPlan plan_;
};

// The arguments of create().
nb::str text_of(nb::handle self) {
  const auto& plan = nb::cast<const PlanObject&>(self);
  const AttentionShape& shape = plan.shape();
  nb::dict entries;
  for (const auto& [name, size] : {std::pair("B", shape.B),
                                   {"Hq", shape.Hq},
                                   {"Hkv", shape.Hkv},
                                   {"Lq", shape.Lq},
                                   {"Lkv", shape.Lkv},
                                   {"D", shape.D},
                                   {"Dv", shape.Dv}}) {
    entries[name] = size;
  }
  entries.update(plan.keywords());
  return object_text(self, entries);
}

}  // namespace

void bind_attention_plan(nb::module_& module) {
  nb::class_<PlanObject>(module, "AttentionPlan",
                         R"(Attention in two steps: check once, run many times.

    >>> plan = headwise.AttentionPlan.create(B=1, Hq=8, Hkv=8, Lq=20, Lkv=20, D=64,
    ...                                      Dv=64, mask=headwise.causal())
    >>> query, key, value = np.ones((3, 1, 20, 8, 64), np.float32)
    >>> plan.run(query, key, value).shape
    (1, 20, 8, 64)

Runs may be in several threads at once.)")
      .def_static(
          "create",
          [](nb::handle B, nb::handle Hq, nb::handle Hkv, nb::handle Lq,
             nb::handle Lkv, nb::handle D, nb::handle Dv,
             const nb::kwargs& options) {
            return new PlanObject(  // nanobind owns it

                AttentionShape{.B = size_argument(B, "B"),
                               .Hq = size_argument(Hq, "Hq"),
                               .Hkv = size_argument(Hkv, "Hkv"),
                               .Lq = size_argument(Lq, "Lq"),
                               .Lkv = size_argument(Lkv, "Lkv"),
                               .D = size_argument(D, "D"),
                               .Dv = size_argument(Dv, "Dv")},
                options);
          },
          nb::kw_only(), nb::arg("B"), nb::arg("Hq"), nb::arg("Hkv"),
          nb::arg("Lq"), nb::arg("Lkv"), nb::arg("D"), nb::arg("Dv"),
          nb::arg("options"),
          nb::sig("def create(*, B: int, Hq: int, Hkv: int, Lq: int, Lkv: int, "
                  "D: int, Dv: int, **options: Unpack[PlanOptions]) -> "
                  "AttentionPlan"),
          "The sizes are those of the tensors; the options, those of "
          "attention() but out, state, lse and softmax_rows. Errors: those of "
          "attention().")
      .def(NoState("create() it again"))
      .def("__repr__", &text_of)
      .def("run", &PlanObject::run, nb::arg("query").none(),
           nb::arg("key").none(), nb::arg("value").none(), nb::kw_only(),
           nb::arg("offsets") = nb::none(), nb::arg("outputs"),
           nb::sig(
               "def run(self, query: Array, key: Array, value: Array, *, "
               "offsets: Integers | tuple[Integers, Integers] | None = None, "
               "lse: bool | None = None, softmax_rows: bool | None = None, "
               "out: Array | None = None, "
               "state: tuple[Array, Array] | None = None) "
               "-> Array | AttentionResult"),
           "attention() with the plan's options: tensors of the plan's sizes. "
           "A plan that was created with offsets, (B + 1), takes those of this "
           "run: as many sequences, none longer than the longest of the "
           "plan's. None: the plan's own.")
      .def_prop_ro("workspace_bytes", &PlanObject::workspace_bytes,
                   "The memory that a run needs.");
}

}  // namespace headwise::python
