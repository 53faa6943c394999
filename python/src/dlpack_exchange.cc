#include "dlpack_exchange.h"

#include <cstdint>

namespace headwise::python {

// As DLPack lays it out. Functions that we do not call are declared as void*.
struct DlpackExchange::Functions {
  std::uint32_t major, minor;
  const Functions* older;  // the same for an earlier version
  void* allocate;
  void* managed_from_object;
  void* object_from_managed;
  int (*read)(void* object, nb::dlpack::dltensor* into);  // may be null
  int (*current_stream)(std::int32_t device_type, std::int32_t device,
                        void** stream);
};

DlpackExchange::DlpackExchange(nb::handle type) {
  const nb::object capsule =
      nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
  if (!PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) {
    return;
  }
  functions_ = static_cast<const Functions*>(
      PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (functions_ != nullptr && functions_->major != 1) {
    functions_ = functions_->older;
  }
}

bool DlpackExchange::read(nb::handle array, nb::dlpack::dltensor& into) const {
  if (functions_ == nullptr || functions_->read == nullptr) {
    return false;
  }
  if (functions_->read(array.ptr(), &into) != 0) {
    PyErr_Clear();
    return false;
  }
  return true;
}

}  // namespace headwise::python
