#include "metrics_api/testing/fake_control_plane.h"

#include <algorithm>
#include <arpa/inet.h>
#include <fstream>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_format.h"
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/json.hpp>

#include "base/text.h"

namespace podgpu {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

std::string TextAt(const boost::json::value& root, const char* pointer) {
  boost::system::error_code error;
  const boost::json::value* const found = root.find_pointer(pointer, error);
  return found != nullptr && found->is_string()
             ? std::string(found->get_string().data(), found->get_string().size())
             : std::string();
}

std::string FailureJson(int code, const std::string& reason, const std::string& message) {
  return boost::json::serialize(boost::json::object{{"kind", "Status"},
                                                    {"apiVersion", "v1"},
                                                    {"status", "Failure"},
                                                    {"message", message},
                                                    {"reason", reason},
                                                    {"code", code}});
}

std::string ServiceJson(const std::string& name, const FakeApiService& object) {
  boost::json::object spec = {{"caBundle", object.ca_bundle}};
  if (!object.service.empty()) {
    spec["service"] = {{"name", object.service}, {"namespace", object.name_space}, {"port", 443}};
  }
  if (object.skips_verification) {
    spec["insecureSkipTLSVerify"] = true;
  }
  return boost::json::serialize(boost::json::object{
      {"kind", "APIService"},
      {"apiVersion", "apiregistration.k8s.io/v1"},
      {"metadata", {{"name", name}, {"resourceVersion", std::to_string(object.version)}}},
      {"spec", std::move(spec)}});
}

}  // namespace

FakeControlPlane::FakeControlPlane()
    : authority_("cluster"),
      own_(authority_.Issue("kube-apiserver", "IP:127.0.0.1")),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  PODGPU_CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  PODGPU_CHECK(::listen(listener_, 64) == 0);
  socklen_t size = sizeof address;
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::jthread([this] { Accept(); });
}

FakeControlPlane::~FakeControlPlane() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
    for (const int socket : sockets_) {
      ::shutdown(socket, SHUT_RDWR);
    }
    ::shutdown(listener_, SHUT_RDWR);
  }
  changed_.notify_all();
  acceptor_.join();
  threads_.clear();
  ::close(listener_);
}

ApiServerOptions FakeControlPlane::Options(const std::string& directory) const {
  std::ofstream(directory + "/token") << "own-token";
  std::ofstream(directory + "/ca.crt") << authority_.certificate();
  ApiServerOptions options;
  options.host = "127.0.0.1";
  options.port = std::to_string(port_);
  TakeCredentials(directory, options);
  return options;
}

void FakeControlPlane::SetConfigMap(const std::map<std::string, std::string>& data) {
  const std::scoped_lock lock(mutex_);
  config_map_ = data;
  ++config_version_;
  changed_.notify_all();
}

void FakeControlPlane::AcceptToken(const std::string& token, const std::string& identity) {
  const std::scoped_lock lock(mutex_);
  tokens_[token] = identity;
}

void FakeControlPlane::Allow(const std::string& user, const std::string& resource) {
  const std::scoped_lock lock(mutex_);
  allowed_.emplace(user, resource);
}

void FakeControlPlane::SetPods(const std::string& items_json) {
  const std::scoped_lock lock(mutex_);
  pods_ = items_json;
}

void FakeControlPlane::SetNodes(const std::string& items_json) {
  const std::scoped_lock lock(mutex_);
  nodes_ = items_json;
}

void FakeControlPlane::SetApiService(const std::string& name, FakeApiService object) {
  const std::scoped_lock lock(mutex_);
  services_[name] = std::move(object);
}

FakeApiService FakeControlPlane::ApiService(const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  const auto found = services_.find(name);
  return found == services_.end() ? FakeApiService() : found->second;
}

void FakeControlPlane::Conflict(int count) {
  const std::scoped_lock lock(mutex_);
  conflicts_ = count;
}

void FakeControlPlane::SetForbidden(bool is_forbidden) {
  const std::scoped_lock lock(mutex_);
  is_forbidden_ = is_forbidden;
}

void FakeControlPlane::SetDown(bool is_down) {
  const std::scoped_lock lock(mutex_);
  is_down_ = is_down;
  if (is_down) {
    for (const int socket : sockets_) {
      ::shutdown(socket, SHUT_RDWR);
    }
  }
  changed_.notify_all();
}

void FakeControlPlane::HoldReviews(bool holds) {
  const std::scoped_lock lock(mutex_);
  holds_reviews_ = holds;
  changed_.notify_all();
}

std::vector<std::string> FakeControlPlane::requests() const {
  const std::scoped_lock lock(mutex_);
  return requests_;
}

std::vector<std::string> FakeControlPlane::bodies() const {
  const std::scoped_lock lock(mutex_);
  return bodies_;
}

size_t FakeControlPlane::Count(const std::string& request) const {
  const std::scoped_lock lock(mutex_);
  return static_cast<size_t>(std::ranges::count(requests_, request));
}

void FakeControlPlane::Accept() {
  while (true) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::scoped_lock lock(mutex_);
    if (is_stopping_ || socket < 0) {
      if (socket >= 0) {
        ::close(socket);
      }
      return;
    }
    if (is_down_) {
      ::close(socket);
      continue;
    }
    sockets_.insert(socket);
    threads_.emplace_back([this, socket] { Serve(socket); });
  }
}

void FakeControlPlane::Serve(int socket) {
  asio::io_context io;
  asio::ssl::context context(asio::ssl::context::tls_server);
  context.use_certificate_chain(asio::buffer(own_.certificate));
  context.use_private_key(asio::buffer(own_.key), asio::ssl::context::pem);
  asio::ssl::stream<asio::ip::tcp::socket> stream(io, context);
  stream.next_layer().assign(asio::ip::tcp::v4(), socket);
  boost::system::error_code error;
  stream.handshake(asio::ssl::stream_base::server, error);
  boost::beast::flat_buffer buffer;
  while (!error) {
    http::request<http::string_body> request;
    http::read(stream, buffer, request, error);
    if (error) {
      break;
    }
    const std::string method(request.method_string().data(), request.method_string().size());
    const std::string target(request.target().data(), request.target().size());
    const Answer answer = AnswerTo(method, target, request.body());
    http::response<http::string_body> response(static_cast<http::status>(answer.status), 11);
    response.set(http::field::content_type, "application/json");
    response.body() = answer.body;
    response.prepare_payload();
    http::write(stream, response, error);
  }
  const std::scoped_lock lock(mutex_);
  sockets_.erase(socket);  // The stream closes it after that, under its own number.
}

FakeControlPlane::Answer FakeControlPlane::AnswerTo(const std::string& method,
                                                    const std::string& target,
                                                    const std::string& body) {
  constexpr std::string_view kServices = "/apis/apiregistration.k8s.io/v1/apiservices/";
  std::unique_lock lock(mutex_);
  requests_.push_back(method + " " + target);
  if (!body.empty()) {
    bodies_.push_back(body);
  }
  changed_.notify_all();
  if (is_forbidden_) {
    return {403, FailureJson(403, "Forbidden", "you may not")};
  }
  if (target.starts_with("/api/v1/namespaces/kube-system/configmaps")) {
    return ConfigMap(lock, target);
  }
  if (target.starts_with("/api/v1/pods") || target.starts_with("/api/v1/nodes")) {
    return Labelled(lock, target);
  }
  if (method == "POST") {
    changed_.wait(lock, [this] { return !holds_reviews_ || is_stopping_ || is_down_; });
    return Review(target, body);
  }
  if (target.starts_with(kServices)) {
    return Object(method, target.substr(kServices.size()), body);
  }
  return {404, FailureJson(404, "NotFound", "no such path")};
}

std::string FakeControlPlane::ConfigMapJson() const {
  boost::json::object data;
  for (const auto& [key, value] : config_map_) {
    data[key] = value;
  }
  return boost::json::serialize(
      boost::json::object{{"kind", "ConfigMap"},
                          {"apiVersion", "v1"},
                          {"metadata",
                           {{"name", "extension-apiserver-authentication"},
                            {"namespace", "kube-system"},
                            {"resourceVersion", std::to_string(config_version_)}}},
                          {"data", std::move(data)}});
}

// A watch answers with one event, when the object has changed.
FakeControlPlane::Answer FakeControlPlane::ConfigMap(std::unique_lock<std::mutex>& lock,
                                                     const std::string& target) {
  constexpr std::string_view kVersion = "resourceVersion=";
  const size_t at = target.find(kVersion);
  if (at == std::string::npos) {
    return {200, ConfigMapJson()};
  }
  const std::string_view rest = std::string_view(target).substr(at + kVersion.size());
  const uint64_t seen = ParseDecimal(rest.substr(0, rest.find('&'))).value_or(0);
  changed_.wait(lock, [&] { return config_version_ != seen || is_stopping_ || is_down_; });
  return {200, "{\"type\":\"MODIFIED\",\"object\":" + ConfigMapJson() + "}\n"};
}

FakeControlPlane::Answer FakeControlPlane::Labelled(std::unique_lock<std::mutex>& lock,
                                                    const std::string& target) {
  if (target.find("watch=1") == std::string::npos) {
    return {200, absl::StrFormat(R"({"kind":"PartialObjectMetadataList","metadata":)"
                                 R"({"resourceVersion":"7"},"items":[%s]})",
                                 target.starts_with("/api/v1/pods") ? pods_ : nodes_)};
  }
  changed_.wait(lock, [this] { return is_stopping_ || is_down_; });
  return {200, ""};
}

FakeControlPlane::Answer FakeControlPlane::Review(const std::string& target,
                                                  const std::string& body) const {
  const boost::json::value root = boost::json::parse(body);
  if (target.ends_with("/tokenreviews")) {
    const auto known = tokens_.find(TextAt(root, "/spec/token"));
    return {201, known == tokens_.end()
                     ? R"({"kind":"TokenReview","status":{"authenticated":false}})"
                     : R"({"kind":"TokenReview","status":{"authenticated":true,"user":)" +
                           known->second + "}}"};
  }
  std::string resource = TextAt(root, "/spec/resourceAttributes/resource");
  const std::string part = TextAt(root, "/spec/resourceAttributes/subresource");
  resource += part.empty() ? "" : "/" + part;
  resource += TextAt(root, "/spec/nonResourceAttributes/path");
  const bool is_allowed = allowed_.contains({TextAt(root, "/spec/user"), resource});
  return {201, absl::StrFormat(R"({"kind":"SubjectAccessReview","status":{"allowed":%s,)"
                               R"("reason":"by the test"}})",
                               is_allowed ? "true" : "false")};
}

FakeControlPlane::Answer FakeControlPlane::Object(const std::string& method,
                                                  const std::string& name,
                                                  const std::string& body) {
  const auto found = services_.find(name);
  if (found == services_.end()) {
    return {404, FailureJson(404, "NotFound", "no such APIService")};
  }
  FakeApiService& object = found->second;
  if (method == "PATCH") {
    if (conflicts_ > 0) {
      --conflicts_;
      ++object.version;
    }
    const boost::json::value patch = boost::json::parse(body);
    if (TextAt(patch, "/metadata/resourceVersion") != std::to_string(object.version)) {
      return {409, FailureJson(409, "Conflict", "the object has been modified")};
    }
    object.ca_bundle = TextAt(patch, "/spec/caBundle");
    ++object.version;
  }
  return {200, ServiceJson(name, object)};
}

}  // namespace podgpu
