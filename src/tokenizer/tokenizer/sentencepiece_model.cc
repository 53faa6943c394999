// Reads the protobuf of SentencePiece.
#include <bit>
#include <type_traits>

#include "interop/little_endian.h"
#include "tokenizer/tokenizer_file.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

struct ProtobufField {
  std::uint64_t key = 0;
  std::uint64_t number = 0;
  std::string_view bytes;  // only of a text, a message and a fixed number
};
bool take_number(std::string_view& rest, std::uint64_t& number) {
  number = 0;
  for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    number |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) {
      return true;
    }
  }
  return false;
}

// False if the bytes are no field; groups are none.
bool take_field(std::string_view& rest, ProtobufField& field) {
  if (!take_number(rest, field.key) || field.key >> 3U == 0) {
    return false;
  }
  const std::uint64_t form = field.key & 7U;
  std::uint64_t size = form == 1 ? 8 : form == 5 ? 4 : 0;
  if (form > 5 || form == 3 || form == 4 ||
      (form == 0 && !take_number(rest, field.number)) ||
      (form == 2 && !take_number(rest, size)) || size > rest.size()) {
    return false;
  }
  field.bytes = rest.substr(0, size);
  rest.remove_prefix(size);
  return true;
}

// The key of field `n` with a text or a message.
constexpr std::uint64_t bytes_key(std::uint64_t n) { return n << 3U | 2U; }

// Calls `take` with each field; the first false, or bytes that are no field,
// end the reading.
template <class Take>
bool each_field(std::string_view message, const Take& take) {
  ProtobufField field;
  while (!message.empty()) {
    if (!take_field(message, field) || !take(field)) {
      return false;
    }
  }
  return true;
}

// The last field `n`, or `into` as it is; false for bytes that are no message.
template <class T>
bool read(std::string_view message, std::uint64_t n, T& into) {
  return each_field(message, [&](const ProtobufField& field) {
    if constexpr (std::is_same_v<T, std::string_view>) {
      into = field.key == bytes_key(n) ? field.bytes : into;
    } else if constexpr (std::is_same_v<T, float>) {
      const auto bits = little_endian_number(field.bytes);
      into = field.key == (n << 3U | 5U)
                 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                 : into;
    } else if (field.key == n << 3U) {
      into = static_cast<T>(field.number);
    }
    return true;
  });
}

bool take_piece(std::string_view message, ScoredPiece& piece) {
  std::uint64_t type = 1;
  const bool whole = read(message, 1, piece.text) &&
                     read(message, 2, piece.score) && read(message, 3, type);
  piece.type = static_cast<PieceType>(type);
  return whole && type >= 1 && type <= 6;
}

bool take_trainer(std::string_view message, SentencePieceModel& model) {
  auto type = static_cast<std::uint64_t>(model.model);
  const bool whole =
      read(message, 3, type) && read(message, 24, model.whitespace_as_suffix) &&
      read(message, 35, model.byte_fallback) &&
      read(message, 44, model.unk_surface) && read(message, 46, model.bos) &&
      read(message, 47, model.eos);
  model.model = static_cast<PieceModel>(type);
  return whole && type >= 1 && type <= 4;
}

bool take_normalizer(std::string_view message, SentencePieceModel& model) {
  return read(message, 2, model.chars_map) &&
         read(message, 3, model.add_dummy_prefix) &&
         read(message, 4, model.remove_extra_whitespaces) &&
         read(message, 5, model.escape_whitespaces);
}

}  // namespace

bool is_sentencepiece(std::string_view bytes) {
  ProtobufField piece;
  ProtobufField text;
  return take_field(bytes, piece) && piece.key == bytes_key(1) &&
         take_field(piece.bytes, text) && text.key == bytes_key(1);
}

Result<SentencePieceModel> read_sentencepiece(std::string_view bytes,
                                              const FileSubject& subject) {
  SentencePieceModel model;
  SentencePieceModel denormalizer;
  const bool whole = each_field(bytes, [&](const ProtobufField& field) {
    switch (field.key) {
      case bytes_key(1):
        return model.pieces.size() < kMostTokens &&
               take_piece(field.bytes, model.pieces.emplace_back());
      case bytes_key(2):
        return take_trainer(field.bytes, model);
      case bytes_key(3):
        return take_normalizer(field.bytes, model);
      case bytes_key(5):
        return take_normalizer(field.bytes, denormalizer);
      default:
        return true;
    }
  });
  if (!whole) {
    return subject.bad_data("is damaged", "SentencePiece's protobuf");
  }
  HEADWISE_TRY(check_utf8(subject.of_entry("unk_surface"), model.unk_surface));
  if (!denormalizer.chars_map.empty()) {
    return subject.error(ErrorCode::unsupported,
                         "has rules for decoded texts (denormalizer_spec)");
  }
  if (model.model == PieceModel::word) {
    return subject.error(ErrorCode::unsupported, "has the model type WORD",
                         "UNIGRAM, BPE or CHAR");
  }
  return model;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
