#include "http/server.h"

#if defined(__SANITIZE_THREAD__)
// GCC's thread sanitizer knows no fences.  Asio's are not needed: its queue is behind a mutex.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <list>
#include <pthread.h>
#include <thread>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>

#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "http/listen.h"
#include "http/request_reader.h"
#include "http/response_head.h"

namespace podgpu {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using Tcp = asio::ip::tcp;
using Executor = asio::io_context::executor_type;
using Acceptor = asio::basic_socket_acceptor<Tcp, Executor>;
using Socket = asio::basic_stream_socket<Tcp, Executor>;
using Stream = boost::beast::basic_stream<Tcp, Executor>;

constexpr size_t kReadBytes = 2048;  // Holds the request of every scraper that we know.

// After the last response we close our half and read on for so long and so much, so that the
// client finds the response before it finds the connection reset.
constexpr std::chrono::seconds kLinger{1};
constexpr size_t kLingerBytes = size_t{1} << 20;

class Connection;
using Connections = std::list<std::shared_ptr<Connection>>;

// The connections that share one bound.
struct Pool {
  size_t limit = 0;
  bool probes_only = false;
  Connections waiting;  // For a request, or for the client to close; the longest first.
  Connections busy;     // Being answered.
  size_t size() const { return waiting.size() + busy.size(); }
};

// What all connections of a server share; outlives them.
struct Shared {
  Shared(HttpServerOptions server_options, HttpHandler server_handler)
      : options(std::move(server_options)),
        handler(std::move(server_handler)),
        counters(options.counters != nullptr ? *options.counters : own_counters) {}

  HttpServerOptions options;
  HttpHandler handler;
  SystemClock clock;
  HttpCounters own_counters;
  HttpCounters& counters;
  bool stopping = false;
  std::function<void()> on_closed;  // A connection has left its pool.
};

// One client.  Owned by its pool; operations under way keep it alive past that.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Shared& shared, Pool& pool, Socket socket)
      : shared_(shared),
        pool_(pool),
        stream_(std::move(socket)),
        reader_({.max_header_bytes = shared.options.max_header_bytes,
                 .max_body_bytes = shared.options.max_body_bytes}) {}

  // Joins the pool and reads the first request.
  void Start() {
    place_ = pool_.waiting.insert(pool_.waiting.end(), shared_from_this());
    shared_.counters.open_connections++;
    AwaitRequest();
  }

  // Closes the socket and leaves the pool.
  void Close() {
    if (closed_) {
      return;
    }
    closed_ = true;
    stream_.close();
    shared_.counters.open_connections--;
    (is_busy_ ? pool_.busy : pool_.waiting).erase(place_);
    shared_.on_closed();
  }

 private:
  void AwaitRequest() {
    reader_.Reset();
    BecomeWaiting();
    is_idle_ = has_answered_ && buffer_.empty();
    stream_.expires_after(shared_.options.request_timeout);
    Advance();
  }

  // Goes as far as the bytes at hand allow.
  void Advance() {
    buffer_.erase(0, reader_.Feed(buffer_));
    switch (reader_.state()) {
      case RequestReader::State::kIncomplete:
        return ReadMore();
      case RequestReader::State::kComplete:
        return Answer();
      case RequestReader::State::kRefused:
        shared_.counters.bad_requests++;
        return Refuse(reader_.refusal(), false);
    }
  }

  void ReadMore() {
    const size_t held = buffer_.size();
    buffer_.resize(held + kReadBytes);
    stream_.async_read_some(
        asio::buffer(buffer_.data() + held, kReadBytes),
        [self = shared_from_this(), held](const ErrorCode& error, size_t count) {
          self->buffer_.resize(held + count);
          self->is_idle_ = self->is_idle_ && count == 0;
          if (self->GoesOn(error)) {
            self->Advance();
          }
        });
  }

  void Answer() {
    const HttpRequest request = reader_.request();
    const bool head_only = request.method == "HEAD";
    const std::vector<std::string>& probes = shared_.options.probe_paths;
    if (pool_.probes_only && std::ranges::find(probes, request.path) == probes.end()) {
      shared_.counters.turned_away++;
      return Refuse(503, head_only);
    }
    shared_.counters.requests++;
    Persistence persistence = Persistence::kClose;
    if (reader_.keep_alive() && !pool_.probes_only && !shared_.stopping) {
      persistence = reader_.is_http_1_0() ? Persistence::kKeepAliveHttp10 : Persistence::kKeepAlive;
    }
    response_ = shared_.handler(request);
    Write(persistence, head_only);
  }

  void Refuse(int status, bool head_only) {
    response_ = TextResponse(status, std::string(ReasonPhrase(status)) + "\n");
    Write(Persistence::kClose, head_only);
  }

  // One deadline for head and body together, however slowly the client takes them.
  void Write(Persistence persistence, bool head_only) {
    BecomeBusy();
    const int64_t unix_s = ToMicroseconds(shared_.clock.WallNow()) / 1'000'000;
    head_ = FormatResponseHead(response_, persistence, unix_s);
    const std::string_view body = head_only ? std::string_view() : response_.body;
    const std::array<asio::const_buffer, 2> parts = {asio::buffer(head_),
                                                     asio::buffer(body.data(), body.size())};
    stream_.expires_after(shared_.options.response_timeout);
    asio::async_write(stream_, parts,
                      [self = shared_from_this(), persistence](const ErrorCode& error, size_t) {
                        self->response_ = {};  // The snapshot goes as soon as its bytes are out.
                        if (self->GoesOn(error)) {
                          self->OnWritten(persistence);
                        }
                      });
  }

  void OnWritten(Persistence persistence) {
    has_answered_ = true;
    if (persistence == Persistence::kClose || shared_.stopping) {
      BeginLinger();
    } else {
      AwaitRequest();
    }
  }

  void BeginLinger() {
    if (shared_.stopping) {
      return Close();
    }
    BecomeWaiting();
    ErrorCode ignored;
    stream_.socket().shutdown(Socket::shutdown_send, ignored);
    stream_.expires_after(kLinger);
    buffer_.resize(kReadBytes);
    Linger();
  }

  void Linger() {
    stream_.async_read_some(asio::buffer(buffer_),
                            [self = shared_from_this()](const ErrorCode& error, size_t count) {
                              self->lingered_bytes_ += count;
                              if (error || self->closed_ || self->lingered_bytes_ > kLingerBytes) {
                                self->Close();
                              } else {
                                self->Linger();
                              }
                            });
  }

  // Whether the connection is still of use after an operation; closes it if not.
  bool GoesOn(const ErrorCode& error) {
    if (error && !closed_) {
      // A client that stays between two requests breaks no rule; it comes back when it wants.
      if (error == boost::beast::error::timeout && !is_idle_) {
        shared_.counters.deadlines++;
      }
      Close();
    }
    return !closed_;
  }

  void BecomeBusy() {
    if (!is_busy_) {
      pool_.busy.splice(pool_.busy.end(), pool_.waiting, place_);
      is_busy_ = true;
    }
  }

  void BecomeWaiting() {
    if (is_busy_) {
      pool_.waiting.splice(pool_.waiting.end(), pool_.busy, place_);
      is_busy_ = false;
    }
  }

  Shared& shared_;
  Pool& pool_;
  Stream stream_;
  RequestReader reader_;
  std::string buffer_;  // What has arrived and is not used yet.
  HttpResponse response_;
  std::string head_;
  size_t lingered_bytes_ = 0;
  Connections::iterator place_;
  bool is_busy_ = false;
  bool has_answered_ = false;
  bool is_idle_ = false;  // Between two requests.
  bool closed_ = false;
};

class BeastServer final : public HttpServer {
 public:
  BeastServer(HttpServerOptions options, HttpHandler handler, Listener listener)
      : port_(listener.port),
        acceptor_(io_),
        accept_pause_(io_),
        drain_deadline_(io_),
        shared_(std::move(options), std::move(handler)) {
    general_.limit = shared_.options.max_connections;
    probes_.limit = shared_.options.probe_slots;
    probes_.probes_only = true;
    shared_.on_closed = [this] { EndDrainWhenIdle(); };
    acceptor_.assign(listener.is_v6 ? Tcp::v6() : Tcp::v4(), listener.socket.Release());
    Accept();
    thread_ = std::jthread([this] { io_.run(); });
    pthread_setname_np(thread_.native_handle(), "http");
  }

  BeastServer(const BeastServer&) = delete;
  BeastServer& operator=(const BeastServer&) = delete;

  // NOLINTNEXTLINE(bugprone-exception-escape): only for want of memory, which ends the program.
  ~BeastServer() override {
    asio::post(io_, [this] { BeginStop(); });
    thread_.join();
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

  // The listener itself stays good; what is short (file descriptors, memory) may come back.
  void OnAcceptError(const ErrorCode& error) {
    shared_.counters.accept_errors++;
    if (!accept_failing_ && error != asio::error::connection_aborted) {
      accept_failing_ = true;
      Log(LogLevel::kWarn, "the HTTP server cannot accept connections; it keeps trying",
          {{"error", error.message()}});
    }
    DisplaceOne(general_);  // Its descriptor serves the next client.
    accept_pause_.expires_after(shared_.options.accept_pause);
    accept_pause_.async_wait([this](const ErrorCode& cancelled) {
      if (!cancelled && !shared_.stopping) {
        Accept();
      }
    });
  }

  void Admit(Socket socket) {
    ErrorCode ignored;
    socket.set_option(Tcp::no_delay(true), ignored);
    for (Pool* pool : {&general_, &probes_}) {
      if (pool->size() < pool->limit || DisplaceOne(*pool)) {
        return std::make_shared<Connection>(shared_, *pool, std::move(socket))->Start();
      }
    }
    shared_.counters.turned_away++;
  }

  // Closes the connection that has waited longest, if one waits.
  bool DisplaceOne(Pool& pool) {
    if (pool.waiting.empty()) {
      return false;
    }
    shared_.counters.displaced++;
    CloseFirst(pool.waiting);
    return true;
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
    for (Pool* pool : {&general_, &probes_}) {
      while (!pool->waiting.empty()) {
        CloseFirst(pool->waiting);
      }
    }
    if (general_.busy.empty() && probes_.busy.empty()) {
      return;
    }
    drain_deadline_.expires_after(shared_.options.drain);
    drain_deadline_.async_wait([this](const ErrorCode& cancelled) {
      for (Pool* pool : {&general_, &probes_}) {
        while (!cancelled && !pool->busy.empty()) {
          CloseFirst(pool->busy);
        }
      }
    });
  }

  void EndDrainWhenIdle() {
    if (shared_.stopping && general_.size() + probes_.size() == 0) {
      drain_deadline_.cancel();
    }
  }

  uint16_t port_;
  asio::io_context io_{1};
  Acceptor acceptor_;
  asio::basic_waitable_timer<std::chrono::steady_clock,
                             asio::wait_traits<std::chrono::steady_clock>, Executor>
      accept_pause_;
  asio::basic_waitable_timer<std::chrono::steady_clock,
                             asio::wait_traits<std::chrono::steady_clock>, Executor>
      drain_deadline_;
  Shared shared_;
  Pool general_;
  Pool probes_;
  bool accept_failing_ = false;
  std::jthread thread_;
};

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
  PODGPU_ASSIGN_OR_RETURN(const ListenAddress address, ParseListenAddress(options.address));
  PODGPU_ASSIGN_OR_RETURN(Listener listener, Listen(address, SystemFiles()));
  return std::make_unique<BeastServer>(std::move(options), std::move(handler), std::move(listener));
}

}  // namespace podgpu
