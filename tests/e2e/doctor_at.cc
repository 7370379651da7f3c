// The doctor on a machine whose kernel is a folder: for golden output that is the same everywhere.
//
// usage: doctor_at FOLDER [flags of podgpu doctor].  Facts about the kernel and this process are
// read below FOLDER, device files below FOLDER/dev; all other paths are this machine's.  The file
// FOLDER/uid has the user id.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/library.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/config_flags.h"
#include "doctor/doctor.h"

namespace podgpu {
namespace {

constexpr std::array<std::string_view, 5> kKernelFiles = {"/proc/sys/", "/proc/self/", "/sys/fs/",
                                                          "/.dockerenv", "/run/.containerenv"};

// The kernel's files below a folder, all others of this machine.
class FolderFiles final : public Files {
 public:
  explicit FolderFiles(const std::string& folder) : kernel_(folder) {}
  StatusOr<std::string> Read(std::string_view path) const override { return Of(path).Read(path); }
  StatusOr<std::vector<std::string>> List(std::string_view path) const override {
    return Of(path).List(path);
  }
  StatusOr<std::string> ReadLink(std::string_view path) const override {
    return Of(path).ReadLink(path);
  }

 private:
  const Files& Of(std::string_view path) const {
    for (const std::string_view kernel : kKernelFiles) {
      if (path.starts_with(kernel)) {
        return kernel_;
      }
    }
    return machine_;
  }
  const SystemFiles kernel_;
  const SystemFiles machine_;
};

std::optional<std::string> Variable(const std::string& name) {
  const char* const value =
      std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): no thread writes it.
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

int Run(const std::vector<std::string>& arguments) {
  const std::string& folder = arguments.at(0);
  const StatusOr<DoctorCommand> command =
      ReadDoctorCommand(std::span(arguments).subspan(1), Variable, SystemFiles());
  if (!command.ok()) {
    std::printf("%s\n", std::string(command.status().message()).c_str());
    return 2;
  }
  ConfigureLog(LogLevel::kError, LogForm::kText);
  SystemLibraryLoader loader;
  SystemClock clock;
  const FolderFiles files(folder);
  const std::string uid = SystemFiles(folder).Read("/uid").value_or("65532");
  const StatusOr<DoctorAnswer> answer =
      RunDoctor(*command,
                {clock,
                 loader,
                 files,
                 Variable,
                 {.hostname = "gpu-node-0",
                  .pid = ::getpid(),
                  .uid = static_cast<uint32_t>(ParseDecimal(Trim(uid)).value_or(0)),
                  .clock_is_synchronised = !SystemFiles(folder).Read("/unsynchronised").ok(),
                  .dev_root = folder + "/dev"}},
                {});
  if (!answer.ok()) {
    std::printf("%s\n", std::string(answer.status().message()).c_str());
    return 2;
  }
  std::fputs(answer->text.c_str(), stdout);
  std::fflush(stdout);
  std::_Exit(answer->exit_code);  // Threads may be blocked inside the driver.
}

}  // namespace
}  // namespace podgpu

int main(int argc, char** argv) {
  return podgpu::Run(std::vector<std::string>(argv + 1, argv + argc));
}
