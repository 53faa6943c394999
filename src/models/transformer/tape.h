// A forward pass in training, and the way back through it: each value with its
// gradient, and for each step what it passes back.
//
// Example: y = f(x).
//   Node& y = tape.add(f(x.value));
//   tape.record(y, [&x](Rows d_y) { return Tape::arrive(x, d_x(d_y)); });
#pragma once

#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/version.h"
#include "transformer/params.h"
#include "transformer/pass_parts.h"

namespace headwise::inline HEADWISE_ABI::transformer {

// Its value stays in its place: what is saved of attention views it.
struct Node {
  Rows value;
  Rows gradient{};  // empty: nothing has arrived
};

class Tape {
 public:
  using Back = std::function<Status(Rows gradient)>;

  Node& add(Rows value) { return nodes_.emplace_back(Node{std::move(value)}); }
  // `back` is given the gradient of y.
  void record(Node& y, Back back) { steps_.emplace_back(&y, std::move(back)); }

  // Adds to what arrived at a node, in the order of the calls.
  static void arrive(Node& x, Rows d) {
    if (x.gradient.size() == 0) {
      x.gradient = std::move(d);
    } else {
      add_to(x.gradient, d);
    }
  }

  // From the gradient at the last node; each step's memory is freed behind it.
  Status run_back(Rows gradient) {
    nodes_.back().gradient = std::move(gradient);
    for (; !steps_.empty(); steps_.pop_back()) {
      auto& [y, back] = steps_.back();
      HEADWISE_TRY(back(std::move(y->gradient)));
      y->value = {};
    }
    return ok();
  }

 private:
  std::deque<Node> nodes_;
  std::vector<std::pair<Node*, Back>> steps_;
};

}  // namespace headwise::inline HEADWISE_ABI::transformer
