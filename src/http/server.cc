#include "http/server.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <thread>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include "base/files.h"
#include "base/log.h"
#include "http/connection.h"
#include "http/descriptor_memory.h"
#include "http/listen.h"
#include "http/sockets.h"

namespace podgpu {
namespace {

namespace asio = boost::asio;

// Kernel memory per connection: data that the client does not read, and requests that the server
// does not read yet. The kernel's own limits are up to 4 MiB and 6 MiB (tcp_wmem and tcp_rmem),
// which a thousand clients that never read would use up. With 10 ms latency an answer is still sent
// at 10 MB/s.
constexpr int kSendBufferBytes = 128 << 10;    // The kernel doubles it, for its own bookkeeping.
constexpr int kReceiveBufferBytes = 32 << 10;  // The same; a request has at most 16 KiB.
constexpr int kUnsentBytes = 32 << 10;         // Passed to the kernel and not sent yet.

// A connection takes about 7 KiB. The allocator keeps that memory after the connection has ended.
constexpr size_t kCrowd = 64;        // So many connections at one time are a crowd.
constexpr size_t kCrowdHasLeft = 8;  // It has gone when only one connection of so many is left.

// Connections inherit these options from their listener.
void BoundKernelMemory(const Listener& listener) {
  const int socket = listener.socket.get();
  ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof kSendBufferBytes);
  ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &kReceiveBufferBytes, sizeof kReceiveBufferBytes);
  if (listener.family != AF_UNIX) {
    ::setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytes, sizeof kUnsentBytes);
  }
}

// Returns the key for counting connections per client: the address; for IPv6 the network of 64
// bits, because one machine has all of it. Empty for a Unix socket.
std::string PeerOf(const Socket& socket) {
  ErrorCode error;
  const StreamProtocol::endpoint endpoint = socket.remote_endpoint(error);
  if (error) {
    return {};
  }
  sockaddr_storage storage{};
  std::memcpy(&storage, endpoint.data(), std::min(endpoint.size(), sizeof storage));
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (storage.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(storage);
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  } else if (storage.ss_family == AF_INET6) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
    if (!IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
      std::memset(&v6.sin6_addr.s6_addr[8], 0, 8);
    }
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  }
  return text.data();
}

class BeastServer final : public HttpServer {
 public:
  BeastServer(HttpServerOptions options, HttpHandler handler, Listener listener)
      : port_(listener.port),
        file_(std::move(listener.file)),
        acceptor_(io_),
        accept_pause_(io_),
        drain_deadline_(io_),
        end_of_crowd_(io_),
        shared_(std::move(options), std::move(handler)) {
    general_.limit = shared_.options.max_connections;
    probes_.limit = shared_.options.probe_slots;
    probes_.probes_only = true;
    shared_.is_local = listener.family == AF_UNIX;
    BoundKernelMemory(listener);
    shared_.on_closed = [this] { OnClosed(); };
    acceptor_.assign(StreamProtocol(listener.family, 0), listener.socket.Release());
  }

  // Makes the objects of the web configuration, which may need the server's thread.
  Status OpenFront() {
    if (shared_.options.web_config_file.empty()) {
      return absl::OkStatus();
    }
    PODGPU_ASSIGN_OR_RETURN(
        shared_.front,
        WebFront::Open(shared_.options.web_config_file, shared_.options.files, shared_.counters,
                       [this](std::function<void()> work) { asio::post(io_, std::move(work)); }));
    return absl::OkStatus();
  }

  void Run() {
    Accept();
    thread_ = std::jthread([this] { io_.run(); });
    pthread_setname_np(thread_.native_handle(), "http");
  }

  BeastServer(const BeastServer&) = delete;
  BeastServer& operator=(const BeastServer&) = delete;

  // Throws only when memory runs out, which ends the program.
  // NOLINTNEXTLINE(bugprone-exception-escape): see the line above.
  ~BeastServer() override {
    if (thread_.joinable()) {
      asio::post(io_, [this] { BeginStop(); });
      thread_.join();
    }
  }

  uint16_t port() const override { return port_; }

  HttpServerStats stats() const override { return shared_.counters.Read(); }

 private:
  void Accept() {
    acceptor_.async_accept([this](const ErrorCode& error, Socket socket) {
      if (shared_.stopping) {
        return;
      }
      if (error) {
        return OnAcceptError(error);
      }
      if (accept_failing_) {
        accept_failing_ = false;
        Log(LogLevel::kInfo, "the HTTP server accepts connections again");
      }
      Admit(std::move(socket));
      Accept();
    });
  }

  // The listener stays usable; the missing resource (file descriptors, memory) may become free
  // again.
  void OnAcceptError(const ErrorCode& error) {
    shared_.counters.accept_errors++;
    if (!accept_failing_ && error != asio::error::connection_aborted) {
      accept_failing_ = true;
      Log(LogLevel::kWarn, "the HTTP server cannot accept connections; it keeps trying",
          {{"error", error.message()}});
    }
    DisplaceOne(general_);  // Its descriptor is used for the next client.
    accept_pause_.expires_after(shared_.options.accept_pause);
    accept_pause_.async_wait([this](const ErrorCode& cancelled) {
      if (!cancelled && !shared_.stopping) {
        Accept();
      }
    });
  }

  void Admit(Socket socket) {
    ErrorCode ignored;
    socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    const std::string peer = PeerOf(socket);
    for (ConnectionPool* pool : {&general_, &probes_}) {
      // An address at its own limit loses one of its own connections.
      const bool has_room = pool->size() < pool->limit && !HasItsShare(peer);
      if (has_room || DisplaceOne(*pool, HasItsShare(peer) ? peer : std::string())) {
        std::make_shared<Connection>(shared_, *pool, std::move(socket), peer)->Start();
        most_open_ = std::max(most_open_, open());
        descriptor_memory_.ReserveBeyond(open());
        return;
      }
    }
    shared_.counters.turned_away++;
  }

  bool HasItsShare(const std::string& peer) const {
    const auto held = shared_.peers.find(peer);
    return !peer.empty() && held != shared_.peers.end() &&
           held->second >= shared_.options.max_connections_per_peer;
  }

  // Closes a connection to accept a new one, if one may be closed; only one of `peer` unless that
  // is empty.
  bool DisplaceOne(ConnectionPool& pool, const std::string& peer = "") {
    const std::shared_ptr<Connection> victim = ToDisplace(pool, peer);
    if (victim == nullptr) {
      return false;
    }
    shared_.counters.displaced++;
    victim->CutOff();
    return true;
  }

  // Chooses the connection with the longest inactivity of the address with most connections, so
  // that an address with too many connections replaces its own. The longest inactivity protects a
  // client that has just connected and could not send its request yet.
  std::shared_ptr<Connection> ToDisplace(const ConnectionPool& pool,
                                         const std::string& peer) const {
    const auto goes_before = [](const Connection& one, const Connection& other) {
      return one.connections_of_peer() != other.connections_of_peer()
                 ? one.connections_of_peer() > other.connections_of_peer()
                 : one.active_at() < other.active_at();
    };
    const Instant now = shared_.clock.Now();
    std::shared_ptr<Connection> first;
    for (const Connections* list : {&pool.waiting, &pool.busy}) {
      for (const std::shared_ptr<Connection>& one : *list) {
        const bool may_go =
            list == &pool.waiting || now - one->active_at() >= shared_.options.stalled_after;
        const bool is_meant = peer.empty() || one->peer() == peer;
        if (may_go && is_meant && (first == nullptr || goes_before(*one, *first))) {
          first = one;
        }
      }
    }
    return first;
  }

  static void CloseFirst(Connections& connections) {
    const std::shared_ptr<Connection> first = connections.front();
    first->Close();
  }

  void BeginStop() {
    shared_.stopping = true;
    ErrorCode ignored;
    acceptor_.close(ignored);
    accept_pause_.cancel();
    end_of_crowd_.cancel();
    for (ConnectionPool* pool : {&general_, &probes_}) {
      while (!pool->waiting.empty()) {
        CloseFirst(pool->waiting);
      }
    }
    if (general_.busy.empty() && probes_.busy.empty()) {
      return;
    }
    drain_deadline_.expires_after(shared_.options.drain);
    drain_deadline_.async_wait([this](const ErrorCode& cancelled) {
      for (ConnectionPool* pool : {&general_, &probes_}) {
        while (!cancelled && !pool->busy.empty()) {
          const std::shared_ptr<Connection> first = pool->busy.front();
          first->CutOff();
        }
      }
    });
  }

  size_t open() const { return general_.size() + probes_.size(); }

  void OnClosed() {
    if (shared_.stopping && open() == 0) {
      drain_deadline_.cancel();
    }
    if (!shared_.stopping && !awaits_end_of_crowd_ && HasCrowdGone()) {
      awaits_end_of_crowd_ = true;
      // By then, the connections that have left their pool are destroyed.
      end_of_crowd_.expires_after(shared_.options.return_memory_after);
      end_of_crowd_.async_wait([this](const ErrorCode& cancelled) {
        awaits_end_of_crowd_ = false;
        if (!cancelled && HasCrowdGone()) {
          most_open_ = open();
          shared_.options.return_memory();
        }
      });
    }
  }

  bool HasCrowdGone() const { return most_open_ >= kCrowd && open() <= most_open_ / kCrowdHasLeft; }

  uint16_t port_;
  SocketFile file_;
  asio::io_context io_{1};
  DescriptorMemory descriptor_memory_{io_};
  Acceptor acceptor_;
  Timer accept_pause_;
  Timer drain_deadline_;
  Timer end_of_crowd_;
  ServerState shared_;
  ConnectionPool general_;
  ConnectionPool probes_;
  bool accept_failing_ = false;
  size_t most_open_ = 0;  // Connections at one time, since the last crowd has gone.
  bool awaits_end_of_crowd_ = false;
  std::jthread thread_;
};

StatusOr<Listener> ListenAs(const HttpServerOptions& options) {
  if (options.inherited_socket >= 0) {
    return AdoptListener(options.inherited_socket);
  }
  PODGPU_ASSIGN_OR_RETURN(const ListenAddress address, ParseListenAddress(options.address));
  return Listen(address, *options.files);
}

}  // namespace

HttpResponse TextResponse(int status, std::string body, std::string content_type) {
  const auto owned = std::make_shared<const std::string>(std::move(body));
  HttpResponse response;
  response.status = status;
  response.content_type = std::move(content_type);
  response.keep_alive = owned;
  response.body = *owned;
  return response;
}

StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(HttpServerOptions options,
                                                        HttpHandler handler) {
  PODGPU_ASSIGN_OR_RETURN(Listener listener, ListenAs(options));
  auto server =
      std::make_unique<BeastServer>(std::move(options), std::move(handler), std::move(listener));
  PODGPU_RETURN_IF_ERROR(server->OpenFront());
  server->Run();
  return server;
}

}  // namespace podgpu
