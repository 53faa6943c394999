// Steps report their tensors to a TraceSink as they are computed. The library
// reports; the sink (inspect/trace.h, a test) decides what to keep.
#pragma once

#include <span>
#include <string_view>

#include "headwise/base/any_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class TraceSink {
 public:
  virtual ~TraceSink() = default;

  // A step is done. Reports its name ("scores"), the name of each axis ("B",
  // "H", "Lq", "Lkv"; "1" where the tensor is broadcast) and its tensor, which
  // is valid only during the call.
  virtual void on_step(std::string_view name,
                       std::span<const std::string_view> axes,
                       const AnyView& tensor) = 0;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
