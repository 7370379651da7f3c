#include "top/terminal.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace podgpu {
namespace {

// Alternate screen, no cursor, no wrapping at the last column; and the reverse.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[0m\x1b[2J";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

constexpr int kCrashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

// The settings that the handler of crashes restores.  A handler can reach nothing but a global.
struct Crash {
  int input = -1, output = -1;
  termios before{};
};
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
Crash g_crash;

// Calls only functions that signal-safety(7) allows.  SA_RESETHAND makes the raised signal end the
// program.
extern "C" void RestoreAndDie(int signal) {
  if (g_crash.output >= 0) {
    const ssize_t written = ::write(g_crash.output, kLeave.data(), kLeave.size());
    ::tcsetattr(g_crash.input, written < 0 ? TCSANOW : TCSADRAIN, &g_crash.before);
  }
  ::raise(signal);
}

void HandleCrashes() {
  struct sigaction action {};
  action.sa_handler = RestoreAndDie;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : kCrashes) {
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

Status Terminal::Enter() {
  if (::tcgetattr(input_, &before_) != 0) {
    return absl::UnavailableError("the terminal has no settings");
  }
  g_crash = {input_, output_, before_};
  HandleCrashes();
  is_entered_ = true;
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // ISIG stays: Ctrl-C is SIGINT.
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(input_, TCSADRAIN, &raw);
  return Write(kEnter) ? absl::OkStatus() : absl::UnavailableError("the terminal is gone");
}

void Terminal::Leave() {
  if (!is_entered_) {
    return;
  }
  is_entered_ = false;
  Write(kLeave);
  ::tcsetattr(input_, TCSADRAIN, &before_);
  g_crash = Crash();
}

Size Terminal::ReadSize() const {
  constexpr size_t kMost = 1'000;
  winsize size{};
  if (::ioctl(output_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return {};
  }
  return {std::min<size_t>(size.ws_col, kMost), std::min<size_t>(size.ws_row, kMost)};
}

bool Terminal::Write(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::write(output_, bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      constexpr int kPatienceMs = 1'000;
      pollfd ready{output_, POLLOUT, 0};
      if (::poll(&ready, 1, kPatienceMs) <= 0) {
        return false;
      }
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace podgpu
