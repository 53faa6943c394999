#include "onnx/message_changes.h"

#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace headwise::testing_support {
namespace {

// A field, by the message that it is in and its place there.
struct Place {
  WireMessage* parent;
  std::size_t at;

  WireField& field() const { return parent->fields[at]; }
};

void collect(WireMessage& message, std::vector<Place>& places) {
  for (std::size_t i = 0; i < message.fields.size(); ++i) {
    places.push_back({&message, i});
    if (auto* inner = std::get_if<WireMessage>(&message.fields[i].value)) {
      collect(*inner, places);
    }
  }
}

void change_number(Choices& choices, std::uint64_t& number) {
  constexpr auto kNumbers =
      std::to_array<std::uint64_t>({0,
                                    1,
                                    2,
                                    3,
                                    7,
                                    8,
                                    10,
                                    11,
                                    16,
                                    25,
                                    255,
                                    4096,
                                    65535,
                                    1 << 20,
                                    1 << 24,
                                    (1 << 24) + 1,
                                    0x7fffffff,
                                    0x80000000,
                                    0xffffffff,
                                    std::uint64_t{1} << 32,
                                    std::uint64_t{1} << 60,
                                    0x7fffffffffffffff,
                                    0x8000000000000000,
                                    0xfffffffffffffffe,
                                    0xffffffffffffffff});
  switch (choices.below(4)) {
    case 0:
      number = choices.of(kNumbers);
      break;
    case 1:
      number +=
          choices.one_in(2) ? 1 : std::numeric_limits<std::uint64_t>::max();
      break;
    case 2:
      number = choices.byte();
      break;
    default:
      number = choices.number() >> choices.below(64);
  }
}

void change_real(Choices& choices, float& number) {
  number = choices.of({0.0F, -0.0F, 1.0F, -1.0F, 1e-30F, 3e38F,
                       std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::quiet_NaN()});
}

void change_text(Choices& choices, std::string& text) {
  using namespace std::string_literals;
  static const std::vector<std::string> kTexts = {""s,
                                                  "v0"s,
                                                  "v1"s,
                                                  "v2"s,
                                                  "v3"s,
                                                  "ai.onnx"s,
                                                  "com.microsoft"s,
                                                  "Attention"s,
                                                  "Add"s,
                                                  "MatMul"s,
                                                  "Expand"s,
                                                  "axis"s,
                                                  "value"s,
                                                  "to"s,
                                                  "data.bin"s,
                                                  "../data.bin"s,
                                                  "sub/data.bin"s,
                                                  "sub/../data.bin"s,
                                                  "./data.bin"s,
                                                  "link.bin"s,
                                                  "hard.bin"s,
                                                  "folder_link/data.bin"s,
                                                  "/etc/hostname"s,
                                                  "."s,
                                                  "sub"s,
                                                  "data.bin\0x"s,
                                                  "\x1b[31m\n"s,
                                                  "9223372036854775807"s,
                                                  "18446744073709551615"s,
                                                  "-1"s,
                                                  "4"s,
                                                  "256"s,
                                                  "offset"s,
                                                  "length"s,
                                                  "location"s};
  if (choices.one_in(2)) {
    text = choices.of(kTexts);
  } else {
    change_bytes(choices, text);
  }
}

void change_place(Choices& choices, const std::vector<Place>& places) {
  const Place& place = choices.of(places);
  std::vector<WireField>& siblings = place.parent->fields;
  const auto here = siblings.begin() + static_cast<std::ptrdiff_t>(place.at);
  switch (choices.below(12)) {
    case 0:
      siblings.erase(here);
      return;
    case 1: {
      WireField twin = *here;
      siblings.insert(here, std::move(twin));
      return;
    }
    case 2:
      std::swap(*here, siblings[choices.below(siblings.size())]);
      return;
    case 3: {
      // A copy: one of the two may hold the other.
      WireField other = choices.of(places).field();
      other.number = choices.one_in(4) ? other.number : here->number;
      *here = std::move(other);
      return;
    }
    case 4:
      here->number = static_cast<std::uint32_t>(choices.from_to(1, 26));
      return;
    default:
      break;
  }
  if (auto* number = std::get_if<std::uint64_t>(&here->value)) {
    change_number(choices, *number);
  } else if (auto* real = std::get_if<float>(&here->value)) {
    change_real(choices, *real);
  } else if (auto* text = std::get_if<std::string>(&here->value)) {
    change_text(choices, *text);
  } else if (choices.one_in(8)) {
    std::get<WireMessage>(here->value).fields.clear();
  }
}

}  // namespace

void change_message(Choices& choices, WireMessage& message) {
  std::vector<Place> places;
  collect(message, places);
  if (!places.empty()) {
    change_place(choices, places);
  }
}

void change_bytes(Choices& choices, std::string& bytes) {
  switch (choices.below(4)) {
    case 0:
      bytes.resize(choices.below(bytes.size() + 1));
      break;
    case 1:
      bytes.insert(choices.below(bytes.size() + 1),
                   std::string(choices.from_to(1, 9),
                               static_cast<char>(choices.byte())));
      break;
    default:
      if (!bytes.empty()) {
        bytes[choices.below(bytes.size())] = static_cast<char>(choices.byte());
      }
  }
}

}  // namespace headwise::testing_support
