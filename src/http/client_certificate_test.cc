// What a handler learns about its caller: all headers, and the certificates of the handshake.
#include <gtest/gtest.h>

#include "http/testing/authority.h"
#include "http/testing/loopback_client.h"
#include "http/testing/test_server.h"
#include "http/testing/tls_client.h"
#include "http/tls_context.h"

namespace podgpu {
namespace {

// Answers with the number of certificates and the value of X-Remote-User.
HttpResponse Describe(const HttpRequest& request) {
  std::string user = "none";
  for (const auto& [name, value] : request.headers) {
    user = name == "X-Remote-User" ? std::string(value) : user;
  }
  return TextResponse(200, std::to_string(request.certificates.size()) + " " + user);
}

class ClientCertificateTest : public testing::Test {
 protected:
  ClientCertificateTest() {
    const MadeCertificate own = authority_.Issue("server", "DNS:localhost");
    TlsSettings settings;
    settings.certificate.text = own.certificate;
    settings.key.text = own.key;
    settings.client_auth = ClientAuth::kRequest;
    HttpServerOptions options = LoopbackOptions();
    options.tls = [context = *TlsContext::Make(settings, "test", SystemFiles())] {
      return context;
    };
    options.passes_headers = true;
    server_ = StartServer(options, Describe);
  }
  std::string Ask(const MadeCertificate* identity) {
    TlsClient client(server_->port(), 0, identity);
    client.Send("GET / HTTP/1.1\r\nHost: test\r\nX-Remote-User: a\r\n\r\n");
    const std::string answer = client.Read();
    return answer.substr(answer.rfind("\r\n") + 2);
  }

  const Authority authority_{"ca"};
  std::unique_ptr<HttpServer> server_;
};

TEST_F(ClientCertificateTest, IsPassedToTheHandlerUnverifiedWithAllHeaders) {
  const MadeCertificate any = Authority("unknown").Issue("caller", "", -1);
  EXPECT_EQ(Ask(&any), "1 a");
  EXPECT_EQ(Ask(nullptr), "0 a");
}

TEST_F(ClientCertificateTest, PlainHttpIsRefused) {
  LoopbackClient client(server_->port());
  EXPECT_EQ(client.Fetch("/").status, 400);
}

TEST(RequestHeaders, AreNotCopiedUnlessTheServerIsAskedTo) {
  const auto server = StartServer(LoopbackOptions(), Describe);
  LoopbackClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHost: test\r\nX-Remote-User: a\r\n\r\n");
  EXPECT_EQ(client.Read().body, "0 none");
}

}  // namespace
}  // namespace podgpu
