#include "sim/program/scenario_files.h"

#include <array>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_format.h"

#include "base/files.h"
#include "base/text.h"

namespace podgpu::sim {
namespace {

using std::filesystem::path;

constexpr std::string_view kDefaultRunDirectory = "build/run";

constexpr std::array<std::string_view, 4> kLibraries = {"libdcgm.so.4", "libdcgm.so.3",
                                                        "libnvidia-ml.so.1", "libnvidia-ml.so"};

// Older drivers than this series get the library of R470.
constexpr uint64_t kFirstNewDriver = 495;

bool Exists(const path& file) {
  std::error_code error;
  return std::filesystem::exists(file, error);
}

}  // namespace

std::string OwnPath() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

StatusOr<ScenarioFile> LoadScenario(const std::string& name) {
  const path program_folder = path(OwnPath()).parent_path();
  const std::string shipped = name + ".yaml";
  const path places[] = {
      name,
      path("sim/scenarios") / shipped,
      program_folder / "../../../sim/scenarios" / shipped,  // build/<preset>/bin of a checkout.
      program_folder / "../share/podgpu/scenarios" / shipped,
  };
  for (const path& place : places) {
    std::error_code error;
    if (std::filesystem::is_regular_file(place, error)) {
      const std::string file = place.lexically_normal().string();
      PODGPU_ASSIGN_OR_RETURN(std::string text, SystemFiles().Read(file));
      return ScenarioFile{file, std::move(text)};
    }
    if (name.find('/') != std::string::npos) {
      break;  // It is a path, not the name of a shipped scenario.
    }
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s: no such scenario; give a file, or the name of one in sim/scenarios, such as demo",
      name));
}

std::vector<std::string> SharedObjects(std::string_view driver_version,
                                       std::string_view dcgm_version) {
  const path program_folder = path(OwnPath()).parent_path();
  const std::string_view series = driver_version.substr(0, driver_version.find('.'));
  const bool is_old = ParseDecimal(series).value_or(kFirstNewDriver) < kFirstNewDriver;
  std::vector<std::string> found;
  for (const std::string_view name : kLibraries) {
    const bool is_nvml = name.starts_with("libnvidia-ml");
    for (const char* folder : {"../lib/podgpu-sim", "../lib"}) {
      const path part = is_nvml ? path(is_old ? "r470" : "") : path(dcgm_version);
      // Only some releases of DCGM have a library of their own.
      const path own = (program_folder / folder / part / name).lexically_normal();
      const path file = Exists(own) ? own : (program_folder / folder / name).lexically_normal();
      if (Exists(file)) {
        found.push_back(file.string());
        break;
      }
    }
  }
  return found;
}

std::string RunDirectoryPath(const Arguments& arguments) {
  const std::string chosen = arguments.Get("--dir").value_or(std::string(kDefaultRunDirectory));
  std::error_code error;
  std::string absolute = std::filesystem::absolute(chosen, error).lexically_normal().string();
  while (absolute.size() > 1 && absolute.ends_with('/')) {
    absolute.pop_back();
  }
  return absolute;
}

}  // namespace podgpu::sim
