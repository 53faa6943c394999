#include "patterns/pattern.h"

#include <optional>
#include <string>
#include <utility>

#include "patterns/known_patterns.h"
#include "patterns/regular_expression.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

struct Pattern::State {
  std::string literal{};
  KnownPattern known = nullptr;
  std::optional<RegularExpression> expression{};
};

namespace {

// Every boundary of characters, as the reference finds an empty text.
void find_boundaries(std::string_view text, std::vector<Match>& matches) {
  for (std::uint32_t at = 0; at <= text.size(); ++at) {
    if (at == text.size() || !continues_character(text[at])) {
      matches.push_back({at, at});
    }
  }
}

void find_literal(std::string_view text, std::string_view literal,
                  std::vector<Match>& matches) {
  matches.clear();
  if (literal.empty()) {
    find_boundaries(text, matches);
    return;
  }
  for (std::size_t at = text.find(literal); at != std::string_view::npos;
       at = text.find(literal, at + literal.size())) {
    matches.push_back({static_cast<std::uint32_t>(at),
                       static_cast<std::uint32_t>(at + literal.size())});
  }
}

}  // namespace

Result<Pattern> Pattern::compile(std::string_view expression) {
  auto state = std::make_unique<State>();
  state->known = known_pattern(expression);
  if (state->known == nullptr) {
    HEADWISE_ASSIGN(state->expression, RegularExpression::compile(expression));
  }
  return Pattern(std::move(state));
}

Pattern Pattern::literal(std::string_view text) {
  auto state = std::make_unique<State>();
  state->literal = text;
  return Pattern(std::move(state));
}

Pattern Pattern::gpt2() {
  auto state = std::make_unique<State>();
  state->known = known_pattern(kGpt2Expression);
  return Pattern(std::move(state));
}

Pattern::Pattern(std::unique_ptr<State> state) : state_(std::move(state)) {}
Pattern::Pattern(Pattern&& other) noexcept = default;
Pattern& Pattern::operator=(Pattern&& other) noexcept = default;
Pattern::~Pattern() = default;

Status Pattern::find(std::string_view text, std::vector<Match>& matches) const {
  if (state_->known != nullptr) {
    matches.clear();
    state_->known(text, matches);
    return ok();
  }
  if (state_->expression) {
    return state_->expression->find(text, matches);
  }
  find_literal(text, state_->literal, matches);
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
