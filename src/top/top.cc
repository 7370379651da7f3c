#include "top/top.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <poll.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

#include "absl/strings/str_format.h"

#include "base/file_descriptor.h"
#include "base/published.h"
#include "base/signal_queue.h"
#include "base/worker.h"
#include "cluster/node_address.h"
#include "http/openssl_on_need.h"
#include "top/fetch.h"
#include "top/screen.h"
#include "top/session.h"
#include "top/terminal.h"

namespace podgpu {
namespace {

constexpr uint16_t kClusterPort = 9401;
constexpr int kFailure = 1, kWrongUse = 2;
constexpr std::chrono::milliseconds kEscapePatience{50};

int FailTop(const std::string& message, int code) {
  // A server may send anything as its words.
  std::fprintf(stderr, "podgpu top: %s\n", Shown(message).c_str());
  return code;
}

// Writes text to standard output; a closed pipe is the reader's wish, and no error.
int PrintAll(const std::string& text) {
  const size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  const bool is_whole = std::fflush(stdout) == 0 && written == text.size();
  return is_whole || errno == EPIPE
             ? 0
             : FailTop("standard output: " + std::generic_category().message(errno), kFailure);
}

int RunOnce(const TopOptions& options, const TopServer& server, const TopTerminal& terminal,
            Clock& clock) {
  constexpr size_t kUsualColumns = 120;
  TopSession session(options, clock);
  const size_t columns = options.columns.value_or(
      ::isatty(terminal.output) == 1 ? Terminal(terminal.input, terminal.output).ReadSize().columns
                                     : kUsualColumns);
  if (options.json) {
    const std::string path = options.is_fleet ? "/api/v1/fleet" : "/api/v1/status?processes=1";
    const StatusOr<HttpAnswer> answer = FetchFrom(server, path, "", clock);
    return answer.ok()
               ? PrintAll(answer->body)
               : FailTop(options.url + ": " + std::string(answer.status().message()), kFailure);
  }
  const std::optional<TopSession::Question> question = session.NextQuestion({columns, Size().rows});
  if (question) {
    session.TakeAnswer(*question, FetchFrom(server, question->path, "", clock));
  }
  return session.has_answer() ? PrintAll(session.DrawAll(columns))
                              : FailTop(options.url + ": " + session.failure(), kFailure);
}

// Makes one request at a time on a thread of its own.  A request that hangs in a name server must
// not hold the end of the program up; main.cc ends the process at once.
class Requester {
 public:
  Requester(const TopServer& server, Clock& clock, int ready)
      : server_(server), clock_(clock), ready_(ready) {}

  void Begin(TopSession::Question question) {
    question_ = std::move(question);
    worker_ = std::make_unique<Worker>();
    worker_->Start(
        [this](const std::stop_token&) {
          answer_.Set(std::make_shared<const StatusOr<HttpAnswer>>(
              FetchFrom(server_, question_.path, question_.etag, clock_)));
          const uint64_t one = 1;
          if (::write(ready_, &one, sizeof one) < 0) {
            return;  // The counter is full: the loop wakes anyway.
          }
        },
        "request");
  }

  // Hands an answer over, once.
  void Give(TopSession& session) {
    const std::shared_ptr<const StatusOr<HttpAnswer>> answer = answer_.Get();
    if (answer != nullptr) {
      answer_.Set(nullptr);
      worker_ = nullptr;
      session.TakeAnswer(question_, *answer);
    }
  }

 private:
  const TopServer& server_;
  Clock& clock_;
  const int ready_;
  TopSession::Question question_;
  Published<StatusOr<HttpAnswer>> answer_;
  std::unique_ptr<Worker> worker_;
};

// The loop on a terminal: keys, signals, answers.
class TopLoop {
 public:
  TopLoop(const TopOptions& options, const TopServer& server, const TopTerminal& terminal,
          Clock& clock)
      : clock_(clock),
        input_(terminal.input),
        terminal_(terminal.input, terminal.output),
        session_(options, clock),
        answered_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        requester_(server, clock, answered_.get()) {}

  int Run() {
    if (const Status entered = terminal_.Enter(); !entered.ok()) {
      terminal_.Leave();
      return FailTop(std::string(entered.message()), kFailure);
    }
    size_ = terminal_.ReadSize();
    while (!has_ended_) {
      if (auto question = session_.NextQuestion(size_)) {
        requester_.Begin(*std::move(question));
      }
      if (!terminal_.Write(screen_.Update(session_.Draw(size_), session_.colour()))) {
        break;
      }
      Await();
    }
    terminal_.Leave();
    return 0;
  }

 private:
  void Await() {
    pollfd events[] = {
        {input_, POLLIN, 0}, {signals_.descriptor(), POLLIN, 0}, {answered_.get(), POLLIN, 0}};
    auto patience =
        std::chrono::ceil<std::chrono::milliseconds>(session_.NextWake() - clock_.Now());
    if (keys_.is_waiting()) {
      patience = std::min(patience, kEscapePatience);
    }
    const int count =
        ::poll(events, std::size(events), static_cast<int>(std::max<int64_t>(patience.count(), 0)));
    if (count == 0 && keys_.is_waiting()) {
      TakeKeys(keys_.Flush());
    }
    if (events[1].revents != 0) {
      TakeSignals();
    }
    if (events[2].revents != 0) {
      uint64_t answers = 0;
      if (::read(answered_.get(), &answers, sizeof answers) > 0) {
        requester_.Give(session_);
      }
    }
    if (events[0].revents != 0) {
      ReadKeys();
    }
  }

  void ReadKeys() {
    char bytes[256];
    const ssize_t length = ::read(input_, bytes, sizeof bytes);
    if (length <= 0) {
      has_ended_ = true;  // The terminal is gone.
      return;
    }
    TakeKeys(keys_.Take({bytes, static_cast<size_t>(length)}));
  }

  void TakeKeys(const std::vector<KeyPress>& keys) {
    for (const KeyPress& key : keys) {
      has_ended_ = has_ended_ || session_.Press(key, size_) == PressResult::kQuit;
    }
  }

  void TakeSignals() {
    while (const int signal = signals_.Take()) {
      if (signal == SIGTSTP) {
        terminal_.Leave();
        ::raise(SIGSTOP);
        has_ended_ = has_ended_ || !terminal_.Enter().ok();
      } else if (signal != SIGWINCH) {
        has_ended_ = true;
        continue;
      }
      size_ = terminal_.ReadSize();
      screen_.Forget();
    }
  }

  Clock& clock_;
  const int input_;
  Terminal terminal_;
  Screen screen_;
  KeyDecoder keys_;
  TopSession session_;
  SignalQueue signals_{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP};
  FileDescriptor answered_;
  Requester requester_;
  Size size_;
  bool has_ended_ = false;
};

}  // namespace

int RunTop(const TopOptions& options, const TopTerminal& terminal, Clock& clock,
           const Files& files) {
  const StatusOr<TopAddress> address =
      ParseTopAddress(options.url, options.is_fleet ? kClusterPort : kNodePort);
  if (!address.ok()) {
    return FailTop(std::string(address.status().message()), kWrongUse);
  }
  const StatusOr<NodeWebAccess> access =
      ReadTopAccess(options.web_config, options.ca_file, *address, files);
  if (!access.ok()) {
    return FailTop(std::string(access.status().message()), kWrongUse);
  }
  const TopServer server{*address, *access, options.is_fleet};
  if (options.once || options.json || !terminal.is_terminal) {
    return RunOnce(options, server, terminal, clock);
  }
  if (address->tls) {
    LoadOpenSsl();  // If it cannot be loaded, the line must not vanish with the screen.
  }
  auto loop = std::make_unique<TopLoop>(options, server, terminal, clock);
  const int code = loop->Run();
  std::_Exit(code);  // A request may hang in a name server; the kernel ends its thread.
}

}  // namespace podgpu
