// A JSON text of which a reader takes a part and passes over the rest. None of
// it may hold one key twice in an object, nor be nested deeper than files are.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "interop/json_events.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

class NestedJsonEvents : public JsonEvents {
 protected:
  // How many objects and arrays are open.
  std::size_t depth() const { return keys_.size(); }
  // False, with a fault, where that is one too many.
  bool open();
  bool close();

  // Of the object that was opened last; false, with a fault, when it has it.
  bool add_key(std::string key);
  bool twice(std::string_view key);

 private:
  // Of each object that is open; none of an array's.
  std::vector<std::set<std::string>> keys_;
};

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
