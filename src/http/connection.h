// One client connection of the server: reads requests, gets and writes answers, and enforces the
// deadlines.
//
// Owned by the pool whose limit it counts against; running operations keep it alive after it has
// left the pool. It is in one of the pool's two lists, for connections that wait for the client and
// for those that are being answered, and records its last activity, so that the server knows which
// connection to close first. One answer is in flight at a time: the next request is read only after
// the system has taken the whole answer. A TLS connection costs no more than a plain one until its
// first byte arrives; the handshake is part of the first request and shares its deadline.
// Everything happens on the server's thread.
#pragma once

#include <array>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "http/counters.h"
#include "http/request_guard.h"
#include "http/request_reader.h"
#include "http/response_head.h"
#include "http/server.h"
#include "http/sockets.h"
#include "http/tls_context.h"
#include "http/web_front.h"

namespace podgpu {

class Connection;
using Connections = std::list<std::shared_ptr<Connection>>;

// The connections that share one limit.
struct ConnectionPool {
  size_t limit = 0;
  bool probes_only = false;
  Connections waiting;  // They wait for a request, or for the client to close.
  Connections busy;     // They are being answered.
  size_t size() const { return waiting.size() + busy.size(); }
};

// Number of open connections per client address; clients without one share an entry.
using Peers = std::map<std::string, size_t, std::less<>>;

// State that all connections of a server share; outlives them.
struct ServerState {
  ServerState(HttpServerOptions server_options, HttpHandler server_handler)
      : options(std::move(server_options)),
        handler(std::move(server_handler)),
        counters(options.counters != nullptr ? *options.counters : own_counters),
        guard(options.guard) {}

  HttpServerOptions options;
  HttpHandler handler;
  SystemClock clock;
  HttpCounters own_counters;
  HttpCounters& counters;
  const RequestGuard guard;
  Peers peers;
  bool is_local = false;            // Served on a Unix socket, which no browser can reach.
  std::unique_ptr<WebFront> front;  // Null without a web configuration.
  bool stopping = false;
  std::function<void()> on_closed;  // A connection has left its pool.
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // `peer` is the address whose connections are counted and limited; empty: not limited.
  Connection(ServerState& shared, ConnectionPool& pool, Socket socket, std::string peer);

  // Joins the pool and reads the first request.
  void Start();

  // Closes the socket and leaves the pool.
  void Close();

  // Closes it and makes the system drop unsent data.
  void CutOff();

  // Valid while it is open.
  const std::string& peer() const { return peer_->first; }
  size_t connections_of_peer() const { return peer_->second; }
  // Last activity: it was accepted, its answer began, or the system took a part of its answer.
  // Bytes of a request do not count, because a client may send one at a time.
  Instant active_at() const { return active_at_; }

 private:
  using Parts = std::array<boost::asio::const_buffer, 2>;  // Head and body of an answer.

  void AwaitRequest();
  void Advance();
  bool BeginsWithTls();
  void OnHandshake(const ErrorCode& error);
  void ReadMore();
  void Answer();
  void OnAdmitted(int refusal);
  void Serve();
  void Deny(int status, std::string body = "");
  bool IsGuardedAgainst(const HttpRequest& request);
  void AskHandler();
  void Refuse(int status, std::string body = "");
  Persistence PersistenceOfRequest() const;
  bool IsHead() const;
  void Write(Persistence persistence, bool head_only);
  bool IsTakenAtOnce(Parts& parts);
  void WriteInPieces(const Parts& parts, Persistence persistence);
  void OnWritten(Persistence persistence);
  void BeginLinger();
  void LingerOn();
  void Linger();
  bool GoesOn(const ErrorCode& error);
  void ForgetAtItsEnd(bool forgets);
  void BecomeBusy();
  void BecomeWaiting();

  // Calls `act` with the stream that carries HTTP: the socket, or TLS over it.
  template <typename Act>
  void OnStream(Act act);

  ServerState& shared_;
  ConnectionPool& pool_;
  Peers::iterator peer_;  // Valid until it is closed.
  Stream stream_;
  Timer ask_again_;
  // Null without TLS and before the handshake. The session is destroyed before its context and its
  // socket.
  std::shared_ptr<const TlsContext> tls_context_;
  std::unique_ptr<TlsStream> tls_;
  std::vector<std::string> certificates_;  // Certificates of the client, in DER.
  RequestReader reader_;
  std::string buffer_;  // Received bytes that are not used yet.
  HttpResponse response_;
  std::string head_;
  Instant answer_by_{};  // Deadline of the response; then the connection is closed.
  Instant active_at_{};
  int failed_passwords_ = 0;  // Wrong passwords since the last right one.
  size_t lingered_bytes_ = 0;
  Connections::iterator place_;
  bool is_new_ = true;  // No byte has arrived yet.
  bool is_busy_ = false;
  bool has_answered_ = false;
  bool is_idle_ = false;  // Between two requests.
  bool closed_ = false;
};

}  // namespace podgpu
