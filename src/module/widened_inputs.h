// The inputs of a layer's call as float32: the layer computes in float32,
// whatever its inputs are.
#pragma once

#include <array>
#include <cstddef>

#include "base/memory_overlap.h"
#include "headwise/base/result.h"
#include "headwise/run/executor.h"
#include "module/layer_moves.h"
#include "steps/widen.h"

namespace headwise::inline HEADWISE_ABI {

class WidenedInputs {
 public:
  // Inputs that are one tensor are widened once and stay one tensor, as they
  // are then projected in one pass. Errors: out_of_memory.
  template <class T>
  static Result<WidenedInputs> create(const LayerInputsOf<T>& inputs,
                                      const Executor& executor) {
    WidenedInputs made;
    const std::array all = {inputs.query, inputs.key, inputs.value};
    for (std::size_t n = 0; n < all.size(); ++n) {
      made.place_[n] = n;
      for (std::size_t earlier = n; earlier-- > 0;) {
        if (is_same_view(all[earlier], all[n])) {
          made.place_[n] = earlier;
        }
      }
      if (made.place_[n] == n) {
        auto widened = Widened::create(all[n], executor);
        HEADWISE_TRY(widened);
        made.tensors_[n] = *std::move(widened);
      }
    }
    return made;
  }

  LayerInputs views() const {
    return {tensors_[place_[0]].view(), tensors_[place_[1]].view(),
            tensors_[place_[2]].view()};
  }

 private:
  std::array<Widened, 3> tensors_;
  std::array<std::size_t, 3> place_{};  // where each input is
};

}  // namespace headwise::inline HEADWISE_ABI
