// An image as registries have it: the folders that ./dev image writes to build/image/.
//
// Read by the test alone: index, manifest, configuration, layers.  One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/e2e/child.h"

namespace podgpu {

class OciImage {
 public:
  // `name` is the folder's name below build/image.
  explicit OciImage(const std::string& name);

  // The manifest's digest: equal for images that are equal bit by bit.
  const std::string& digest() const { return digest_; }
  // User, environment, entry point and labels, as JSON.
  const std::string& config() const { return config_; }
  // Bytes to fetch: all layers, compressed.
  int64_t compressed_bytes() const { return compressed_bytes_; }
  // The unpacked root directory; removed with the object.
  const std::string& root() const { return root_.path(); }
  // Every path in the image with what it is: "file", "folder", "link to TARGET".
  std::map<std::string, std::string> Paths() const;
  // The text of a file of the image.
  std::string Text(const std::string& path) const;

 private:
  std::string Blob(std::string_view digest) const;  // Its path.

  std::string folder_;
  std::string digest_;
  std::string config_;
  int64_t compressed_bytes_ = 0;
  TemporaryFolder root_;
};

}  // namespace podgpu
