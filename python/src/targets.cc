// headwise.available_targets, current_target, native_bf16, bf16_projections and
// promises_same_bits
#include "headwise/kernels/targets.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "error.h"
#include "number_arguments.h"

namespace headwise::python {

void bind_targets(nb::module_& module) {
  module.def("available_targets", &available_targets,
             nb::sig("def available_targets() -> list[str]"),
             "The instruction sets that headwise can use on this processor, "
             "best first, by Highway's names: \"avx3\", \"avx2\", \"neon\", "
             "...");
  module.def(
      "current_target", [] { return value_of(current_target()); },
      nb::sig("def current_target() -> str"),
      "The one in use: the best, or that of the environment variable "
      "HEADWISE_TARGET. Errors: NotImplementedError for one that is not "
      "available.");
  module.def(
      "native_bf16", [] { return value_of(native_bf16()); },
      nb::sig("def native_bf16() -> bool"),
      "Whether arithmetic=\"bf16\" uses the processor's dot products of "
      "bfloat16; elsewhere fused multiply-adds give the same bits. Errors: "
      "those of current_target().");
  module.def(
      "bf16_projections", [] { return value_of(bf16_projections()); },
      nb::sig("def bf16_projections() -> str"),
      "What multiplies the projections of arithmetic=\"bf16\": "
      "\"avx512_bf16\" if native_bf16(), otherwise \"emulated\". Errors: those "
      "of current_target().");
  module.def(
      "promises_same_bits",
      [](nb::handle target) {
        const std::string name =
            target.is_none()
                ? value_of(current_target())
                : std::string(word(target, {"promises_same_bits", "target"}));
        return promises_same_bits(name);
      },
      nb::arg("target") = nb::none(),
      nb::sig("def promises_same_bits(target: str | None = None) -> bool"),
      "Whether results have the same bits as on every other machine for which "
      "this is true; None: the current target.");
}

}  // namespace headwise::python
