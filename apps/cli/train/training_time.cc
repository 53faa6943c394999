#include "training_time.h"

#include "shell/say.h"

namespace headwise::cli {

std::string training_time(double seconds, Arithmetic arithmetic) {
  return say("{:.1f} s{}", seconds,
             arithmetic == Arithmetic::bf16 ? ", bf16" : "");
}

}  // namespace headwise::cli
