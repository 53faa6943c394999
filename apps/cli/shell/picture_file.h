// Files of pictures; FilePlan::picture() checks their names.
#pragma once

#include <functional>
#include <string>

#include "outcome.h"

namespace headwise::cli {

// Gives an SVG drawn at this zoom.
using Draw = std::function<Result<std::string>(double zoom)>;

// A PNG where `png` or the ending says so, else the SVG. An empty path is an
// option that was not given.
Outcome write_picture(const std::string& path, const Draw& draw,
                      bool png = false);

}  // namespace headwise::cli
