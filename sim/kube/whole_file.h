// Writes a file that other programs wait for.
//
// A program that waits until the file exists would read half of it, or nothing, while it is being
// written; a rename shows it whole.  Any thread.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace podgpu::sim {

// Makes or replaces the file at `path`.  Returns false when its folder cannot be written.
inline bool WriteWhole(const std::string& path, std::string_view text) {
  const std::string next = path + ".next";
  std::ofstream file(next);
  file << text << std::flush;
  std::error_code error;
  if (file.good()) {
    std::filesystem::rename(next, path, error);
  }
  return file.good() && !error;
}

}  // namespace podgpu::sim
