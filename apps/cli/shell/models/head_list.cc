#include "head_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "shell/checks.h"
#include "shell/outcome.h"

namespace headwise::cli {

std::optional<HeadId> head_in(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) {
    return {};
  }
  const auto layer = number_in(text.substr(0, dot));
  const auto head = number_in(text.substr(dot + 1));
  return layer && head ? std::optional(HeadId{*layer, *head}) : std::nullopt;
}

Result<std::vector<HeadId>> parse_head_list(std::string_view option,
                                            std::string_view text) {
  std::vector<HeadId> heads;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto head = head_in(text.substr(begin, end - begin));
    if (!head) {
      return option_error(option, message("is {}", text),
                          "LAYER.HEAD, such as 3.1, or several: 3.1,4.5");
    }
    if (std::ranges::find(heads, *head) != heads.end()) {
      return option_error(option,
                          message("has {}.{} twice", head->layer, head->head),
                          "each head once");
    }
    heads.push_back(*head);
    begin = end + 1;
  }
  return heads;
}

Result<std::size_t> place_of_head(std::string_view option, const HeadId& head,
                                  const HeadsLeft& left) {
  auto place = headwise::place_of_head("", option, head, left);
  if (!place && place.error().code() == ErrorCode::out_of_range) {
    const ErrorDetails& details = place.error().details();
    return option_error(option, details.given, details.expected);
  }
  return place;
}

Status check_heads(std::string_view option, const std::vector<HeadId>& heads,
                   const HeadsLeft& left) {
  for (const HeadId& head : heads) {
    HEADWISE_TRY(place_of_head(option, head, left));
  }
  return ok();
}

std::string heads_text(const std::vector<HeadId>& heads,
                       std::string_view between) {
  std::string text;
  for (const HeadId& id : heads) {
    text +=
        fmt::format("{}{}.{}", text.empty() ? "" : between, id.layer, id.head);
  }
  return text;
}

}  // namespace headwise::cli
