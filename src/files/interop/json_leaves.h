// The values of nested settings, one by one, each with the keys that lead to
// it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// Null, a bool, a number, another number (below zero or with a point), a text.
// An empty object or list has no value.
using JsonLeaf =
    std::variant<std::monostate, bool, std::uint64_t, double, std::string>;
// {"heads", "0", "1"}: element 1 of the list "0" in the object "heads".
using JsonPath = std::vector<std::string>;
using LeafVisitor = FunctionRef<Status(const JsonPath&, const JsonLeaf&)>;

// Calls `visit` for each value of the object `text`, in its order. Errors:
// those of `visit`, which ends the reading; bad_data, about `subject`, for a
// text that is not a JSON object, is nested too deep or has a key twice in one
// of its two outer objects.
Status visit_json_leaves(std::string_view text, const FileSubject& subject,
                         LeafVisitor visit);

// "heads.0.1"
std::string path_text(std::span<const std::string> path);
// "true", "12", "null", a text as it is.
std::string leaf_text(const JsonLeaf& leaf);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
