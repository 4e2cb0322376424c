// Package azidentity stands in for identities in Microsoft's cloud: see ../README.md.
package azidentity

import (
	"crypto"
	"crypto/x509"
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

var errAbsent = errors.New("identities of Microsoft's cloud are not built in")

// ClientID is the number of an application.
type ClientID string

// The options of the constructors below, which all refuse.
type (
	ManagedIdentityCredentialOptions struct {
		azcore.ClientOptions
		ID ClientID
	}
	WorkloadIdentityCredentialOptions struct {
		azcore.ClientOptions
		ClientID, TenantID, TokenFilePath string
	}
	ClientSecretCredentialOptions struct{ azcore.ClientOptions }
	DefaultAzureCredentialOptions struct {
		azcore.ClientOptions
		TenantID string
	}
	ClientCertificateCredentialOptions struct {
		azcore.ClientOptions
		SendCertificateChain bool
	}
)

// NewManagedIdentityCredential refuses.
func NewManagedIdentityCredential(*ManagedIdentityCredentialOptions) (azcore.TokenCredential, error) {
	return nil, errAbsent
}

// NewWorkloadIdentityCredential refuses.
func NewWorkloadIdentityCredential(*WorkloadIdentityCredentialOptions) (azcore.TokenCredential, error) {
	return nil, errAbsent
}

// NewClientSecretCredential refuses.
func NewClientSecretCredential(_, _, _ string, _ *ClientSecretCredentialOptions) (azcore.TokenCredential, error) {
	return nil, errAbsent
}

// NewDefaultAzureCredential refuses.
func NewDefaultAzureCredential(*DefaultAzureCredentialOptions) (azcore.TokenCredential, error) {
	return nil, errAbsent
}

// ParseCertificates refuses.
func ParseCertificates(_, _ []byte) ([]*x509.Certificate, crypto.PrivateKey, error) {
	return nil, nil, errAbsent
}

// NewClientCertificateCredential refuses.
func NewClientCertificateCredential(_, _ string, _ []*x509.Certificate, _ crypto.PrivateKey, _ *ClientCertificateCredentialOptions) (azcore.TokenCredential, error) {
	return nil, errAbsent
}
