// Package azcore stands in for access to Microsoft's cloud: see ../README.md.
package azcore

import (
	"context"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// ClientOptions say which cloud.
type ClientOptions struct{ Cloud cloud.Configuration }

// AccessToken is what nobody gets.
type AccessToken struct {
	Token     string
	ExpiresOn time.Time
}

// TokenCredential has no implementation here.
type TokenCredential interface {
	GetToken(context.Context, policy.TokenRequestOptions) (AccessToken, error)
}
