// What headwise/_safetensors.py makes a mapping of.
#include "headwise/interop/safetensors.h"

#include <nanobind/nanobind.h>

#include "bindings.h"
#include "error.h"
#include "file_access.h"
#include "new_array.h"
#include "number_arguments.h"
#include "object_state.h"
#include "one_at_a_time.h"
#include "path_argument.h"

namespace headwise::python {
namespace {

SafetensorsFile open(nb::handle path, nb::handle access) {
  const std::string name = path_argument(path, {"read_safetensors", "path"});
  const FileAccess how = file_access(access, {"read_safetensors", "access"});
  return value_of(unlocked([&] { return open_safetensors(name, how); }));
}

nb::object array(const SafetensorsFile& file, nb::handle name) {
  const std::string_view wanted = word(name, {"read_safetensors", "name"});
  Result<SafetensorsTensor> tensor =
      unlocked([&] { return file.tensor(wanted); });
  if (!tensor && tensor.error().code() == ErrorCode::out_of_range) {
    raise_as(PyExc_KeyError, tensor.error().message());
  }
  const SafetensorsTensor found = value_of(std::move(tensor));
  return read_only_array(found.view, found.bytes);
}

nb::object text(const std::string& utf8) {
  return nb::str(utf8.data(), utf8.size());
}

nb::list names(const SafetensorsFile& file) {
  nb::list names;
  for (const auto& [name, entry] : file.tensors()) {
    names.append(text(name));
  }
  return names;
}

nb::dict metadata(const SafetensorsFile& file) {
  nb::dict metadata;
  for (const auto& [key, value] : file.metadata()) {
    metadata[text(key)] = text(value);
  }
  return metadata;
}

}  // namespace

void bind_safetensors(nb::module_& module) {
  nb::class_<SafetensorsFile>(module, "OpenSafetensors",
                              "What headwise.SafetensorsFile reads from.")
      .def("array", &array, nb::arg("name").none(),
           nb::sig("def array(self, name: str) -> NDArray[Any]"))
      .def(NoState("read_safetensors() its path again"))
      .def_prop_ro("names", &names, nb::sig("def names(self) -> list[str]"))
      .def_prop_ro("metadata", &metadata,
                   nb::sig("def metadata(self) -> dict[str, str]"));
  module.def("open_safetensors", &open, nb::arg("path").none(),
             nb::arg("access").none(),
             nb::sig("def open_safetensors(path: str | bytes | "
                     "PathLike[str], access: FileAccess) -> OpenSafetensors"));
}

}  // namespace headwise::python
