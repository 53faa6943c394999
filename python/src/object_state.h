// Pickling and copying: an object's state is the tuple of its fields, from
// which an object of the same class is made again.
//
// Example:
//   nb::class_<AttentionResult>(module, "AttentionResult")
//       .def(State([](AttentionResult& r) { return std::tie(r.output, r.lse);
//       }));
#pragma once

#include <nanobind/nanobind.h>

#include <new>
#include <string>
#include <tuple>
#include <utility>

#include "error.h"

namespace headwise::python {

// `fields(object)` is a tuple of references, or an array.
template <class Fields>
class State : public nb::def_visitor<State<Fields>> {
 public:
  explicit State(Fields fields) : fields_(std::move(fields)) {}

  template <class Class, class... Extra>
  void execute(Class& bound, const Extra&...) {
    using T = typename Class::Type;
    bound.def("__getstate__", [fields = fields_](T& self) {
      return std::apply(
          [](const auto&... field) { return nb::make_tuple(field...); },
          fields(self));
    });
    bound.def(
        "__setstate__", [fields = fields_](T& self, const nb::tuple& state) {
          new (&self) T{};
          std::size_t place = 0;
          const auto set = [&]<class Field>(Field& field) {
            field = nb::cast<Field>(state[place++]);
          };
          std::apply([&](auto&... field) { (set(field), ...); }, fields(self));
        });
  }

 private:
  Fields fields_;
};

// TypeError; `instead` is what to do.
class NoState : public nb::def_visitor<NoState> {
 public:
  explicit NoState(const char* instead) : instead_(instead) {}

  template <class Class, class... Extra>
  void execute(Class& bound, const Extra&...) {
    bound.def(
        "__reduce__",
        [instead = instead_](nb::handle self) {
          raise_as(PyExc_TypeError,
                   std::string("a headwise.") +
                       nb::str(self.type().attr("__name__")).c_str() +
                       " cannot be pickled or copied: " + instead);
        },
        nb::sig("def __reduce__(self) -> Any"));
  }

 private:
  const char* instead_;
};

}  // namespace headwise::python
