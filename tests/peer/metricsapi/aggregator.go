// The aggregator of the API server: it finds out who calls, and passes the request on to the Service of an APIService with its
// own certificate and the caller in headers.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	apiregistration "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
)

const (
	externalService = "v1beta1.external.metrics.k8s.io"
	customService   = "v1beta2.custom.metrics.k8s.io"
	// The Service of the APIServices; its name is in podgpu's certificate.
	serviceHost = "podgpu-cluster.gpu.svc"
)

// A caller as the aggregator knows it from its token.
type caller struct {
	name   string
	groups []string
}

const autoscalerToken, kubeAggregatorToken, aliceToken, bobToken = "autoscaler", "aggregator", "alice", "bob"

// The users of the cluster by their tokens; the test gives the simulated API server the same.
var callers = map[string]caller{
	autoscalerToken: {"system:serviceaccount:kube-system:horizontal-pod-autoscaler",
		[]string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"}},
	kubeAggregatorToken: {"system:kube-aggregator", []string{"system:masters"}},
	aliceToken:          {"alice", []string{"serving-team", "system:authenticated"}},
	bobToken:            {"bob", []string{"system:authenticated"}},
}

// authorityFor waits until the APIServices have the authority of each replica, and returns all of them.
func authorityFor(ctx context.Context, folder string, addresses []string) ([]byte, error) {
	account := os.Getenv("PODGPU_SERVICE_ACCOUNT_DIR")
	client, err := apiregistration.NewForConfig(&rest.Config{
		Host:            "https://" + os.Getenv("KUBERNETES_SERVICE_HOST") + ":" + os.Getenv("KUBERNETES_SERVICE_PORT"),
		BearerTokenFile: account + "/token",
		TLSClientConfig: rest.TLSClientConfig{CAFile: account + "/ca.crt"},
	})
	if err != nil {
		return nil, err
	}
	var bundle []byte
	err = await(ctx, func() error {
		for _, name := range []string{externalService, customService} {
			api, err := client.APIServices().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			bundle = api.Spec.CABundle
			for _, address := range addresses {
				request := refusal{path: "/healthz", status: 200}
				status, message, err := request.ask(ctx, folder, address, bundle)
				if err == nil && status != 200 {
					err = fmt.Errorf("status %d: %s", status, message)
				}
				if err != nil {
					return fmt.Errorf("%s, by the authority in %s: %w", address, name, err)
				}
			}
		}
		return nil
	})
	return bundle, err
}

// transportTo connects to podgpu, verifies its certificate by the bundle, and shows the certificate of this name, if any.
func transportTo(folder, address string, bundle []byte, name string) (*http.Transport, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("the caBundle has no certificate")
	}
	config := &tls.Config{RootCAs: roots, ServerName: serviceHost}
	if name != "" {
		own, err := tls.LoadX509KeyPair(filepath.Join(folder, name+".crt"), filepath.Join(folder, name+".key"))
		if err != nil {
			return nil, err
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own, nil }
	}
	return &http.Transport{TLSClientConfig: config, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}, nil
}

type aggregator struct {
	*httptest.Server
}

// startAggregator serves HTTPS on a port of its own.
func startAggregator(folder, address string, bundle []byte) (*aggregator, error) {
	to, err := transportTo(folder, address, bundle, "front-proxy")
	if err != nil {
		return nil, err
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		from, known := callers[token]
		if !known {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		proxy := httputil.ReverseProxy{
			Rewrite: func(p *httputil.ProxyRequest) {
				p.SetURL(&url.URL{Scheme: "https", Host: serviceHost})
				p.Out.Header.Del("Authorization")
			},
			Transport: transport.NewAuthProxyRoundTripper(from.name, "", from.groups, map[string][]string{"scopes": {"all"}}, to),
		}
		proxy.ServeHTTP(w, r)
	}))
	return &aggregator{server}, nil
}

// config is that of a client of the cluster with this token.
func (a *aggregator) config(token string) *rest.Config {
	certificate := a.Certificate()
	return &rest.Config{Host: a.URL, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: pemOf(certificate.Raw)}}
}
