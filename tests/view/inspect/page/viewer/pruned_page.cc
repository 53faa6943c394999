// Writes a page of pruned heads, for pruned_test.py to open:
//
//   inspect_pruned_page some|all FILE.html
//
// some: of five layers of four heads, the first and the last have none left;
// all: of two layers nothing is left.
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/random.h"
#include "headwise/base/tensor.h"
#include "headwise/inspect/view_page.h"

namespace headwise {
namespace {

constexpr std::size_t kHeads = 4;
const std::vector<std::string> kTokens = {"[CLS]", "the", "cat", "sat",  "on",
                                          "the",   "mat", ".",   "[SEP]"};

using LayerHeads = std::vector<std::size_t>;

Status add_layer(ViewPage& page, std::size_t number, const LayerHeads& heads) {
  if (heads.empty()) {
    return page.add_pruned(number, kHeads);
  }
  const Extents<4> extents = {1, kTokens.size(), heads.size(), 8};
  auto query = Tensor<float, 4>::create(extents);
  auto key = Tensor<float, 4>::create(extents);
  if (!query || !key) {
    return query ? key.error() : query.error();
  }
  RandomStream(Seed{number}, 0).fill_uniform(query->elements(), -3, 3);
  RandomStream(Seed{number}, 1).fill_uniform(key->elements(), -3, 3);
  return page.add({.number = number,
                   .query = *query,
                   .key = *key,
                   .head_numbers = heads,
                   .num_heads = kHeads});
}

Result<std::string> page_of(const std::vector<LayerHeads>& layers) {
  auto page = ViewPage::create({.title = "Pruned heads",
                                .command = "inspect_pruned_page",
                                .query_labels = kTokens,
                                .key_labels = kTokens,
                                .query_special = {0, kTokens.size() - 1},
                                .key_special = {0, kTokens.size() - 1}});
  if (!page) {
    return page.error();
  }
  for (std::size_t n = 0; n < layers.size(); ++n) {
    if (Status s = add_layer(*page, n, layers[n]); !s) {
      return s.error();
    }
  }
  return page->html();
}

int write(std::string_view which, const std::string& path) {
  const auto html = which == "some"
                        ? page_of({{}, {0, 2, 3}, {0, 1, 2, 3}, {3}, {}})
                        : page_of({{}, {}});
  if (!html) {
    std::cerr << html.error().message() << "\n";
    return 1;
  }
  return std::ofstream(path) << *html << std::flush ? 0 : 1;
}

}  // namespace
}  // namespace headwise

int main(int count, char** arguments) {
  if (count != 3) {
    std::cerr << "expected some|all FILE.html\n";
    return 2;
  }
  return headwise::write(arguments[1], arguments[2]);
}
