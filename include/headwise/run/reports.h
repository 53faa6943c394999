// What steps report while they work. The library reports; the caller decides
// what to keep and to show.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "headwise/base/any_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Steps report their tensors to a TraceSink as they are computed; a Trace
// (inspect/trace.h) keeps them.
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

// The progress of a long step: the number of items done and their total, from 0
// to the total.
using Progress = std::function<void(std::size_t done, std::size_t total)>;

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
