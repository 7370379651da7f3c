#include "http/client.h"

#include <sys/un.h>
#include <utility>

#include "absl/strings/str_format.h"
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/text.h"
#include "base/version.h"
#include "http/answer_bytes.h"
#include "http/sockets.h"

namespace podgpu {
namespace {

namespace beast = boost::beast;
using TlsSocket = boost::asio::ssl::stream<Socket&>;

constexpr uint32_t kMaxAnswerHeadBytes = 16'384;

Status FailureOf(ErrorCode error, std::string_view step) {
  const std::string sentence = absl::StrFormat("%s: %s", step, error.message());
  if (error == beast::error::timeout) {
    return absl::DeadlineExceededError(absl::StrFormat("%s: no answer in time", step));
  }
  if (error == beast::http::error::body_limit || error == beast::http::error::header_limit) {
    return absl::ResourceExhaustedError(absl::StrFormat("%s: larger than the limit", step));
  }
  if (step == "TLS" || error.category() == boost::asio::error::get_ssl_category()) {
    return absl::UnauthenticatedError(sentence);
  }
  return step == "connecting" ? absl::UnavailableError(sentence) : absl::DataLossError(sentence);
}

std::string RequestText(const HttpQuestion& question) {
  std::string text = absl::StrFormat(
      "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: podgpu/%s (linux)\r\nAccept: %s\r\n"
      "Accept-Encoding: gzip\r\nConnection: close\r\n",
      question.form.empty() ? "GET" : "POST", question.path, question.host, kVersion,
      question.accept);
  const auto add = [&text](std::string_view name, std::string_view value) {
    absl::StrAppendFormat(&text, "%s: %s\r\n", name, value);
  };
  if (!question.etag.empty()) {
    add("If-None-Match", question.etag);
  }
  if (!question.authorization.empty()) {
    add("Authorization", question.authorization);
  }
  for (const auto& [name, value] : question.headers) {
    add(name, value);
  }
  if (!question.form.empty()) {
    add("Content-Type", "application/x-www-form-urlencoded");
    add("Content-Length", std::to_string(question.form.size()));
  }
  return text + "\r\n" + question.form;
}

// One request, from connecting to the last byte. The handlers of its operations own it.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(boost::asio::io_context& io, HttpQuestion question, const HttpClientOptions& options,
           HttpCallback done)
      : socket_(io), deadline_(io), question_(std::move(question)), done_(std::move(done)) {
    parser_.eager(true);
    parser_.header_limit(kMaxAnswerHeadBytes);
    parser_.body_limit(options.max_body_bytes);
    deadline_.expires_after(options.deadline);
  }

  // Puts TLS between the socket and HTTP; before Start.
  void UseTls(boost::asio::ssl::context& context, bool verifies) {
    tls_.emplace(socket_, context);
    const std::string& name = question_.certificate_name;
    if (verifies) {
      tls_->set_verify_callback(boost::asio::ssl::host_name_verification(name));
    }
    ErrorCode error;
    boost::asio::ip::make_address(name, error);
    if (error) {  // A name, not an address.
      SSL_ctrl(tls_->native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
               const_cast<char*>(name.c_str()));
    }
  }

  // Failures of the first step are also reported from Run.
  void Start() {
    boost::asio::post(socket_.get_executor(), [self = shared_from_this()] { self->Connect(); });
    deadline_.async_wait([weak = weak_from_this()](ErrorCode error) {
      if (const auto self = error ? nullptr : weak.lock()) {
        self->is_late_ = true;
        self->socket_.close(error);
      }
    });
  }

 private:
  // Handles the end of an operation: calls `next`, or ends the request with the failure of `step`.
  struct Then {
    std::shared_ptr<Exchange> self;
    const char* step;
    void (Exchange::*next)();
    void operator()(ErrorCode error, size_t /*count*/ = 0) const {
      error ? self->Fail(error, step) : (*self.*next)();
    }
  };

  Then Next(const char* step, void (Exchange::*next)()) { return {shared_from_this(), step, next}; }

  void Connect() {
    if (!question_.unix_path.empty()) {
      ConnectTo(boost::asio::local::stream_protocol::endpoint(question_.unix_path));
      return;
    }
    ErrorCode error;
    const auto address = boost::asio::ip::make_address(question_.ip, error);
    if (error) {
      Finish(absl::InvalidArgumentError(Quoted(question_.ip) + " is not an address"));
      return;
    }
    ConnectTo(boost::asio::ip::tcp::endpoint(address, question_.port));
  }

  void ConnectTo(const StreamProtocol::endpoint& endpoint) {
    socket_.async_connect(endpoint, Next("connecting", &Exchange::Handshake));
  }

  void Handshake() {
    if (!tls_) {
      Write();
      return;
    }
    tls_->async_handshake(TlsSocket::client, Next("TLS", &Exchange::Write));
  }

  void Write() {
    request_ = RequestText(question_);
    OnStream([this](auto& stream) {
      boost::asio::async_write(stream, boost::asio::buffer(request_),
                               [self = shared_from_this()](ErrorCode error, size_t /*count*/) {
                                 self->write_failure_ = error;
                                 self->Read();
                               });
    });
  }

  // A server may refuse a request of which it has read only a part; its answer says why.
  void Read() {
    OnStream([this](auto& stream) {
      stream.async_read_some(received_.Room(),
                             [self = shared_from_this()](ErrorCode error, size_t count) {
                               self->OnRead(error, count);
                             });
    });
  }

  void OnRead(ErrorCode outcome, size_t count) {
    const ErrorCode error = received_.Parse(parser_, outcome, count);
    if (error && error != beast::http::error::need_more) {
      write_failure_ ? Fail(write_failure_, "asking") : Fail(error, "the answer");
    } else {
      parser_.is_done() ? Take() : Read();
    }
  }

  // Calls `act` with the stream that carries HTTP: the socket, or TLS over it.
  template <typename Act>
  void OnStream(Act act) {
    tls_ ? act(*tls_) : act(socket_);
  }

  void Take() {
    using Field = beast::http::field;
    auto& message = parser_.get();
    const auto text = [&message](Field field) {
      const auto value = message[field];
      return std::string(value.data(), value.size());
    };
    constexpr uint64_t kOldest = 86'400;
    HttpAnswer answer;
    answer.status = static_cast<int>(message.result_int());
    answer.etag = text(Field::etag);
    answer.content_encoding = text(Field::content_encoding);
    answer.age =
        std::chrono::seconds(std::min(ParseDecimal(text(Field::age)).value_or(0), kOldest));
    const auto exact = message["X-Podgpu-Age-Ms"];
    if (const auto ms = ParseDecimal({exact.data(), exact.size()})) {
      constexpr uint64_t kMillisecondsPerSecond = 1'000;
      answer.exact_age = std::chrono::milliseconds(std::min(*ms, kOldest * kMillisecondsPerSecond));
    }
    answer.body = std::move(message.body());
    Finish(std::move(answer));
  }

  void Fail(ErrorCode error, const char* step) {
    Finish(FailureOf(is_late_ ? ErrorCode(beast::error::timeout) : error, step));
  }

  // The connection is closed when the last handler releases this object.
  void Finish(StatusOr<HttpAnswer> answer) { std::exchange(done_, nullptr)(std::move(answer)); }

  Socket socket_;
  Timer deadline_;
  bool is_late_ = false;
  std::optional<TlsSocket> tls_;
  const HttpQuestion question_;
  HttpCallback done_;
  std::string request_;
  ErrorCode write_failure_;
  AnswerBytes received_{size_t{4} * kMaxAnswerHeadBytes};
  beast::http::response_parser<beast::http::string_body> parser_;
};

Status UsePem(boost::asio::ssl::context& context, const HttpClientTls& tls) {
  ErrorCode error;
  if (tls.authorities.empty()) {
    context.set_default_verify_paths(error);
  } else {
    context.add_certificate_authority(boost::asio::buffer(tls.authorities), error);
  }
  if (error) {
    return absl::InvalidArgumentError("it contains no certificate of an authority");
  }
  if (!tls.certificate.empty()) {
    context.use_certificate_chain(boost::asio::buffer(tls.certificate), error);
    if (!error) {
      context.use_private_key(boost::asio::buffer(tls.key), boost::asio::ssl::context::pem, error);
    }
    if (error) {
      return absl::InvalidArgumentError(
          absl::StrFormat("certificate and key cannot be used: %s", error.message()));
    }
  }
  context.set_verify_mode(tls.trusts_anyone ? boost::asio::ssl::verify_none
                                            : boost::asio::ssl::verify_peer);
  return absl::OkStatus();
}

}  // namespace

class HttpClient::Engine {
 public:
  explicit Engine(HttpClientOptions options) : options_(options) {}

  Status UseTls(const HttpClientTls* tls) {
    if (tls == nullptr) {
      context_ = nullptr;
      return absl::OkStatus();
    }
    auto context =
        std::make_shared<boost::asio::ssl::context>(boost::asio::ssl::context::tls_client);
    PODGPU_RETURN_IF_ERROR(UsePem(*context, *tls));
    context_ = std::move(context);
    verifies_ = !tls->trusts_anyone;
    return absl::OkStatus();
  }

  void Ask(HttpQuestion question, HttpCallback done) {
    ++running_;
    HttpCallback counted = [this, done = std::move(done)](StatusOr<HttpAnswer> answer) {
      --running_;
      done(std::move(answer));
    };
    if (question.unix_path.size() >= sizeof sockaddr_un().sun_path) {
      boost::asio::post(io_, [path = question.unix_path, counted = std::move(counted)] {
        counted(absl::InvalidArgumentError(Quoted(path) + " is too long for a socket"));
      });
      return;
    }
    const bool is_local = !question.unix_path.empty();
    auto exchange =
        std::make_shared<Exchange>(io_, std::move(question), options_, std::move(counted));
    if (context_ != nullptr && !is_local) {
      exchange->UseTls(*context_, verifies_);
    }
    exchange->Start();
  }

  size_t running() const { return running_; }

  void Run(Instant deadline) {
    io_.restart();
    if (io_.run_one_until(deadline) > 0) {
      io_.poll();
    }
  }

  void Interrupt() {
    boost::asio::post(io_, [] {});
  }

 private:
  const HttpClientOptions options_;
  // A context lives as long as its sessions, which share its ownership.
  std::shared_ptr<boost::asio::ssl::context> context_;
  bool verifies_ = true;
  size_t running_ = 0;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
};

HttpClient::HttpClient(HttpClientOptions options) : engine_(std::make_unique<Engine>(options)) {}

HttpClient::~HttpClient() = default;

Status HttpClient::UseTls(const HttpClientTls* tls) { return engine_->UseTls(tls); }

void HttpClient::Ask(HttpQuestion question, HttpCallback done) {
  engine_->Ask(std::move(question), std::move(done));
}

size_t HttpClient::running() const { return engine_->running(); }

void HttpClient::Run(Instant deadline) { engine_->Run(deadline); }

void HttpClient::Interrupt() { engine_->Interrupt(); }

}  // namespace podgpu
