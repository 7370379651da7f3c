#include "sim/fleet/server.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <sys/resource.h>
#include <utility>

#include "absl/strings/str_format.h"
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include "sim/fleet/answers.h"

namespace podgpu::sim {
namespace {

namespace beast = boost::beast;
using Tcp = boost::asio::ip::tcp;
using FleetError = boost::system::error_code;

constexpr std::chrono::seconds kTimeout{30};  // For reading a request, and for writing an answer.
constexpr size_t kEndlessBytes = size_t{64} << 10;
constexpr size_t kOtherDescriptors = 1'000;  // For connections and the process itself.

// One connection to one node.  It lives in the handlers of its operations.
class FleetConnection : public std::enable_shared_from_this<FleetConnection> {
 public:
  FleetConnection(Tcp::socket socket, size_t node, FleetBehaviour behaviour,
                  const FleetServer::Report& report)
      : stream_(std::move(socket)), node_(node), behaviour_(behaviour), report_(report) {}

  void Read() {
    question_ = {};
    if (behaviour_ == FleetBehaviour::kHangs) {
      stream_.expires_never();
    } else {
      stream_.expires_after(kTimeout);
    }
    beast::http::async_read(stream_, received_, question_,
                            [self = shared_from_this()](FleetError error, size_t /*bytes*/) {
                              if (!error) {
                                self->Answer();
                              }
                            });
  }

 private:
  void Answer() {
    if (behaviour_ == FleetBehaviour::kHangs) {
      Read();  // Sends until the client closes the connection.
      return;
    }
    using Field = beast::http::field;
    const auto text = [this](Field field) {
      const auto value = question_[field];
      return std::string_view(value.data(), value.size());
    };
    const std::string json = report_(node_);
    is_endless_ = false;
    closes_ = behaviour_ == FleetBehaviour::kGarbage || !question_.keep_alive();
    if (behaviour_ == FleetBehaviour::kGarbage) {
      FleetGarbage garbage = GarbageOfNode(node_, json);
      answer_ = std::move(garbage.bytes);
      is_endless_ = garbage.is_endless;
    } else {
      const auto target = question_.target();
      const std::string_view path(target.data(), target.size());
      answer_ = AnswerOfNode({path.substr(0, path.find('?')), text(Field::if_none_match),
                              text(Field::accept_encoding), closes_},
                             json);
    }
    stream_.expires_after(kTimeout);
    Write();
  }

  void Write() {
    boost::asio::async_write(stream_, boost::asio::buffer(answer_),
                             [self = shared_from_this()](FleetError error, size_t /*bytes*/) {
                               if (!error) {
                                 self->GoOn();
                               }
                             });
  }

  void GoOn() {
    if (is_endless_) {
      answer_.erase(0, answer_.size() - std::min(answer_.size(), kEndlessBytes));
      Write();
    } else if (closes_) {
      FleetError ignored;
      stream_.socket().shutdown(Tcp::socket::shutdown_both, ignored);
    } else {
      Read();
    }
  }

  beast::tcp_stream stream_;
  const size_t node_;
  const FleetBehaviour behaviour_;
  const FleetServer::Report& report_;
  beast::flat_buffer received_;
  beast::http::request<beast::http::string_body> question_;
  std::string answer_;
  bool is_endless_ = false;
  bool closes_ = false;
};

Status AllowDescriptors(size_t wanted) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  return limit.rlim_cur >= wanted
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrFormat(
                   "podgpu-sim fleet: needs %d descriptors, but the limit is %d; ask for "
                   "fewer nodes, or raise the limit (ulimit -Hn)",
                   wanted, limit.rlim_max));
}

}  // namespace

class FleetServer::Engine {
 public:
  explicit Engine(Report report) : report_(std::move(report)), signals_(io_, SIGINT, SIGTERM) {}

  // Binds the address of the next node.
  Status Add(FleetBehaviour behaviour, uint16_t port) {
    Listener& listener =
        listeners_.emplace_back(Listener{Tcp::acceptor(io_), listeners_.size(), behaviour});
    const std::string address = FleetAddress(listener.node);
    const Tcp::endpoint endpoint(boost::asio::ip::make_address(address), port_ == 0 ? port : port_);
    FleetError error;
    listener.acceptor.open(endpoint.protocol(), error);
    if (!error && behaviour != FleetBehaviour::kRefuses) {
      listener.acceptor.set_option(Tcp::acceptor::reuse_address(true), error);
    }
    if (!error) {
      listener.acceptor.bind(endpoint, error);
    }
    if (!error && behaviour != FleetBehaviour::kRefuses) {
      listener.acceptor.listen(Tcp::acceptor::max_listen_connections, error);
    }
    if (error) {
      return absl::InvalidArgumentError(
          absl::StrFormat("podgpu-sim fleet: %s:%d: %s; choose another port with --port", address,
                          endpoint.port(), error.message()));
    }
    port_ = listener.acceptor.local_endpoint().port();
    return absl::OkStatus();
  }

  void Run() {
    signals_.async_wait([this](FleetError /*error*/, int /*signal*/) { io_.stop(); });
    for (Listener& listener : listeners_) {
      if (listener.behaviour != FleetBehaviour::kRefuses) {
        Accept(listener);
      }
    }
    io_.run();
  }

  void Reserve(size_t nodes) { listeners_.reserve(nodes); }
  uint16_t port() const { return port_; }

 private:
  struct Listener {
    Tcp::acceptor acceptor;
    size_t node;
    FleetBehaviour behaviour;
  };

  void Accept(Listener& listener) {
    listener.acceptor.async_accept([this, &listener](FleetError error, Tcp::socket socket) {
      if (error) {
        AcceptLater(listener);
        return;
      }
      std::make_shared<FleetConnection>(std::move(socket), listener.node, listener.behaviour,
                                        report_)
          ->Read();
      Accept(listener);
    });
  }

  // Out of descriptors.
  void AcceptLater(Listener& listener) {
    constexpr std::chrono::milliseconds kPause{50};
    const auto timer = std::make_shared<boost::asio::steady_timer>(io_, kPause);
    timer->async_wait([this, &listener, timer](FleetError /*error*/) { Accept(listener); });
  }

  const Report report_;
  boost::asio::io_context io_{1};
  boost::asio::signal_set signals_;
  std::vector<Listener> listeners_;  // By node; constant after Listen.
  uint16_t port_ = 0;
};

FleetServer::FleetServer(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
FleetServer::~FleetServer() = default;

StatusOr<std::unique_ptr<FleetServer>> FleetServer::Listen(
    const std::vector<FleetBehaviour>& behaviours, uint16_t port, Report report) {
  PODGPU_RETURN_IF_ERROR(AllowDescriptors(behaviours.size() + kOtherDescriptors));
  auto engine = std::make_unique<Engine>(std::move(report));
  engine->Reserve(behaviours.size());
  for (const FleetBehaviour behaviour : behaviours) {
    PODGPU_RETURN_IF_ERROR(engine->Add(behaviour, port));
  }
  // Private constructor: make_unique cannot reach it.
  return std::unique_ptr<FleetServer>(
      new FleetServer(std::move(engine)));  // NOLINT(cppcoreguidelines-owning-memory)
}

uint16_t FleetServer::port() const { return engine_->port(); }

void FleetServer::Run() { engine_->Run(); }

}  // namespace podgpu::sim
