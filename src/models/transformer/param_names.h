// The parameters of a model by their names in files. Those that lie with others
// in one tensor have their own name behind that of the tensor:
// "h.0.attn.c_attn.w_q.weight".
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/version.h"
#include "transformer/description.h"
#include "transformer/params.h"

namespace headwise::inline HEADWISE_ABI::transformer {

struct NamedTable {
  Embedding* object;
  std::string name;  // without ".weight"
  std::string weight;
};
struct NamedNorm {
  RowNorm* object;
  std::string name;  // without ".weight" and ".bias"
  std::string weight;
  std::string bias;  // empty: it has none
};
// Rows of a matrix.
struct NamedPart {
  std::string name;  // without ".weight" and ".bias"
  std::string weight;
  std::string bias;
  std::size_t first = 0;
  std::size_t rows = 0;
};
struct NamedLinear {
  Linear* object;
  std::vector<NamedPart> parts;
};
struct NamedAttention {
  MultiHeadAttention* object;
  // Of a projection or norm of MultiHeadAttention::update(): "w_q".
  std::map<std::string, std::string, std::less<>> names;
  // Of its parameters: "w_q.weight".
  std::map<std::string, std::string, std::less<>> params;
};
// Sinks.
struct NamedVector {
  Tensor<float, 1>* object;
  std::string name;
};
// A table of relative positions.
struct NamedMatrix {
  Tensor<float, 2>* object;
  std::string name;
};

// All names are made at once, so that no memory can run out halfway through an
// update. What they are of must stay in its place.
class ParamNames {
 public:
  ParamNames() = default;
  ParamNames(const Description& description, Params& params);

  // Of what was named: one of the types above.
  template <class Named, class Object>
  const Named& of(const Object& object) const {
    for (const auto& entry : entries_) {
      if (const Named* const found = std::get_if<Named>(&entry);
          found != nullptr && found->object == &object) {
        return *found;
      }
    }
    static const Named kNone{};
    return kNone;
  }

  // Lets `change` write them, one after another; ends at its first error.
  using Change =
      FunctionRef<Status(std::string_view name, std::span<float> values)>;
  Status update(const Change& change) const;

  using Views = std::map<std::string, AnyView>;
  Views views() const;
  Views attention_views() const;

 private:
  class Stack;

  std::vector<std::variant<NamedTable, NamedNorm, NamedLinear, NamedAttention,
                           NamedVector, NamedMatrix>>
      entries_;
};

}  // namespace headwise::inline HEADWISE_ABI::transformer
