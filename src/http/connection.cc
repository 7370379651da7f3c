#include "http/connection.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <boost/asio/write.hpp>

#include "base/log.h"

namespace podgpu {
namespace {

namespace asio = boost::asio;

constexpr size_t kReadBytes = 2048;  // Enough for the request of every known scraper.

// After the last response the server closes its sending side and reads on for this long and this
// many bytes; otherwise a reset could destroy the response before the client reads it.
constexpr std::chrono::seconds kLinger{1};
constexpr size_t kLingerBytes = size_t{1} << 20;

constexpr size_t kPieceBytes = size_t{64} << 10;

// After so many wrong passwords the client must connect again.
constexpr int kMostFailedPasswords = 3;

// The methods of RFC 9110 and 5789. WebDAV methods are answered too, but not listed.
constexpr const char* kAllowedMethods =
    "GET, HEAD, POST, PUT, DELETE, CONNECT, OPTIONS, TRACE, PATCH";

// A handler that wants to be called again is called after this delay, until this long before the
// response is due.
constexpr std::chrono::milliseconds kAskAgainAfter{20};
constexpr std::chrono::milliseconds kAskAgainUntil{250};

// Returns how long the answer to `request` may take: at most as long as the scraper waits, which
// X-Prometheus-Scrape-Timeout-Seconds tells.
Duration TimeToAnswer(const HttpRequest& request, Duration longest) {
  const std::string_view text = request.scrape_timeout_s;
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  if (!is_number || !(seconds > 0) || seconds >= std::chrono::duration<double>(longest).count()) {
    return longest;
  }
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

Connection::Connection(ServerState& shared, ConnectionPool& pool, Socket socket, std::string peer)
    : shared_(shared),
      pool_(pool),
      peer_(shared.peers.try_emplace(std::move(peer)).first),
      stream_(std::move(socket)),
      ask_again_(stream_.get_executor()),
      reader_({.max_header_bytes = shared.options.max_header_bytes,
               .max_body_bytes = shared.options.max_body_bytes}) {}

template <typename Act>
void Connection::OnStream(Act act) {
  if (tls_ != nullptr) {
    act(*tls_);
  } else {
    act(stream_);
  }
}

void Connection::Start() {
  ErrorCode ignored;
  stream_.socket().non_blocking(true, ignored);  // IsTakenAtOnce must not wait.
  place_ = pool_.waiting.insert(pool_.waiting.end(), shared_from_this());
  shared_.counters.open_connections++;
  peer_->second++;
  AwaitRequest();
}

void Connection::Close() {
  if (closed_) {
    return;
  }
  closed_ = true;
  stream_.close();
  shared_.counters.open_connections--;
  (is_busy_ ? pool_.busy : pool_.waiting).erase(place_);
  if (--peer_->second == 0) {
    shared_.peers.erase(peer_);
  }
  shared_.on_closed();
}

void Connection::CutOff() {
  int untaken_bytes = 0;
  if (!closed_ && ::ioctl(stream_.socket().native_handle(), SIOCOUTQ, &untaken_bytes) == 0 &&
      untaken_bytes > 0) {
    ForgetAtItsEnd(true);
  }
  Close();
}

// Sets whether the system drops unsent data when the socket is closed, also by a deadline.
// Otherwise the kernel would keep and offer it for minutes.
void Connection::ForgetAtItsEnd(bool forgets) {
  ErrorCode ignored;
  stream_.socket().set_option(asio::socket_base::linger(forgets, 0), ignored);
}

void Connection::AwaitRequest() {
  reader_.Reset();
  BecomeWaiting();
  is_idle_ = has_answered_ && buffer_.empty();
  stream_.expires_after(is_idle_ ? shared_.options.idle_timeout : shared_.options.request_timeout);
  Advance();
}

// Processes as many of the received bytes as possible.
void Connection::Advance() {
  if (is_new_ && !buffer_.empty()) {
    is_new_ = false;
    if (BeginsWithTls()) {
      return;
    }
  }
  buffer_.erase(0, reader_.Feed(buffer_));
  switch (reader_.state()) {
    case RequestReader::State::kIncomplete:
      return ReadMore();
    case RequestReader::State::kComplete:
      return Answer();
    case RequestReader::State::kRefused:
      shared_.counters.bad_requests++;
      answer_by_ = shared_.clock.Now() + shared_.options.response_timeout;
      return Refuse(reader_.refusal());
  }
}

// Starts the handshake if TLS is configured, or refuses a client whose first byte is not TLS.
bool Connection::BeginsWithTls() {
  constexpr char kHandshakeRecord = 0x16;  // RFC 8446, 5.1.
  if (shared_.options.tls) {
    tls_context_ = shared_.options.tls();
    PODGPU_CHECK(tls_context_ != nullptr);
  } else if (shared_.front != nullptr) {
    tls_context_ = shared_.front->Tls();
  }
  if (tls_context_ == nullptr) {
    return false;
  }
  if (buffer_.front() != kHandshakeRecord) {
    shared_.counters.bad_requests++;
    answer_by_ = shared_.clock.Now() + shared_.options.response_timeout;
    Refuse(400, "Client sent an HTTP request to an HTTPS server. Use https://\n");
    return true;
  }
  tls_ = std::make_unique<TlsStream>(stream_, tls_context_->NewSession());
  tls_->async_handshake(
      TlsStream::server, asio::buffer(buffer_),
      [self = shared_from_this()](const ErrorCode& error, size_t) { self->OnHandshake(error); });
  return true;
}

void Connection::OnHandshake(const ErrorCode& error) {
  if (error && !closed_ && error != boost::beast::error::timeout) {
    shared_.counters.failed_handshakes++;
  }
  buffer_.clear();  // The client has nothing to say before it gets the answer.
  if (!error && shared_.options.tls) {
    certificates_ = ClientCertificates(*tls_->native_handle());
  }
  if (GoesOn(error)) {
    Advance();
  }
}

void Connection::ReadMore() {
  const size_t held = buffer_.size();
  buffer_.resize(held + kReadBytes);
  auto on_read = [self = shared_from_this(), held](const ErrorCode& error, size_t count) {
    self->buffer_.resize(held + count);
    if (self->is_idle_ && count > 0) {
      self->is_idle_ = false;
      self->stream_.expires_after(self->shared_.options.request_timeout);
    }
    if (self->GoesOn(error)) {
      self->Advance();
    }
  };
  OnStream([&](auto& stream) {
    stream.async_read_some(asio::buffer(buffer_.data() + held, kReadBytes), std::move(on_read));
  });
}

void Connection::Answer() {
  const HttpRequest request = reader_.request();
  const Instant now = shared_.clock.Now();
  answer_by_ = now + TimeToAnswer(request, shared_.options.response_timeout);
  const std::vector<std::string>& probes = shared_.options.probe_paths;
  if (pool_.probes_only && std::ranges::find(probes, request.path) == probes.end()) {
    shared_.counters.turned_away++;
    return Refuse(503);
  }
  if (IsGuardedAgainst(request)) {
    return;
  }
  if (shared_.front == nullptr) {
    return Serve();
  }
  BecomeBusy();
  shared_.front->Admit(request.authorization, now,
                       [self = shared_from_this()](int refusal) { self->OnAdmitted(refusal); });
}

// Refuses a request that another web site may have made a browser send.
bool Connection::IsGuardedAgainst(const HttpRequest& request) {
  const GuardVerdict verdict =
      shared_.is_local ? GuardVerdict::kPass : shared_.guard.Judge(request);
  if (verdict == GuardVerdict::kPass) {
    return false;
  }
  const std::string why = RequestGuard::Explain(verdict, request);
  const bool is_host = verdict == GuardVerdict::kForeignHost;
  std::atomic<uint64_t>& count =
      is_host ? shared_.counters.foreign_host : shared_.counters.cross_site;
  if (count++ == 0) {  // Only the first is logged; all are counted.
    Log(LogLevel::kWarn,
        is_host ? "refused a request with a foreign Host" : "refused a request from another site",
        {{"why", why}, {"peer", peer()}});
  }
  Deny(403, why + "\n");
  return true;
}

// Called when the front has decided, at once or after a password check.
void Connection::OnAdmitted(int refusal) {
  if (closed_) {
    return;
  }
  if (shared_.clock.Now() > answer_by_) {
    shared_.counters.deadlines++;
    return Close();
  }
  failed_passwords_ = refusal == 401 ? failed_passwords_ + 1 : 0;
  refusal == 0 ? Serve() : Deny(refusal);
}

void Connection::Serve() {
  shared_.counters.requests++;
  AskHandler();
}

void Connection::AskHandler() {
  HttpRequest request = reader_.request();
  const std::vector<HttpHeader> headers =
      shared_.options.passes_headers ? reader_.headers() : std::vector<HttpHeader>();
  request.headers = headers;
  request.certificates = certificates_;
  const Duration left = answer_by_ - shared_.clock.Now();
  request.must_answer = left < kAskAgainUntil;
  response_ = shared_.handler(request);
  if (response_.ask_again && !request.must_answer) {
    BecomeBusy();
    response_ = {};
    ask_again_.expires_after(kAskAgainAfter);
    ask_again_.async_wait([self = shared_from_this()](const ErrorCode& error) {
      if (!error && !self->closed_) {
        self->AskHandler();
      }
    });
    return;
  }
  Write(PersistenceOfRequest(), IsHead());
}

// Refuses a valid request; the client may send another on the same connection.
void Connection::Deny(int status, std::string body) {
  response_ = TextResponse(
      status, body.empty() ? std::string(ReasonPhrase(status)) + "\n" : std::move(body));
  response_.headers.emplace_back("X-Content-Type-Options", "nosniff");
  if (status == 401) {
    response_.headers.emplace_back("WWW-Authenticate", "Basic");
  }
  Write(PersistenceOfRequest(), IsHead());
}

void Connection::Refuse(int status, std::string body) {
  response_ = TextResponse(
      status, body.empty() ? std::string(ReasonPhrase(status)) + "\n" : std::move(body));
  if (status == 405) {
    response_.headers.emplace_back("Allow", kAllowedMethods);
  }
  Write(Persistence::kClose, IsHead());
}

Persistence Connection::PersistenceOfRequest() const {
  if (!reader_.keep_alive() || pool_.probes_only || shared_.stopping ||
      failed_passwords_ >= kMostFailedPasswords) {
    return Persistence::kClose;
  }
  return reader_.is_http_1_0() ? Persistence::kKeepAliveHttp10 : Persistence::kKeepAlive;
}

bool Connection::IsHead() const {
  return reader_.state() == RequestReader::State::kComplete && reader_.request().method == "HEAD";
}

// Head and body have one common deadline, however slowly the client reads.
void Connection::Write(Persistence persistence, bool head_only) {
  if (shared_.front != nullptr) {
    shared_.front->AddHeaders(response_);
  }
  const int64_t unix_s = ToMicroseconds(shared_.clock.WallNow()) / 1'000'000;
  head_ = FormatResponseHead(response_, persistence, unix_s);
  const std::string_view body = head_only ? std::string_view() : response_.body;
  Parts parts = {asio::buffer(head_), asio::buffer(body.data(), body.size())};
  if (IsTakenAtOnce(parts)) {
    response_ = {};
    return OnWritten(persistence);
  }
  WriteInPieces(parts, persistence);
}

// Passes a short answer to the system in the handler that read the request, which saves half of the
// system calls of an operation with a deadline. Returns whether the system has taken all of it;
// otherwise `parts` are what is left. An error is left to the next operation.
bool Connection::IsTakenAtOnce(Parts& parts) {
  // Requests that have already arrived wait for the server's other connections.
  if (tls_ != nullptr || !buffer_.empty() || asio::buffer_size(parts) > kPieceBytes) {
    return false;
  }
  ErrorCode error;
  size_t taken = stream_.socket().write_some(parts, error);
  for (asio::const_buffer& part : parts) {
    const size_t of_part = std::min(taken, part.size());
    part += of_part;
    taken -= of_part;
  }
  return asio::buffer_size(parts) == 0;
}

void Connection::WriteInPieces(const Parts& parts, Persistence persistence) {
  BecomeBusy();
  ForgetAtItsEnd(true);
  stream_.expires_at(answer_by_);
  auto on_written = [self = shared_from_this(), persistence](const ErrorCode& error, size_t) {
    self->response_ = {};  // The snapshot is released as soon as its bytes are sent.
    if (self->GoesOn(error)) {
      self->ForgetAtItsEnd(false);  // Data in flight to a well-behaved client must arrive.
      self->OnWritten(persistence);
    }
  };
  // Asked before each piece: returns the number of bytes that may be passed to the system at once.
  auto next_piece = [self = shared_from_this()](const ErrorCode& error, size_t written) {
    if (written > 0) {
      self->active_at_ = self->shared_.clock.Now();
    }
    return error ? size_t{0} : kPieceBytes;
  };
  OnStream([&](auto& stream) {
    asio::async_write(stream, parts, std::move(next_piece), std::move(on_written));
  });
}

void Connection::OnWritten(Persistence persistence) {
  has_answered_ = true;
  if (persistence == Persistence::kClose || shared_.stopping) {
    BeginLinger();
  } else {
    AwaitRequest();
  }
}

void Connection::BeginLinger() {
  if (shared_.stopping) {
    return Close();
  }
  BecomeWaiting();
  stream_.expires_after(kLinger);
  if (tls_ == nullptr) {
    return LingerOn();
  }
  // Tells the client that the data is complete, and waits for the client's close_notify.
  tls_->async_shutdown([self = shared_from_this()](const ErrorCode& error) {
    error || self->closed_ ? self->Close() : self->LingerOn();
  });
}

void Connection::LingerOn() {
  ErrorCode ignored;
  stream_.socket().shutdown(Socket::shutdown_send, ignored);
  buffer_.resize(kReadBytes);
  Linger();
}

void Connection::Linger() {
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

// Returns whether the connection is still usable after an operation; closes it otherwise.
bool Connection::GoesOn(const ErrorCode& error) {
  if (error && !closed_) {
    // A client that is idle between two requests breaks no rule; it may reconnect.
    if (error == boost::beast::error::timeout && !is_idle_) {
      shared_.counters.deadlines++;
    }
    Close();
  }
  return !closed_;
}

void Connection::BecomeBusy() {
  active_at_ = shared_.clock.Now();
  if (!is_busy_) {
    pool_.busy.splice(pool_.busy.end(), pool_.waiting, place_);
    is_busy_ = true;
  }
}

void Connection::BecomeWaiting() {
  active_at_ = shared_.clock.Now();
  if (is_busy_) {
    pool_.waiting.splice(pool_.waiting.end(), pool_.busy, place_);
    is_busy_ = false;
  }
}

}  // namespace podgpu
