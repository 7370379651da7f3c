// Callers that reach podgpu without the aggregator: which are refused, and which names the others get.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const servingPath = "/apis/external.metrics.k8s.io/v1beta1/namespaces/serving/avg_gpu_utilization"
const researchPath = "/apis/external.metrics.k8s.io/v1beta1/namespaces/research/avg_gpu_utilization"

// Headers with which a caller claims to be the most powerful user.
var forged = map[string]string{"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}

// refusal is a request and its expected status; 0 means that there is no answer at all.
type refusal struct {
	what, certificate, token string
	headers                  map[string]string
	path                     string
	status                   int
}

func (r refusal) ask(ctx context.Context, folder, address string, bundle []byte) (int, string, error) {
	to, err := transportTo(folder, address, bundle, r.certificate)
	if err != nil {
		return 0, "", err
	}
	defer to.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+serviceHost+r.path, nil)
	if err != nil {
		return 0, "", err
	}
	for name, value := range r.headers {
		request.Header.Set(name, value)
	}
	if r.token != "" {
		request.Header.Set("Authorization", "Bearer "+r.token)
	}
	response, err := (&http.Client{Transport: to}).Do(request)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer response.Body.Close()
	var status metav1.Status
	if response.StatusCode != 200 {
		if err := json.NewDecoder(response.Body).Decode(&status); err != nil || int(status.Code) != response.StatusCode {
			return response.StatusCode, "", fmt.Errorf("status %d without a Status object: %v %+v", response.StatusCode, err, status)
		}
	}
	return response.StatusCode, status.Message, nil
}

// checkReplicas waits until all replicas give the same answer to a question about the same window.
func checkReplicas(ctx context.Context, folder string, addresses []string, bundle []byte) error {
	return await(ctx, func() error {
		var values []float64
		for _, address := range addresses {
			one, err := startAggregator(folder, address, bundle)
			if err != nil {
				return err
			}
			defer one.Close()
			client, err := externalClient(one, autoscalerToken)
			if err != nil {
				return err
			}
			value, err := oneValue(client.NamespacedMetrics("serving").List("gpu_power_watts", selector("")))
			if err != nil {
				return err
			}
			values = append(values, value)
		}
		for _, value := range values {
			if value != values[0] {
				return fmt.Errorf("the replicas answer %v", values)
			}
		}
		return nil
	})
}

func checkRefusals(ctx context.Context, folder, address string, bundle []byte) error {
	rows := []refusal{
		{"the front proxy passes a user on", "front-proxy", "", forged, researchPath, 200},
		{"no credentials", "", "", nil, servingPath, 401},
		{"headers without a certificate", "", "", forged, servingPath, 401},
		{"a certificate of another name", "wrong-name", "", forged, servingPath, 401},
		{"an expired certificate", "expired", "", forged, servingPath, 401},
		{"a certificate of an unknown authority", "foreign", "", forged, servingPath, 401},
		{"a client's certificate with the name of the front proxy", "of-client-ca", "", forged, servingPath, 403},
		{"a client's certificate", "alice", "", nil, servingPath, 200},
		{"a client's certificate elsewhere", "alice", "", nil, researchPath, 403},
		{"a client's certificate with headers", "alice", "", forged, researchPath, 403},
		{"a token", "", aliceToken, nil, servingPath, 200},
		{"a token elsewhere", "", aliceToken, nil, researchPath, 403},
		{"a token with headers", "", aliceToken, forged, researchPath, 403},
		{"a token without rights", "", bobToken, nil, servingPath, 403},
		{"an unknown token", "", "stolen", nil, servingPath, 401},
	}
	for _, row := range rows {
		status, message, err := row.ask(ctx, folder, address, bundle)
		if err != nil {
			return fmt.Errorf("%s: %w", row.what, err)
		}
		if status != row.status {
			return fmt.Errorf("%s: status %d, expected %d: %s", row.what, status, row.status, message)
		}
		fmt.Printf("%s: %d %s\n", row.what, status, message)
	}
	return nil
}
