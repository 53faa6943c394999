// A reference to a function: like std::function, but it neither owns nor
// allocates. It must not be kept beyond the call that it is passed to.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

template <class Signature>
class FunctionRef;

template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(std::is_invocable_r_v<R, const F&, Args...> &&
           !std::is_same_v<F, FunctionRef>)
      // NOLINTNEXTLINE(google-explicit-constructor): passed as a lambda
      FunctionRef(const F& function)
      : function_(std::addressof(function)),
        call_([](const void* f, Args... args) -> R {
          return (*static_cast<const F*>(f))(std::forward<Args>(args)...);
        }) {}

  R operator()(Args... args) const {
    return call_(function_, std::forward<Args>(args)...);
  }

 private:
  const void* function_;
  R (*call_)(const void*, Args...);
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
