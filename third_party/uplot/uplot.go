// Package uplot has the charts library uPlot 1.6.32 as its authors published it
// (npm, dist/), to be put into pages: docs/dependencies.md says why, and README.md
// beside this file how it is updated.
package uplot

import _ "embed"

// Script is uPlot.iife.min.js.
//
//go:embed uPlot.iife.min.js
var Script string

// Style is uPlot.min.css.
//
//go:embed uPlot.min.css
var Style string

// Licence must go wherever the two go.
//
//go:embed LICENSE
var Licence string
