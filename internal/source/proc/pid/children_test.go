package pid

import (
	"testing"

	"iocause/internal/host"
	"iocause/internal/source/proc/proctest"
)

func TestChildrenThatEnd(t *testing.T) { proctest.ChildrenThatEnd(t, Open, host.Live()) }
