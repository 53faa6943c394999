// The heads as a picture: all of them, or one.
#pragma once

#include <optional>
#include <string>

#include "headwise/base/result.h"
#include "headwise/words/language.h"
#include "view_heads.h"

namespace headwise::cli {

struct PictureWords {
  std::string title;
  std::string sort;  // the largest of this number first; empty: by layer
  Language language = Language::en;
};

// An SVG that is drawn at this zoom. Errors: those of heads_svg() and
// heads_grid_svg().
Result<std::string> view_picture(const ViewedText& text,
                                 const DrawnHeads& drawn,
                                 const std::optional<HeadId>& whole,
                                 const PictureWords& words, double zoom);

}  // namespace headwise::cli
