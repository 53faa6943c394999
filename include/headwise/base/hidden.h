// The part of a public class that only its source file knows. The class can be
// moved, not copied, and exports nothing for that.
//
//   class Run {
//    public:
//     static Result<Run> create();
//    private:
//     struct HEADWISE_HIDDEN State;
//     explicit Run(Hidden<State> state) : state_(std::move(state)) {}
//     Hidden<State> state_;
//   };
//   Run run(std::make_unique<Run::State>());  // where State is defined
#pragma once

#include <memory>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// Empty once it was moved from.
template <typename State>
class Hidden : std::unique_ptr<State, void (*)(State*)> {
  using Owner = std::unique_ptr<State, void (*)(State*)>;

 public:
  Hidden() : Owner(nullptr, nullptr) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Hidden(std::unique_ptr<State> state)
      : Owner(state.release(), [](State* owned) { delete owned; }) {}

  using Owner::operator*;
  using Owner::operator->;
  using Owner::operator bool;
  using Owner::get;
  void reset() { Owner::reset(); }
};

}  // namespace headwise::inline HEADWISE_ABI
