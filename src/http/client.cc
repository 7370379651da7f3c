#include "http/client.h"

#include <sys/un.h>
#include <utility>

#include "absl/strings/str_format.h"
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include "base/text.h"
#include "base/version.h"

namespace podgpu {
namespace {

namespace beast = boost::beast;
using Tcp = boost::asio::ip::tcp;
using Plain = beast::tcp_stream;
using Local = beast::basic_stream<boost::asio::local::stream_protocol>;
using Secure = boost::asio::ssl::stream<beast::tcp_stream>;
using Error = boost::system::error_code;

constexpr uint32_t kMaxAnswerHeadBytes = 16'384;

Status FailureOf(Error error, std::string_view step) {
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

// One request, from connecting to the last byte. The handlers of its operations own it.
template <typename Stream>
class Exchange : public std::enable_shared_from_this<Exchange<Stream>> {
 public:
  Exchange(Stream stream, HttpQuestion question, const HttpClientOptions& options,
           HttpCallback done)
      : stream_(std::move(stream)), question_(std::move(question)), done_(std::move(done)) {
    parser_.header_limit(kMaxAnswerHeadBytes);
    parser_.body_limit(options.max_body_bytes);
    beast::get_lowest_layer(stream_).expires_after(options.deadline);
  }

  void Start() {
    if constexpr (std::is_same_v<Stream, Local>) {
      stream_.async_connect(boost::asio::local::stream_protocol::endpoint(question_.unix_path),
                            Then("connecting", [this] { Write(); }));
      return;
    } else {
      Connect();
    }
  }

 private:
  void Connect() {
    Error error;
    const auto address = boost::asio::ip::make_address(question_.ip, error);
    if (error) {
      Finish(absl::InvalidArgumentError(Quoted(question_.ip) + " is not an address"));
      return;
    }
    beast::get_lowest_layer(stream_).async_connect(Tcp::endpoint(address, question_.port),
                                                   Then("connecting", [this] { Handshake(); }));
  }

  // Returns a handler that calls `next`, or ends the request with the failure of `step`.
  template <typename Next>
  auto Then(const char* step, Next next) {
    return [self = this->shared_from_this(), step, next](Error error, auto... /*counts*/) {
      if (error) {
        self->Finish(FailureOf(error, step));
      } else {
        next();
      }
    };
  }

  void Handshake() {
    if constexpr (std::is_same_v<Stream, Secure>) {
      stream_.async_handshake(boost::asio::ssl::stream_base::client,
                              Then("TLS", [this] { Write(); }));
    } else {
      Write();
    }
  }

  void Write() {
    using Field = beast::http::field;
    request_ = {beast::http::verb::get, question_.path, 11};
    request_.set(Field::host, question_.host);
    request_.set(Field::user_agent, "podgpu/" + std::string(kVersion) + " (linux)");
    request_.set(Field::accept, "application/json");
    request_.set(Field::accept_encoding, "gzip");
    request_.set(Field::connection, "close");
    if (!question_.etag.empty()) {
      request_.set(Field::if_none_match, question_.etag);
    }
    if (!question_.authorization.empty()) {
      request_.set(Field::authorization, question_.authorization);
    }
    for (const auto& [name, value] : question_.headers) {
      request_.set(name, value);
    }
    beast::http::async_write(stream_, request_, Then("asking", [this] { Read(); }));
  }

  void Read() {
    beast::http::async_read(stream_, received_, parser_, Then("the answer", [this] { Take(); }));
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

  // The connection is closed when the last handler releases this object.
  void Finish(StatusOr<HttpAnswer> answer) { std::exchange(done_, nullptr)(std::move(answer)); }

  Stream stream_;
  const HttpQuestion question_;
  HttpCallback done_;
  beast::flat_buffer received_{size_t{4} * kMaxAnswerHeadBytes};
  beast::http::request<beast::http::empty_body> request_;
  beast::http::response_parser<beast::http::string_body> parser_;
};

Status UsePem(boost::asio::ssl::context& context, const HttpClientTls& tls) {
  Error error;
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

// Failures of the first step are also reported from Run.
template <typename Stream>
void BeginExchange(boost::asio::io_context& io, Stream stream, HttpQuestion question,
                   const HttpClientOptions& options, HttpCallback done) {
  boost::asio::post(io, [exchange = std::make_shared<Exchange<Stream>>(
                             std::move(stream), std::move(question), options, std::move(done))] {
    exchange->Start();
  });
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
    if (!question.unix_path.empty()) {
      if (question.unix_path.size() >= sizeof sockaddr_un().sun_path) {
        boost::asio::post(io_, [path = question.unix_path, counted = std::move(counted)] {
          counted(absl::InvalidArgumentError(Quoted(path) + " is too long for a socket"));
        });
        return;
      }
      BeginExchange(io_, Local(io_), std::move(question), options_, std::move(counted));
      return;
    }
    if (context_ == nullptr) {
      BeginExchange(io_, Plain(io_), std::move(question), options_, std::move(counted));
      return;
    }
    Secure stream(io_, *context_);
    const std::string& name = question.certificate_name;
    if (verifies_) {
      stream.set_verify_callback(boost::asio::ssl::host_name_verification(name));
    }
    Error error;
    boost::asio::ip::make_address(name, error);
    if (error) {  // A name, not an address.
      SSL_ctrl(stream.native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
               const_cast<char*>(name.c_str()));
    }
    BeginExchange(io_, std::move(stream), std::move(question), options_, std::move(counted));
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
