#include "arithmetic_option.h"

namespace headwise::cli {

OptionRow arithmetic_option(std::string& arithmetic) {
  return {"--arithmetic", &arithmetic,
          choice({std::string(name_of(Arithmetic::exact)),
                  std::string(name_of(Arithmetic::bf16))}),
          "what is multiplied: float32 (exact, default), or numbers rounded to "
          "bfloat16, added up in float32 (bf16)",
          sets("arithmetic")};
}

Arithmetic arithmetic_of(const std::string& typed, Arithmetic otherwise) {
  if (typed.empty()) {
    return otherwise;
  }
  return typed == name_of(Arithmetic::bf16) ? Arithmetic::bf16
                                            : Arithmetic::exact;
}

}  // namespace headwise::cli
