// Zip archives by hand, right or wrong: stored entries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "interop/files.h"

namespace headwise {

struct ZipEntry {
  std::string name;
  Bytes data;
  // What the archive says of the entry, where it is not the truth.
  std::uint32_t crc_error = 0;
  std::uint32_t size_error = 0;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  bool zip64 = false;  // sizes in the 64-bit extra field
};

inline std::uint32_t crc32_of(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
    }
  }
  return ~crc;
}

// What the local header and the directory have in common.
inline void append_entry_fields(Bytes& bytes, const ZipEntry& entry) {
  const std::size_t size = entry.data.size();
  append_number(bytes, entry.zip64 ? 45 : 20, 2);
  append_number(bytes, entry.flags, 2);
  append_number(bytes, entry.method, 2);
  append_number(bytes, 0, 2);     // 00:00
  append_number(bytes, 0x21, 2);  // 1980-01-01
  append_number(bytes, crc32_of(entry.data) + entry.crc_error, 4);
  append_number(bytes, entry.zip64 ? 0xffffffff : size, 4);
  append_number(bytes, entry.zip64 ? 0xffffffff : size + entry.size_error, 4);
  append_number(bytes, entry.name.size(), 2);
  append_number(bytes, entry.zip64 ? 20 : 0, 2);
}

inline void append_name_and_extra(Bytes& bytes, const ZipEntry& entry) {
  append(bytes, bytes_of(entry.name));
  if (entry.zip64) {
    append_number(bytes, 1, 2);
    append_number(bytes, 16, 2);
    append_number(bytes, entry.data.size() + entry.size_error, 8);
    append_number(bytes, entry.data.size(), 8);
  }
}

inline Bytes zip_file(const std::vector<ZipEntry>& entries) {
  Bytes bytes;
  Bytes directory;
  for (const ZipEntry& entry : entries) {
    append(directory, bytes_of("PK\x01\x02"));
    append_number(directory, 45, 2);
    append_entry_fields(directory, entry);
    append_number(directory, 0, 4);  // comment, disk
    append_number(directory, 0, 6);  // attributes
    append_number(directory, bytes.size(), 4);
    append_name_and_extra(directory, entry);
    append(bytes, bytes_of("PK\x03\x04"));
    append_entry_fields(bytes, entry);
    append_name_and_extra(bytes, entry);
    append(bytes, entry.data);
  }
  const std::size_t start = bytes.size();
  append(bytes, directory);
  append(bytes, bytes_of("PK\x05\x06"));
  append_number(bytes, 0, 4);
  append_number(bytes, entries.size(), 2);
  append_number(bytes, entries.size(), 2);
  append_number(bytes, directory.size(), 4);
  append_number(bytes, start, 4);
  append_number(bytes, 0, 2);
  return bytes;
}

}  // namespace headwise
