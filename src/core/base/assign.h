// A Result that goes to a place of its own.
#pragma once

#include <utility>

#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// After an error `place` is as before.
template <class Place, class T>
Status assign(Place& place, Result<T> result) {
  HEADWISE_TRY(result);
  place = *std::move(result);
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
