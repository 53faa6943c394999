#include "headwise/steps/rotary.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/memory_overlap.h"
#include "base/out_of_memory.h"
#include "headwise/kernels/targets.h"
#include "kernels/rotary.h"
#include "run/float_environment.h"
#include "steps/rotary_frequencies.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kRotary = "rotary";
constexpr std::uint64_t kMostPositions = std::uint64_t{1} << 31;
constexpr std::size_t kPairsAtOnce = 128;

// The angles of some pairs at one position.
struct Turn {
  std::size_t first;  // pair
  std::size_t count;
  std::array<float, kPairsAtOnce> cos{};
  std::array<float, kPairsAtOnce> sin{};
};

struct Rotation {
  TensorView<const float, 4> x;
  TensorView<float, 4> y;
  const RotaryPositions& positions;
  std::string_view x_name = "x";
  std::string_view y_name = "y";
  bool back = false;
};

Status check_rotated_axis(std::string_view name,
                          const TensorView<const float, 4>& x) {
  return x.extent(3) <= 1 || x.stride(3) == 1
             ? ok()
             : Status(argument_error(
                   kRotary, name,
                   message("has stride {} on its axis D", x.stride(3)), "1"));
}

std::int64_t position_of(const RotaryPositions& at, std::size_t b,
                         std::size_t l) {
  return at.positions.data() != nullptr
             ? at.positions(b, l)
             : at.start + static_cast<std::int64_t>(l);
}

Error start_error(std::int64_t start, std::size_t rows, std::uint64_t most) {
  if (rows > most) {
    return argument_error(kRotary, "cos", message("has {} positions", most),
                          message("at least {}", rows),
                          ErrorCode::out_of_range);
  }
  return value_error(kRotary, "positions.start", std::to_string(start),
                     message("0 to {}", most - rows), ErrorCode::out_of_range);
}

Error position_error(const RotaryPositions& at, std::size_t b, std::size_t l,
                     std::uint64_t most) {
  return value_error(
      kRotary,
      "positions[" + std::to_string(b) + "][" + std::to_string(l) + "]",
      std::to_string(at.positions(b, l)), message("0 to {}", most - 1),
      ErrorCode::out_of_range);
}

bool are_shared(const RotaryPositions& at) {
  return at.positions.data() == nullptr || at.positions.stride(0) == 0;
}

Status check_positions(const RotaryPositions& at, std::size_t B, std::size_t L,
                       std::uint64_t most) {
  if (at.positions.data() != nullptr) {
    HEADWISE_TRY(check_shape(kRotary, "positions", at.positions.extents(),
                             "(B, L)", {{B, L}}));
  } else if (L != 0 &&
             (at.start < 0 || static_cast<std::uint64_t>(at.start) >= most ||
              most - static_cast<std::uint64_t>(at.start) < L)) {
    return start_error(at.start, L, most);
  }
  const std::size_t sequences =
      are_shared(at) ? std::min<std::size_t>(B, 1) : B;
  for (std::size_t b = 0; at.positions.data() != nullptr && b < sequences;
       ++b) {
    for (std::size_t l = 0; l < L; ++l) {
      const std::int64_t position = at.positions(b, l);
      if (position < 0 || static_cast<std::uint64_t>(position) >= most) {
        return position_error(at, b, l, most);
      }
    }
  }
  return ok();
}

}  // namespace

struct Rotary::State {
  std::size_t pairs = 0;
  RotaryLayout layout = RotaryLayout::halves;
  RotaryFrequencies frequencies{};
  // Tables, (positions, pairs) each; empty where there are frequencies.
  std::vector<float> cos{};
  std::vector<float> sin{};

  bool has_tables() const { return frequencies.radians.empty(); }
  std::uint64_t positions() const {
    return has_tables() ? cos.size() / pairs : kMostPositions;
  }

  // Pair `first` and those after it.
  Turn turn_at(const kernels::RotaryLoops& loops, std::int64_t position,
               std::size_t first) const {
    Turn turn{.first = first, .count = std::min(kPairsAtOnce, pairs - first)};
    if (has_tables()) {
      const std::size_t at = static_cast<std::size_t>(position) * pairs + first;
      std::copy_n(cos.data() + at, turn.count, turn.cos.data());
      std::copy_n(sin.data() + at, turn.count, turn.sin.data());
    } else {
      loops.angles(static_cast<double>(position),
                   frequencies.radians.data() + first, turn.count,
                   frequencies.factor, turn.cos.data(), turn.sin.data());
    }
    return turn;
  }

  void rotate_head(const kernels::RotaryLoops& loops, const float* x,
                   const Turn& turn, float* y) const {
    if (layout == RotaryLayout::halves) {
      const std::size_t second = pairs + turn.first;
      loops.halves(x + turn.first, x + second, turn.cos.data(), turn.sin.data(),
                   turn.count, y + turn.first, y + second);
    } else {
      loops.interleaved(x + 2 * turn.first, turn.cos.data(), turn.sin.data(),
                        turn.count, y + 2 * turn.first);
    }
  }

  // The heads of a token at (b, l), all pairs of `turn`.
  void rotate_token(const kernels::RotaryLoops& loops, const Rotation& call,
                    std::size_t b, std::size_t l, const Turn& turn) const {
    for (std::size_t h = 0; h < call.x.extent(2); ++h) {
      rotate_head(loops, &call.x(b, l, h, 0), turn, &call.y(b, l, h, 0));
    }
  }

  // The tokens `l` of the sequences from `begin` to `end`, which stand at the
  // same position.
  void rotate_tokens(const kernels::RotaryLoops& loops, const Rotation& call,
                     std::size_t begin, std::size_t end, std::size_t l) const {
    for (std::size_t p = 0; p < pairs; p += kPairsAtOnce) {
      Turn turn = turn_at(loops, position_of(call.positions, begin, l), p);
      if (call.back) {
        std::ranges::transform(turn.sin, turn.sin.begin(), std::negate<>());
      }
      for (std::size_t b = begin; b < end; ++b) {
        rotate_token(loops, call, b, l, turn);
      }
    }
    for (std::size_t b = begin; b < end; ++b) {
      copy_rest(call, b, l);
    }
  }

  // The features that do not rotate.
  void copy_rest(const Rotation& call, std::size_t b, std::size_t l) const {
    const std::size_t rest = call.x.extent(3) - 2 * pairs;
    for (std::size_t h = 0; rest != 0 && h < call.x.extent(2); ++h) {
      const float* const from = &call.x(b, l, h, 2 * pairs);
      float* const to = &call.y(b, l, h, 2 * pairs);
      if (from != to) {
        std::copy_n(from, rest, to);
      }
    }
  }

  Status check_input(std::string_view name, const TensorView<const float, 4>& x,
                     const RotaryPositions& at) const {
    const Extents<4>& extents = x.extents();
    if (extents[3] < 2 * pairs) {
      return argument_error(kRotary, name,
                            message("has head_dim {}", extents[3]),
                            message("at least rotary_dim = {}", 2 * pairs),
                            ErrorCode::shape_mismatch);
    }
    HEADWISE_TRY(check_rotated_axis(name, x));
    HEADWISE_TRY(check_positions(at, extents[0], extents[1], positions()));
    return check_target();
  }

  Status check(const Rotation& call) const {
    HEADWISE_TRY(check_shape(kRotary, call.y_name, call.y.extents(),
                             "(B, L, H, D)", call.x.extents()));
    HEADWISE_TRY(check_input(call.x_name, call.x, call.positions));
    HEADWISE_TRY(check_rotated_axis(call.y_name, call.y));
    return check_in_place<float, 4>(kRotary, call.y_name, call.y,
                                    {{call.x_name, call.x}});
  }

  Status run(const Rotation& call, const Executor& executor) const {
    HEADWISE_TRY(check(call));
    const auto [B, L, H, D] = call.x.extents();
    if (call.x.size() == 0) {
      return ok();
    }
    constexpr std::size_t kElementsAtLeast = 16384;  // less is no work to share
    const bool shared = are_shared(call.positions);
    const std::size_t at_once = shared ? B : 1;
    const std::size_t elements = at_once * H * D;
    const kernels::RotaryLoops& loops = kernels::rotary_loops();
    executor.parallel_for(
        B / at_once * L, std::max<std::size_t>(1, kElementsAtLeast / elements),
        [&, length = L](std::size_t begin, std::size_t end) {
          const FloatEnvironment environment;
          for (std::size_t n = begin; n < end; ++n) {
            const std::size_t b = n / length * at_once;
            rotate_tokens(loops, call, b, b + at_once, n % length);
          }
        });
    return ok();
  }
};

Rotary::Rotary(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Result<Rotary> Rotary::create(const RotaryConfig& config) try {
  HEADWISE_ASSIGN(auto frequencies, rotary_frequencies(config));
  State state;
  state.pairs = config.rotary_dim / 2;
  state.layout = config.layout;
  state.frequencies = std::move(frequencies);
  return Rotary(std::make_shared<const State>(std::move(state)));
} catch (...) {
  return caught_out_of_memory();
}

Result<Rotary> Rotary::from_tables(TensorView<const float, 2> cos,
                                   TensorView<const float, 2> sin,
                                   RotaryLayout layout) try {
  HEADWISE_TRY(check_shape(kRotary, "sin", sin.extents(),
                           "(positions, rotary_dim / 2)", cos.extents()));
  if (cos.size() == 0) {
    return argument_error(kRotary, "cos",
                          message("has shape {}", shape_text(cos.extents())),
                          "at least one position and one pair");
  }
  if (cos.extent(0) > kMostPositions) {
    return argument_error(kRotary, "cos",
                          message("has {} positions", cos.extent(0)),
                          message("at most {}", kMostPositions));
  }
  State state;
  state.pairs = cos.extent(1);
  state.layout = layout;
  state.cos.reserve(cos.size());
  state.sin.reserve(sin.size());
  for (std::size_t n = 0; n < cos.extent(0); ++n) {
    for (std::size_t p = 0; p < state.pairs; ++p) {
      state.cos.push_back(cos(n, p));
      state.sin.push_back(sin(n, p));
    }
  }
  return Rotary(std::make_shared<const State>(std::move(state)));
} catch (...) {
  return caught_out_of_memory();
}

std::size_t Rotary::rotary_dim() const { return 2 * state_->pairs; }
RotaryLayout Rotary::layout() const { return state_->layout; }
std::span<const double> Rotary::frequencies() const {
  return state_->frequencies.radians;
}
double Rotary::attention_factor() const { return state_->frequencies.factor; }
std::uint64_t Rotary::positions() const { return state_->positions(); }

Status Rotary::angles(std::int64_t position, std::span<float> cos,
                      std::span<float> sin) const try {
  for (const auto& [name, size] :
       {std::pair("cos", cos.size()), std::pair("sin", sin.size())}) {
    HEADWISE_TRY(check_shape(kRotary, name, {{size}}, "(rotary_dim / 2)",
                             {{state_->pairs}}));
  }
  HEADWISE_TRY(check_positions({.start = position}, 1, 1, positions()));
  HEADWISE_TRY(check_target());
  const kernels::RotaryLoops& loops = kernels::rotary_loops();
  const FloatEnvironment environment;
  for (std::size_t p = 0; p < state_->pairs; p += kPairsAtOnce) {
    const Turn turn = state_->turn_at(loops, position, p);
    std::copy_n(turn.cos.data(), turn.count, cos.data() + p);
    std::copy_n(turn.sin.data(), turn.count, sin.data() + p);
  }
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Status Rotary::check(TensorView<const float, 4> x,
                     const RotaryPositions& positions) const try {
  return state_->check_input("x", x, positions);
} catch (...) {
  return caught_out_of_memory();
}

Status Rotary::rotate(TensorView<const float, 4> x, TensorView<float, 4> y,
                      const RotaryPositions& positions,
                      const Executor& executor) const try {
  return state_->run({x, y, positions}, executor);
} catch (...) {
  return caught_out_of_memory();
}

Status Rotary::rotate_back(TensorView<const float, 4> d_y,
                           TensorView<float, 4> d_x,
                           const RotaryPositions& positions,
                           const Executor& executor) const try {
  return state_->run({d_y, d_x, positions, "d_y", "d_x", true}, executor);
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
