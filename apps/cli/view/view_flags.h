// The options of `headwise view`, as typed; an empty string is an option that
// was not given.
#pragma once

#include <string>

#include "page_attribution.h"
#include "viewed_flags.h"

namespace headwise::cli {

struct ViewFlags {
  ViewedFlags seen;
  PageAttributionFlags attribution;
  std::string title;
  std::string out;
  std::string svg;
  std::string png;
  std::string head;  // "LAYER.HEAD"
  std::string sort;
  bool json = false;
  bool open = false;
  bool no_elements = false;
  std::string typed;  // the whole command line

  // Whether the page is made: --open alone makes a temporary file.
  bool page() const { return !out.empty() || open; }
  bool pictures() const { return !svg.empty() || !png.empty(); }
};

}  // namespace headwise::cli
