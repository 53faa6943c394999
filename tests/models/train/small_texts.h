// Labelled texts of the small model's vocabulary, easy to tell apart.
#pragma once

#include <string>

#include "headwise/train/labelled_text.h"

namespace headwise::testing_support {

inline LabelledText small_texts() {
  std::string lines;
  for (int n = 0; n < 10; ++n) {
    lines += n % 2 == 0 ? "body\theads matter" : "signs\twhy we";
    lines += n % 3 == 0 ? " see\n" : " !\n";
  }
  return parse_labelled_text(lines, "small.tsv").value();
}

}  // namespace headwise::testing_support
