#include "kube/api_connection.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_format.h"
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>

#include "base/clock.h"
#include "base/text.h"
#include "base/version.h"
#include "http/answer_bytes.h"

namespace podgpu {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using Tcp = asio::ip::tcp;
using TcpSocket = asio::basic_stream_socket<Tcp, asio::io_context::executor_type>;

constexpr std::chrono::milliseconds kConnectPatience{10'000};
constexpr uint32_t kMaxHeadBytes = 16'384;

std::string AddressOf(const ApiServerOptions& server) {
  const bool is_v6 = server.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + server.host + "]" : server.host) + ":" + server.port;
}

std::string RequestText(const ApiServerOptions& server, const ApiCall& call,
                        const std::string& token) {
  std::string text = absl::StrFormat(
      "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: podgpu/%s (linux)\r\nAccept: %s\r\n"
      "Authorization: Bearer %s\r\n",
      call.method, call.target, AddressOf(server), kVersion, call.accept, token);
  if (!call.body.empty()) {
    absl::StrAppendFormat(&text, "Content-Type: %s\r\nContent-Length: %d\r\n", call.content_type,
                          call.body.size());
  }
  return text + "\r\n" + call.body;
}

// Describes a failure to read the token or the authority's certificate; Kubernetes mounts both
// together.
Status NoServiceAccount(const Status& failure) {
  return {
      failure.code(),
      absl::StrFormat("no service account is mounted: %s. Set automountServiceAccountToken: true "
                      "in the pod's template",
                      failure.message())};
}

// Returns the bytes of the token without the newline that some editors add.
StatusOr<std::string> ReadToken(const Files& files, const std::string& path) {
  StatusOr<std::string> token = files.Read(path);
  if (!token.ok()) {
    return NoServiceAccount(token.status());
  }
  std::string trimmed(Trim(*token));
  if (trimmed.empty() || trimmed.find_first_of("\r\n") != std::string::npos) {
    return absl::FailedPreconditionError(absl::StrFormat("%s contains no token", path));
  }
  return trimmed;
}

}  // namespace

class ApiConnection::Wire {
 public:
  Wire(const ApiServerOptions& server, const Files& files, std::stop_token stop)
      : server_(server),
        files_(files),
        stop_(std::move(stop)),
        context_(asio::ssl::context::tls_client),
        stream_(io_, context_),
        on_stop_(stop_, Cancel{*this}) {}

  Status Open() {
    PODGPU_RETURN_IF_ERROR(Trust());
    Tcp::resolver::results_type endpoints;
    PODGPU_RETURN_IF_ERROR(Resolve(endpoints));
    const std::chrono::milliseconds patience = std::min(kConnectPatience, server_.request_patience);
    PODGPU_RETURN_IF_ERROR(Await(patience, "connecting", [&](Done done) {
      asio::async_connect(Socket(), endpoints, done);
    }));
    return Await(patience, "TLS",
                 [&](Done done) { stream_.async_handshake(asio::ssl::stream_base::client, done); });
  }

  StatusOr<ApiHead> Send(const ApiCall& call) {
    PODGPU_ASSIGN_OR_RETURN(const std::string token, ReadToken(files_, server_.token_path));
    const std::chrono::milliseconds patience = server_.request_patience;
    const std::string request = RequestText(server_, call, token);
    PODGPU_RETURN_IF_ERROR(Await(patience, "asking", [&](Done done) {
      asio::async_write(stream_, asio::buffer(request), done);
    }));
    parser_.emplace();
    parser_->header_limit(kMaxHeadBytes);
    parser_->body_limit(boost::none);
    PODGPU_RETURN_IF_ERROR(ParseNext(patience));
    ApiHead head;
    head.status = static_cast<int>(parser_->get().result_int());
    const auto retry = parser_->get()[beast::http::field::retry_after];
    if (const std::optional<uint64_t> seconds = ParseDecimal({retry.data(), retry.size()})) {
      constexpr uint64_t kLongestWait = 3'600;
      head.retry_after = std::chrono::seconds(std::min(*seconds, kLongestWait));
    }
    return head;
  }

  StatusOr<std::string_view> Read(std::chrono::milliseconds patience) {
    PODGPU_CHECK(parser_.has_value());
    while (!parser_->is_done()) {
      auto& body = parser_->get().body();
      body.data = chunk_.data();
      body.size = chunk_.size();
      body.more = true;
      PODGPU_RETURN_IF_ERROR(ParseNext(patience));
      if (const size_t count = chunk_.size() - body.size; count > 0) {
        return std::string_view(chunk_.data(), count);
      }
    }
    return std::string_view();
  }

 private:
  struct Cancel {
    Wire& wire;
    void operator()() const {
      asio::post(wire.io_, [&wire = wire] { wire.Close(); });
    }
  };

  // The handler of every operation.
  struct Done {
    Wire& wire;
    void operator()(error_code error, size_t count = 0) const {
      wire.outcome_ = error;
      wire.count_ = count;
    }
    void operator()(error_code error, const Tcp::endpoint& /*connected*/) const { (*this)(error); }
  };

  TcpSocket& Socket() { return stream_.next_layer(); }

  // Ends the running operation, if any, and all later ones.
  void Close() {
    error_code ignored;
    Socket().close(ignored);
  }

  // Trusts only the cluster's authority, and only for this host, unless verification is off.
  Status Trust() {
    if (!server_.verifies) {
      stream_.set_verify_mode(asio::ssl::verify_none);
      return absl::OkStatus();
    }
    const StatusOr<std::string> certificate = files_.Read(server_.certificate_path);
    if (!certificate.ok()) {
      return NoServiceAccount(certificate.status());
    }
    error_code error;
    context_.add_certificate_authority(asio::buffer(*certificate), error);
    if (error) {
      return absl::FailedPreconditionError(
          absl::StrFormat("%s contains no certificate", server_.certificate_path));
    }
    stream_.set_verify_mode(asio::ssl::verify_peer);
    stream_.set_verify_callback(asio::ssl::host_name_verification(server_.host));
    asio::ip::make_address(server_.host, error);
    if (error) {  // A name, not an address.
      SSL_ctrl(stream_.native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
               const_cast<char*>(server_.host.c_str()));
    }
    return absl::OkStatus();
  }

  // In a cluster the host is usually an address; then no name server is asked.
  Status Resolve(Tcp::resolver::results_type& endpoints) {
    error_code error;
    asio::ip::make_address(server_.host, error);
    const auto flags =
        error ? asio::ip::resolver_base::flags() : asio::ip::resolver_base::numeric_host;
    asio::io_context own;  // A context of its own, because Asio's thread for names ends with it.
    endpoints = Tcp::resolver(own).resolve(server_.host, server_.port, flags, error);
    return Described(error, "the name");
  }

  // Parses the head of the answer, or the next piece of its body or framing.
  Status ParseNext(std::chrono::milliseconds patience) {
    PODGPU_RETURN_IF_ERROR(BeginStep(patience));
    error_code error = received_.Parse(*parser_, {}, 0);
    while (error == beast::http::error::need_more) {
      const error_code outcome =
          Run([this](Done done) { stream_.async_read_some(received_.Room(), done); });
      error = received_.Parse(*parser_, outcome, count_);
    }
    return Described(error == beast::http::error::need_buffer ? error_code() : error, "the answer");
  }

  // A step of one operation.
  template <typename Begin>
  Status Await(std::chrono::milliseconds patience, std::string_view what, Begin begin) {
    PODGPU_RETURN_IF_ERROR(BeginStep(patience));
    return Described(Run(begin), what);
  }

  // Sets the deadline of the operations that follow. kCancelled: stop was requested.
  Status BeginStep(std::chrono::milliseconds patience) {
    if (stop_.stop_requested()) {
      return absl::CancelledError("stopping");
    }
    deadline_ = SystemClock().Now() + patience;
    return absl::OkStatus();
  }

  // Starts an operation and runs until it has ended; closes the connection at the deadline.
  template <typename Begin>
  error_code Run(Begin begin) {
    outcome_.reset();
    begin(Done{*this});
    io_.restart();
    while (!outcome_ && io_.run_one_until(deadline_) > 0) {
    }
    if (outcome_) {
      return *outcome_;
    }
    Close();
    io_.run();
    return beast::error::timeout;
  }

  Status Described(error_code error, std::string_view what) const {
    if (!error) {
      return absl::OkStatus();
    }
    if (stop_.stop_requested()) {
      return absl::CancelledError("stopping");
    }
    const std::string sentence = absl::StrFormat("%s at %s: %s: %s", server_.called,
                                                 AddressOf(server_), what, error.message());
    if (error == beast::error::timeout) {
      return absl::DeadlineExceededError(sentence);
    }
    if (error.category() == asio::error::get_ssl_category()) {
      return absl::UnauthenticatedError(sentence);
    }
    return absl::UnavailableError(sentence);
  }

  const ApiServerOptions& server_;
  const Files& files_;
  const std::stop_token stop_;
  asio::io_context io_{1};
  asio::ssl::context context_;
  asio::ssl::stream<TcpSocket> stream_;
  Instant deadline_{};
  std::optional<error_code> outcome_;  // Outcome of the last operation; absent while it runs.
  size_t count_ = 0;                   // Bytes that it has received or sent.
  AnswerBytes received_{size_t{2} * kMaxHeadBytes};
  std::optional<beast::http::response_parser<beast::http::buffer_body>> parser_;
  std::array<char, kMaxHeadBytes> chunk_{};
  std::stop_callback<Cancel> on_stop_;  // Last member: it ends before the members that it uses.
};

ApiConnection::ApiConnection(std::unique_ptr<Wire> wire) : wire_(std::move(wire)) {}

ApiConnection::~ApiConnection() = default;

StatusOr<std::unique_ptr<ApiConnection>> ApiConnection::Open(const ApiServerOptions& server,
                                                             const Files& files,
                                                             const std::stop_token& stop) {
  auto wire = std::make_unique<Wire>(server, files, stop);
  PODGPU_RETURN_IF_ERROR(wire->Open());
  // Private constructor: make_unique cannot reach it.
  return std::unique_ptr<ApiConnection>(
      new ApiConnection(std::move(wire)));  // NOLINT(cppcoreguidelines-owning-memory)
}

StatusOr<ApiHead> ApiConnection::Get(const std::string& target, std::string_view accept) {
  return wire_->Send({.target = target, .accept = accept});
}

StatusOr<ApiHead> ApiConnection::Send(const ApiCall& call) { return wire_->Send(call); }

StatusOr<std::string_view> ApiConnection::Read(std::chrono::milliseconds patience) {
  return wire_->Read(patience);
}

StatusOr<std::string> ApiConnection::ReadAll(size_t max_bytes, std::chrono::milliseconds patience) {
  std::string body;
  while (true) {
    PODGPU_ASSIGN_OR_RETURN(const std::string_view bytes, Read(patience));
    if (bytes.empty()) {
      return body;
    }
    if (body.size() + bytes.size() > max_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrFormat("an answer of the API server is larger than %d bytes", max_bytes));
    }
    body += bytes;
  }
}

}  // namespace podgpu
