// A certificate for Secrets that exist only in the user's cluster.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"sync"
	"time"
)

// sampleSecret has the keys of a Secret of the type kubernetes.io/tls, with a certificate that signs itself.
var sampleSecret = sync.OnceValue(func() map[string][]byte {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "podgpu"},
		DNSNames: []string{"podgpu"}, NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true}
	certificate, err := x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private)
	if err != nil {
		panic(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		panic(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	return map[string][]byte{"tls.crt": public, "ca.crt": public,
		"tls.key": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})}
})
