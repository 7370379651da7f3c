// What is in the images: files, sizes, settings, bill of materials; and that a second build is
// equal.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "base/text.h"
#include "base/version.h"
#include "tests/image/oci_image.h"

namespace podgpu {
namespace {

namespace json = boost::json;

#if defined(__x86_64__)
const std::string kLibraries = "/usr/lib/x86_64-linux-gnu";
const std::string kLinkerFolder = "lib64";
const std::string kLinker = "/usr/lib64/ld-linux-x86-64.so.2";
#else
const std::string kLibraries = "/usr/lib/aarch64-linux-gnu";
const std::string kLinkerFolder = "lib";
const std::string kLinker = "/usr/lib/ld-linux-aarch64.so.1";
#endif

const OciImage& Podgpu() {
  static const OciImage image("podgpu");
  return image;
}

json::object Settings(const OciImage& image) { return json::parse(image.config()).as_object(); }

// The paths of the image that are not folders.
std::map<std::string, std::string> FilesAndLinks(const OciImage& image) {
  std::map<std::string, std::string> paths = image.Paths();
  std::erase_if(paths, [](const auto& path) { return path.second == "folder"; });
  return paths;
}

std::string Output(const std::vector<std::string>& words) {
  Child tool(words);
  EXPECT_EQ(tool.Wait(), 0) << tool.output();
  return tool.output();
}

// Everything in the image but licence texts.
std::map<std::string, std::string> ExpectedPaths() {
  std::map<std::string, std::string> paths = {
      {"/etc/dcgm-exporter/1.x-compatibility-metrics.csv", "file"},
      {"/etc/dcgm-exporter/dcp-metrics-included.csv", "file"},
      {"/etc/dcgm-exporter/default-counters-4.9.csv", "file"},
      {"/etc/dcgm-exporter/default-counters.csv", "file"},
      {"/etc/debian_version", "file"},
      {"/etc/nsswitch.conf", "file"},
      {"/etc/ssl/certs/ca-certificates.crt", "file"},
      {"/lib", "link to usr/lib"},
      {"/usr/bin/dcgm-exporter", "link to podgpu"},
      {"/usr/bin/gpu-utilization-metric-exporter", "link to podgpu"},
      {"/usr/bin/my-gpu-exporter", "link to podgpu"},
      {"/usr/bin/pod-gpu-exporter", "link to podgpu"},
      {"/usr/bin/pod-gpu-metrics-exporter", "link to podgpu"},
      {"/usr/bin/podgpu", "file"},
      {"/usr/lib/ssl/cert.pem", "link to /etc/ssl/certs/ca-certificates.crt"},
      {"/usr/local/bin", "link to ../bin"},
      {"/usr/local/dcgm/dcgm-exporter-entrypoint.sh", "link to ../../bin/podgpu"},
      {kLinker, "file"},
  };
  if (kLinkerFolder == "lib64") {
    paths["/lib64"] = "link to usr/lib64";
  }
  for (const char* library :
       {"libc.so.6", "libcrypt.so.1", "libcrypto.so.3", "libdl.so.2", "libgcc_s.so.1",
        "libisal.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1", "libssl.so.3"}) {
    paths[kLibraries + "/" + library] = "file";
  }
  return paths;
}

TEST(Image, HasTheseFilesAndNoOther) {
  std::map<std::string, std::string> paths = FilesAndLinks(Podgpu());
  std::erase_if(paths, [](const auto& path) { return path.first.starts_with("/licenses/"); });
  EXPECT_EQ(paths, ExpectedPaths());
}

TEST(Image, HasTheListsOfMetricsOfThisCommit) {
  for (const auto& list : std::filesystem::directory_iterator("deploy")) {
    if (list.path().extension() == ".csv") {
      const std::string name = list.path().filename();
      EXPECT_EQ(Output({"cat", list.path()}), Podgpu().Text("/etc/dcgm-exporter/" + name));
    }
  }
}

TEST(Image, IsSmall) {
  constexpr int64_t kMostCompressed = 12'000'000;
  EXPECT_LE(Podgpu().compressed_bytes(), kMostCompressed);
  std::printf("compressed: %lld bytes\n%s", static_cast<long long>(Podgpu().compressed_bytes()),
              Output({"du", "-ab", "--apparent-size", Podgpu().root() + "/usr"}).c_str());
}

TEST(Image, TwoBuildsFromDifferentFoldersAreEqual) {
  EXPECT_EQ(Podgpu().digest(), OciImage("podgpu-again").digest());
  const std::string text = Output({"strings", "-n", "5", Podgpu().root() + "/usr/bin/podgpu"});
  for (const char* folder : {"/src/src", "/src/build", "/other/folder"}) {
    EXPECT_EQ(text.find(folder), std::string::npos) << folder;
  }
}

TEST(Image, SaysHowItIsRun) {
  const json::object config = Settings(Podgpu());
  EXPECT_EQ(config.at("Entrypoint"), json::value({"/usr/bin/podgpu"}));
  EXPECT_FALSE(config.contains("Cmd")) << json::serialize(config);
  EXPECT_EQ(config.at("User"), "0:0");
  const json::array expected = {"PATH=/usr/bin", "LANG=C.UTF-8", "NVIDIA_VISIBLE_DEVICES=all",
                                "NVIDIA_DRIVER_CAPABILITIES=compute,utility,compat32",
                                "NVIDIA_DISABLE_REQUIRE=true"};
  EXPECT_EQ(config.at("Env"), expected);
  EXPECT_TRUE(config.at("ExposedPorts").as_object().contains("9400/tcp"));
}

TEST(Image, HasTheAnnotationsOfOci) {
  const auto label = [](const char* name) {
    const std::string key = std::string("org.opencontainers.image.") + name;
    return std::string(Settings(Podgpu()).at("Labels").at(key).as_string());
  };
  EXPECT_EQ(label("title"), "podgpu");
  EXPECT_EQ(label("version"), kVersion);
  EXPECT_EQ(label("licenses"), "Apache-2.0");
  EXPECT_EQ(label("created").size(), std::string_view("2026-01-02T03:04:05Z").size());
  EXPECT_NE(label("description"), "");
  const std::string head = Output({"git", "rev-parse", "HEAD"});
  EXPECT_EQ(label("revision").substr(0, 40), head.substr(0, 40));
}

TEST(Image, TheProgramIsHardened) {
  const std::string headers = Output({"readelf", "-hldW", Podgpu().root() + "/usr/bin/podgpu"});
  for (const char* mark : {"Position-Independent Executable", "GNU_RELRO", " NOW", "BIND_NOW"}) {
    EXPECT_NE(headers.find(mark), std::string::npos) << mark << " is missing in\n" << headers;
  }
  EXPECT_EQ(headers.find("RPATH"), std::string::npos);
  EXPECT_EQ(headers.find("RUNPATH"), std::string::npos);
  for (const auto& [path, kind] : Podgpu().Paths()) {
    const auto permissions = std::filesystem::symlink_status(Podgpu().root() + path).permissions();
    using std::filesystem::perms;
    EXPECT_EQ(permissions & (perms::set_uid | perms::set_gid), perms::none) << path;
    if (!kind.starts_with("link")) {
      EXPECT_EQ(permissions & (perms::group_write | perms::others_write), perms::none) << path;
    }
  }
}

// -- the bill of materials

json::object Bill(const OciImage& image) {
  return json::parse(image.Text("/licenses/podgpu.spdx.json")).as_object();
}

TEST(Bill, ListsEveryFileWithItsDigest) {
  std::set<std::string> in_image;
  for (const auto& [path, kind] : FilesAndLinks(Podgpu())) {
    if (kind == "file" && path != "/licenses/podgpu.spdx.json") {
      const std::string digest = Output({"sha256sum", Podgpu().root() + path}).substr(0, 64);
      in_image.insert("." + path + " " + digest);
    }
  }
  std::set<std::string> in_bill;
  const json::object bill = Bill(Podgpu());
  for (const json::value& file : bill.at("files").as_array()) {
    for (const json::value& sum : file.at("checksums").as_array()) {
      if (sum.at("algorithm") == "SHA256") {
        in_bill.insert(std::string(file.at("fileName").as_string()) + " " +
                       std::string(sum.at("checksumValue").as_string()));
      }
    }
  }
  EXPECT_EQ(in_bill, in_image);
}

// The names of the packages to which podgpu has a relation of `kind`.
std::set<std::string> Related(const json::object& bill, const char* kind) {
  std::set<std::string> names;
  for (const json::value& relation : bill.at("relationships").as_array()) {
    if (relation.at("relationshipType") == kind &&
        relation.at("spdxElementId") == "SPDXRef-Package-podgpu") {
      names.insert(std::string(relation.at("relatedSpdxElement").as_string()).substr(16));
    }
  }
  return names;
}

TEST(Bill, ListsEveryPackageWithItsLicenceText) {
  const json::object bill = Bill(Podgpu());
  EXPECT_EQ(bill.at("spdxVersion"), "SPDX-2.3");
  EXPECT_EQ(
      Related(bill, "STATIC_LINK"),
      (std::set<std::string>{"libabsl-dev", "libboost1.81-dev", "libnghttp2-dev", "libprotobuf-dev",
                             "libre2-dev", "libstdc++-12-dev", "libyaml-cpp-dev"}));
  EXPECT_EQ(Related(bill, "DEPENDS_ON"),
            (std::set<std::string>{"base-files", "ca-certificates", "libc6", "libcrypt1",
                                   "libgcc-s1", "libisal2", "libssl3"}));
  for (const json::value& package : bill.at("packages").as_array()) {
    const std::string name(package.at("name").as_string());
    EXPECT_NE(package.at("versionInfo").as_string(), "") << name;
    EXPECT_GT(Podgpu().Text("/licenses/" + name).size(), 200U) << name;
  }
}

TEST(Bill, SaysFromWhichPackageEachFileIs) {
  std::map<std::string, int> owners;
  const json::object bill = Bill(Podgpu());
  for (const json::value& relation : bill.at("relationships").as_array()) {
    if (relation.at("relationshipType") == "CONTAINS") {
      ++owners[std::string(relation.at("relatedSpdxElement").as_string())];
    }
  }
  for (const json::value& file : bill.at("files").as_array()) {
    EXPECT_EQ(owners[std::string(file.at("SPDXID").as_string())], 1) << json::serialize(file);
  }
}

// -- podgpu-dcgm

TEST(ImageWithDcgm, HasThatLibraryAndOtherwiseTheSameFiles) {
  const OciImage image("podgpu-dcgm");
  std::map<std::string, std::string> paths = FilesAndLinks(image);
  EXPECT_EQ(paths.erase(kLibraries + "/libdcgm.so.4"), 1U);
  EXPECT_EQ(paths, FilesAndLinks(Podgpu()));
  EXPECT_EQ(Settings(image).at("Labels").at("org.opencontainers.image.title"), "podgpu-dcgm");
  EXPECT_EQ(Settings(image).at("Env"), Settings(Podgpu()).at("Env"));
}

TEST(ImageWithDcgm, IsTheSameFromAFolderOfTheCheckout) {
  EXPECT_EQ(OciImage("podgpu-dcgm-folder").digest(), OciImage("podgpu-dcgm").digest());
}

// -- the documents

std::string Read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The lines of a text that build an image, and the commands in the second column of a table.
void AddBuilds(const std::string& text, std::set<std::string>& builds) {
  constexpr std::string_view kCell = " | `docker build ";
  for (const std::string_view line : Split(text, '\n')) {
    const size_t cell = line.find(kCell);
    if (line.starts_with("docker build ")) {
      builds.emplace(line);
    } else if (cell != line.npos) {
      const std::string_view command = line.substr(cell + 4);
      builds.emplace(command.substr(0, command.find('`')));
    }
  }
}

// tools/image/make built the images of this test by these lines, so each makes the image that its
// document promises: those of `podgpu` are compared by TwoBuildsFromDifferentFoldersAreEqual.
TEST(DocumentedBuild, EachWasRun) {
  std::set<std::string> documented;
  for (const char* path : {"README.md", "CONTRIBUTING.md", "deploy/manifests/README.md",
                           "deploy/helm/podgpu/README.md"}) {
    AddBuilds(Read(path), documented);
  }
  for (const auto& page : std::filesystem::directory_iterator("docs")) {
    if (page.path().extension() == ".md") {
      AddBuilds(Read(page.path()), documented);
    }
  }
  std::set<std::string> run;
  AddBuilds(Read("build/image/lines"), run);
  EXPECT_EQ(documented, run);
  EXPECT_EQ(run.size(), 4U);
}

}  // namespace
}  // namespace podgpu
