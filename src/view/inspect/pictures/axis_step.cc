#include "inspect/pictures/axis_step.h"

#include <initializer_list>

namespace headwise::inline HEADWISE_ABI {

double axis_step(double length) {
  double power = 1e-9;
  while (power * 50 < length) {
    power *= 10;
  }
  for (const double digit : {1.0, 2.0, 5.0}) {
    if (power * digit * 5 >= length) {
      return power * digit;
    }
  }
  return power * 10;
}

}  // namespace headwise::inline HEADWISE_ABI
