// The options of the norm of a layer's queries and keys, the same in every
// command, as they are typed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/steps/norm_heads.h"
#include "shell/option_row.h"

namespace headwise::cli {

class Arguments;

// An empty string is an option that was not given.
struct QkNormFlags {
  std::string kind;
  std::string over;
  std::optional<double> eps;
  bool plus_one = false;

  // No value: the layer has none, or its files say which. Errors:
  // invalid_argument for an option that needs --qk-norm.
  Result<std::optional<QkNorm>> norm() const;
};

std::vector<OptionRow> qk_norm_options(QkNormFlags& flags);
void add_qk_norm_options(const Arguments& command, QkNormFlags& flags);

}  // namespace headwise::cli
