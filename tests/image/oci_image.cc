#include "tests/image/oci_image.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace podgpu {
namespace {

std::string TextOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path << " is not there; ./dev image makes it";
  return {std::istreambuf_iterator<char>(file), {}};
}

boost::json::object ObjectIn(const std::string& path) {
  return boost::json::parse(TextOf(path)).as_object();
}

}  // namespace

OciImage::OciImage(const std::string& name) : folder_("build/image/" + name), root_() {
  const boost::json::object index = ObjectIn(folder_ + "/index.json");
  digest_ = std::string(index.at("manifests").at(0).at("digest").as_string());
  const boost::json::object manifest = ObjectIn(Blob(digest_));
  config_ = boost::json::serialize(
      ObjectIn(Blob(manifest.at("config").at("digest").as_string())).at("config"));
  for (const boost::json::value& layer : manifest.at("layers").as_array()) {
    compressed_bytes_ += layer.at("size").as_int64();
    Child tar({"tar", "-xzpf", Blob(layer.at("digest").as_string()), "-C", root_.path()});
    EXPECT_EQ(tar.Wait(), 0) << tar.output();
  }
  std::filesystem::permissions(root_.path(), std::filesystem::perms(0755));
}

std::string OciImage::Blob(std::string_view digest) const {
  constexpr std::string_view kKind = "sha256:";
  EXPECT_TRUE(digest.starts_with(kKind)) << digest;
  return folder_ + "/blobs/sha256/" + std::string(digest.substr(kKind.size()));
}

std::map<std::string, std::string> OciImage::Paths() const {
  namespace fs = std::filesystem;
  std::map<std::string, std::string> paths;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root())) {
    std::string kind = entry.is_directory() ? "folder" : "file";
    if (entry.is_symlink()) {
      kind = "link to " + fs::read_symlink(entry.path()).string();
    }
    paths[entry.path().string().substr(root().size())] = kind;
  }
  return paths;
}

std::string OciImage::Text(const std::string& path) const { return TextOf(root() + path); }

}  // namespace podgpu
