// Runs a program as a container runtime does: in its own read-only root directory with only the
// given files, with its own users, processes and network.
//
//   in_pod [--user root|other] ROOT SOURCE=TARGET... -- PROGRAM ARGUMENT...
//
// Each SOURCE is mounted read-only at TARGET below ROOT.  With --user, which needs root, the
// program has that user's id, no capability and no way to a new one.  Prints "pod PID" on standard
// output, then waits for the program.  Exit code 77 where the kernel does not allow namespaces.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <grp.h>
#include <net/if.h>
#include <optional>
#include <sched.h>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr int kExitNoNamespaces = 77;
constexpr int kExitBroken = 70;
constexpr uid_t kOtherUser = 65'532;  // The usual "nonroot" of images.

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "in_pod: %s: %s\n", what.c_str(), std::strerror(errno));
  std::_Exit(kExitBroken);
}

void WriteFile(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0 || ::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    Fail(path);
  }
  ::close(file);
}

// Root needs no namespace of users, without which the program's user is one of the machine.
void EnterNamespaces(bool is_root) {
  const std::string uid = std::to_string(::getuid());
  const std::string gid = std::to_string(::getgid());
  const int users = is_root ? 0 : CLONE_NEWUSER;
  if (::unshare(users | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID) != 0) {
    std::fprintf(stderr, "in_pod: no namespaces: %s\n", std::strerror(errno));
    std::_Exit(kExitNoNamespaces);
  }
  if (!is_root) {
    WriteFile("/proc/self/setgroups", "deny");
    WriteFile("/proc/self/uid_map", "0 " + uid + " 1");
    WriteFile("/proc/self/gid_map", "0 " + gid + " 1");
  }
}

void BringLoopbackUp() {
  const int any = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request = {};
  std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name - 1);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (any < 0 || ::ioctl(any, SIOCSIFFLAGS, &request) != 0) {
    Fail("loopback");
  }
  ::close(any);
}

void Show(const std::string& source, const std::string& target) {
  if (std::filesystem::is_directory(source)) {
    std::filesystem::create_directories(target);
  } else {
    std::filesystem::create_directories(std::filesystem::path(target).parent_path());
    ::close(::open(target.c_str(), O_CREAT | O_CLOEXEC, 0600));
  }
  if (::mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
    Fail("mount of " + source);
  }
}

void EnterRoot(const std::string& root) {
  if (::chroot(root.c_str()) != 0 || ::chdir("/") != 0) {
    Fail("chroot");
  }
}

// Becomes `user` for the next exec: without a bounding set, an exec by root gives no capability.
void DropRights(uid_t user) {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability) != 0) {
      Fail("bounding set");
    }
  }
  if (::setgroups(0, nullptr) != 0 || ::setresgid(user, user, user) != 0 ||
      ::setresuid(user, user, user) != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    Fail("user");
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  std::optional<uid_t> user;
  if (words.at(0) == "--user") {
    user = words.at(1) == "root" ? 0 : kOtherUser;
    words.erase(words.begin(), words.begin() + 2);
    argv += 2;
  }
  const std::string& root = words.at(0);
  EnterNamespaces(user.has_value());
  BringLoopbackUp();
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    Fail("private mounts");
  }
  Show(root, root);
  size_t next = 1;
  for (; words.at(next) != "--"; ++next) {
    const size_t equals = words[next].find('=');
    Show(words[next].substr(0, equals), root + words[next].substr(equals + 1));
  }
  if (::mount(nullptr, root.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
    Fail("read-only root");
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    EnterRoot(root);
    if (user) {
      DropRights(*user);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // A change of the user forgets it.
    }
    ::execv(argv[1 + next + 1], argv + 1 + next + 1);
    Fail("exec");
  }
  std::printf("pod %d\n", child);
  std::fflush(stdout);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : kExitBroken;
}
