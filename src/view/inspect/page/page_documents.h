// The documents of a page that has several (docs/viewer-page.md): what the page
// says of each without inflating it. Every function may throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headwise/json/json.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

class PageDocuments {
 public:
  std::size_t size() const { return listed_.size(); }

  // A document's JSON, and the block that holds it. Changes nothing if it
  // throws.
  void add(const Json& document, const std::optional<std::string>& variant,
           std::size_t block);

  // The page's JSON. Title, command and language are those of the first
  // document.
  Json json() const;

 private:
  // The number of the first document with these tokens.
  std::size_t with_tokens(const Json& tokens) const;

  Json head_{};
  std::vector<Json> listed_{};
  std::vector<std::pair<Json, std::size_t>> known_tokens_{};
};

}  // namespace headwise::inline HEADWISE_ABI
