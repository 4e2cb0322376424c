package page

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"iocause/internal/store/whole"
)

// KeyFile is the file of the page's password, in the agent's directory: who may read
// what the agent keeps may see the page, and nobody else.
const KeyFile = "page.key"

// key is the password. It is made once, and kept.
type key struct {
	path string

	mu   sync.Mutex
	text string
}

// get reads the key, or makes it where there is none.
func (k *key) get() (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.text != "" {
		return k.text, nil
	}
	b, err := os.ReadFile(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		b = []byte(strings.ToLower(rand.Text()) + "\n")
		if err = os.MkdirAll(filepath.Dir(k.path), 0o700); err == nil {
			err = whole.Write(k.path, 0o600, whole.Bytes(b))
		}
	}
	if err != nil {
		return "", fmt.Errorf("the page needs a password, and it cannot be saved: %w", err)
	}
	text := strings.TrimSpace(string(b))
	if text == "" {
		return "", fmt.Errorf("the page needs a password, and %s is empty: remove that file", k.path)
	}
	k.text = text
	return text, nil
}

// is tells whether that is the key, in a time that says nothing of it.
func (k *key) is(given string) (bool, error) {
	text, err := k.get()
	return err == nil && subtle.ConstantTimeCompare([]byte(text), []byte(given)) == 1, err
}
