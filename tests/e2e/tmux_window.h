// A terminal for tests: one window of a tmux server, with a shell that waits for commands.
//
// A test types into it and awaits a text on it, never a time.  The server ends with the object.
// One thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/e2e/child.h"

namespace podgpu {

class TmuxWindow {
 public:
  TmuxWindow(int columns, int rows) {
    Run({"-f", "/dev/null", "new-session", "-d", "-x", std::to_string(columns), "-y",
         std::to_string(rows), "env", "PS1=$ ", "TZ=UTC", "LC_ALL=C.UTF-8", "sh"});
    Run({"set-option", "-g", "status", "off"});
    Resize(columns, rows);
  }
  ~TmuxWindow() { Run({"kill-server"}); }
  TmuxWindow(const TmuxWindow&) = delete;
  TmuxWindow& operator=(const TmuxWindow&) = delete;

  std::string Run(std::vector<std::string> words) const {
    words.insert(words.begin(), {"/usr/bin/tmux", "-u", "-S", folder_.path() + "/tmux"});
    Child child(words, {"TMUX="});
    child.Wait();
    return child.output();
  }
  void Resize(int columns, int rows) const {
    Run({"resize-window", "-x", std::to_string(columns), "-y", std::to_string(rows)});
  }
  void Type(const std::string& text) const { Run({"send-keys", text}); }
  void Enter(const std::string& line) const { Run({"send-keys", line, "Enter"}); }
  std::string Capture() const { return Run({"capture-pane", "-p"}); }
  std::string Ask(const std::string& format) const {
    return Run({"display-message", "-p", format});
  }
  // Captures until `holds` returns true for the text; false after far too many.
  bool Await(const std::function<bool(const std::string&)>& holds) {
    for (int i = 0; i < 50'000; ++i) {
      last_ = Capture();
      if (holds(last_)) {
        return true;
      }
    }
    return false;
  }
  bool AwaitText(const std::string& part) {
    return Await([&part](const std::string& text) { return text.find(part) != text.npos; });
  }
  const std::string& last() const { return last_; }
  const std::string& folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
  std::string last_;
};

}  // namespace podgpu
