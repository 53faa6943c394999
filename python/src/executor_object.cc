#include "executor_object.h"

#include <string>

#include "bindings.h"
#include "error.h"
#include "number_arguments.h"
#include "object_state.h"
#include "openmp_pool.h"

namespace headwise::python {

const Executor& executor_argument(nb::handle value, ArgumentName name) {
  const Executor* executor = nullptr;
  if (!nb::try_cast(value, executor, false) || executor == nullptr) {
    raise_kind(value, name, "a headwise.Executor");
  }
  return *executor;
}

void bind_executor(nb::module_& module) {
  nb::class_<Executor>(module, "Executor",
                       R"(The threads that do the work. Results never depend on
it. The default is as many threads as the process may use.)")
      .def_static(
          "with_threads",
          [](nb::handle threads) {
            return value_of(Executor::with_threads(unsigned_integer(
                threads, {"Executor.with_threads", "threads"})));
          },
          nb::arg("threads"),
          nb::sig("def with_threads(threads: int) -> Executor"),
          "At most this many threads, and no more than the process may use.")
      .def(NoState("threads are those of a process; make it anew"))
      .def_prop_ro("threads", &Executor::threads)
      .def("__repr__", [](const Executor& executor) {
        return nb::str("Executor.with_threads({})").format(executor.threads());
      });
  module.def(
      "openmp_executor",
      [](const char* library, std::size_t threads) {
        std::optional<Executor> executor = openmp_executor(library, threads);
        return executor ? nb::cast(*std::move(executor)) : nb::none();
      },
      nb::arg("library"), nb::arg("threads"),
      nb::sig("def openmp_executor(library: str, threads: int) -> Executor | "
              "None"),
      "An executor of the threads that this library uses through OpenMP, for "
      "headwise.torch; None where it is not loaded or has none.");
}

}  // namespace headwise::python
