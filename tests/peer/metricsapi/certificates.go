// The certificates of the simulated cluster: the authority of the front proxy, that of clients, and a certificate for each kind
// of caller.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

const frontProxyName = "front-proxy-client"

type pair struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// write puts the certificate into NAME.crt and its key into NAME.key.
func (p pair) write(folder, name string) error {
	encoded, err := x509.MarshalECPrivateKey(p.key)
	if err != nil {
		return err
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.certificate.Raw})
	private := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
	if err := os.WriteFile(filepath.Join(folder, name+".crt"), public, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name+".key"), private, 0o600)
}

// makePair signs a certificate with `by`, or with its own key. Times are relative to now.
func makePair(subject pkix.Name, by *pair, from, until time.Duration) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return pair{}, err
	}
	template := &x509.Certificate{SerialNumber: serial, Subject: subject, NotBefore: time.Now().Add(from), NotAfter: time.Now().Add(until),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, BasicConstraintsValid: true}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.certificate, by.key
	} else {
		template.IsCA, template.KeyUsage, template.ExtKeyUsage = true, x509.KeyUsageCertSign, nil
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return pair{}, err
	}
	certificate, err := x509.ParseCertificate(raw)
	return pair{certificate, key}, err
}

func writeCertificates(folder string) error {
	made := map[string]*pair{}
	proxy := pkix.Name{CommonName: frontProxyName}
	for _, row := range []struct {
		name, by    string
		subject     pkix.Name
		from, until time.Duration
	}{
		{"front-proxy-ca", "", pkix.Name{CommonName: "front-proxy-ca"}, -48 * time.Hour, 24 * time.Hour},
		{"client-ca", "", pkix.Name{CommonName: "client-ca"}, -48 * time.Hour, 24 * time.Hour},
		{"foreign-ca", "", pkix.Name{CommonName: "front-proxy-ca"}, -48 * time.Hour, 24 * time.Hour},
		{"front-proxy", "front-proxy-ca", proxy, -time.Hour, 24 * time.Hour},
		{"wrong-name", "front-proxy-ca", pkix.Name{CommonName: "another-client"}, -time.Hour, 24 * time.Hour},
		{"expired", "front-proxy-ca", proxy, -24 * time.Hour, -time.Hour},
		{"foreign", "foreign-ca", proxy, -time.Hour, 24 * time.Hour},
		{"of-client-ca", "client-ca", proxy, -time.Hour, 24 * time.Hour},
		{"alice", "client-ca", pkix.Name{CommonName: "alice", Organization: []string{"serving-team"}}, -time.Hour, 24 * time.Hour},
	} {
		p, err := makePair(row.subject, made[row.by], row.from, row.until)
		if err == nil {
			err = p.write(folder, row.name)
		}
		if err != nil {
			return err
		}
		made[row.name] = &p
	}
	return nil
}
