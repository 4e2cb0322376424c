// Command collector is the OTLP receiver of the OpenTelemetry Collector with
// nothing behind it but a line for each metric and log record that it has taken:
// what the agent sends is held against the real one. It is a module of its own,
// for it is large and no part of iocause.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: collector ADDRESS")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "collector:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address string) error {
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	set := confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{"http": map[string]any{"endpoint": address}}})
	if err := set.Unmarshal(config); err != nil {
		return fmt.Errorf("configuring the receiver: %w", err)
	}
	var lock sync.Mutex
	say := func(format string, args ...any) {
		lock.Lock()
		defer lock.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	metrics, err := consumer.NewMetrics(func(_ context.Context, m pmetric.Metrics) error {
		for _, r := range m.ResourceMetrics().All() {
			host, _ := r.Resource().Attributes().Get("host.name")
			for _, s := range r.ScopeMetrics().All() {
				for _, x := range s.Metrics().All() {
					points := pmetric.NewNumberDataPointSlice()
					switch x.Type() {
					case pmetric.MetricTypeSum:
						points = x.Sum().DataPoints()
					case pmetric.MetricTypeGauge:
						points = x.Gauge().DataPoints()
					}
					for _, p := range points.All() {
						say("%s %s %s %v %d %g", host.Str(), x.Name(), x.Unit(), p.Attributes().AsRaw(), p.Timestamp(), p.DoubleValue())
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	logs, err := consumer.NewLogs(func(_ context.Context, l plog.Logs) error {
		for _, r := range l.ResourceLogs().All() {
			for _, s := range r.ScopeLogs().All() {
				for _, x := range s.LogRecords().All() {
					say("log %s %q %v", x.EventName(), x.Body().AsString(), x.Attributes().AsRaw())
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	settings := receivertest.NewNopSettings(factory.Type())
	one, err := factory.CreateMetrics(ctx, settings, config, metrics)
	if err != nil {
		return err
	}
	two, err := factory.CreateLogs(ctx, settings, config, logs)
	if err != nil {
		return err
	}
	host := componenttest.NewNopHost()
	for _, c := range []component.Component{one, two} {
		if err := c.Start(ctx, host); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return one.Shutdown(context.Background())
}
